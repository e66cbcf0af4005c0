#!/bin/sh
# The tests of make check under the address and undefined-behaviour sanitizers.
cd "$abs_top_builddir" && make -j"$(getconf _NPROCESSORS_ONLN)" check-asan
