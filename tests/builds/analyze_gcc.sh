#!/bin/sh
# gcc's analyser finds nothing in the sources but what tests/builds/analyze.known has.
command -v gcc >/dev/null || { echo 'skipped: no gcc'; exit 77; }
cd "$abs_top_builddir" && make -s analyze ANALYZERS=gcc
