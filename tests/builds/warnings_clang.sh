#!/bin/sh
set -- clang
. "$abs_top_srcdir/tests/builds/warnings.sh"
