#!/bin/sh
# What runs the scripts of make check: patience.sh SCRIPT. One that is not done after SCRIPT_TIMEOUT seconds, 900 unless
# set, hangs: it is ended, if not what it has begun, and fails. Where timeout has no --foreground (busybox), behind
# which Ctrl-C would not reach the script, nothing ends it.
seconds=${SCRIPT_TIMEOUT:-900}
timeout --foreground 9 true 2>/dev/null || exec sh "$1"
timeout --foreground -k 10 "$seconds" sh "$1"
status=$?
case $status in 124 | 137) echo "$1: not done after $seconds s" ;; esac
exit $status
