#!/bin/sh
set -- gcc
. "$abs_top_srcdir/tests/builds/warnings.sh"
