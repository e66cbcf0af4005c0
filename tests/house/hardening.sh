#!/bin/sh
# Looks at the built program for what configure says that it was hardened with.
set -u
: "${ASCGRAD:=$PWD/ascgrad}" "${HARDENED=}"
command -v readelf >/dev/null || { echo 'skipped: needs readelf'; exit 77; }
case $HARDENED in *[!\ ]*) ;; *) echo 'skipped: configured without hardening'; exit 77 ;; esac
failed=0

# expect FLAG WHAT PATTERN: where the flag was taken, a line of what readelf says matches.
expect() {
    case " $HARDENED " in
    *" $1 "*) readelf -W -h -l -d -s "$ASCGRAD" | grep -q -e "$3" || { echo "no $2, though $1 was taken"; failed=1; } ;;
    esac
}
expect -pie 'position-independent executable' 'Type: *DYN'
expect -Wl,-z,relro 'read-only relocations' GNU_RELRO
expect -Wl,-z,now 'binding at start' 'NOW'
expect -fstack-protector-strong 'stack protection' __stack_chk_fail
expect -D_FORTIFY_SOURCE=2 'fortified functions' '__v\{0,1\}snprintf_chk'
exit "$failed"
