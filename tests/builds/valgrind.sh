#!/bin/sh
# The suites in C under valgrind.
command -v valgrind >/dev/null || { echo 'skipped: no valgrind'; exit 77; }
cd "$abs_top_builddir" && make -j"$(getconf _NPROCESSORS_ONLN)" check-valgrind
