#!/bin/sh
# The scripts that a user runs, and those that watch the tree, under shellcheck.
command -v shellcheck >/dev/null || { echo 'skipped: no shellcheck'; exit 77; }
cd "$abs_top_srcdir" || exit 99
[ ! -f .ci/run ] || set -- .ci/run # not in a distribution
# SC2154: the harness sets abs_top_srcdir and its like. SC2016: backquotes in a pattern.
shellcheck -x -e SC2154,SC2016 quickstart autogen.sh "$@" tests/house/*.sh tests/builds/*.sh
