#!/bin/sh
# The shared library's symbols: it exports what its headers declare and its export list names, all asc_…;
# and it calls nothing that prints or ends the process.
set -u
: "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}" "${abs_top_builddir:=$PWD}"
LC_ALL=C
export LC_ALL
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
failed=0

same() { # FILE FILE WHAT
    diff "$scratch/$1" "$scratch/$2" >"$scratch/diff" && return
    echo "$3 (< only in $1, > only in $2):"
    cat "$scratch/diff"
    failed=1
}

sh "$abs_top_srcdir/tests/house/list_api.sh" "$abs_top_srcdir/include/ascgrad" >"$scratch/headers"
cp "$abs_top_srcdir/libascgrad.sym" "$scratch/list"
same headers list 'libascgrad.sym is not what the headers declare: make update-symbols'
library=$abs_top_builddir/.libs/libascgrad.so
if [ ! -f "$library" ] || ! command -v nm >/dev/null; then
    [ $failed = 0 ] || exit 1
    echo 'skipped in part: needs the shared library, and nm'
    exit 77
fi
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $NF); print $NF }' | sort -u >"$scratch/library"
same list library 'the library does not export what libascgrad.sym names'
if grep -v '^asc_[a-z0-9_]*$' "$scratch/library"; then
    echo 'exported, but not named asc_…'
    failed=1
fi

# A name may come with a version (@GLIBC_2.2.5), or as glibc's checked variant (__printf_chk).
nm -D --undefined-only "$library" | awk '{print $NF}' |
    sed -e 's/@.*//' -e 's/^__\(.*\)_chk$/\1/' -e 's/^__isoc[0-9]*_//' -e 's/^_IO_//' | sort -u >"$scratch/undefined"
cat >"$scratch/forbidden" <<'END'
_Exit
__assert_fail
__assert_perror_fail
_exit
abort
dprintf
err
errx
execv
execve
exit
exit_group
fork
fprintf
kill
perror
printf
psignal
putc
putchar
putc_unlocked
putchar_unlocked
puts
quick_exit
raise
signal
sigaction
stderr
stdout
syslog
system
vdprintf
verr
verrx
vfprintf
vprintf
vwarn
vwarnx
warn
warnx
END
if grep -Fx -f "$scratch/forbidden" "$scratch/undefined"; then
    echo 'the library must not print, end the process, or touch its signals'
    failed=1
fi
exit $failed
