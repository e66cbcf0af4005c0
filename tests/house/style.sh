#!/bin/sh
# Reads the sources: no function is longer than 80 lines, no line of code or script wider than 120 columns.
set -u
cd "${abs_top_srcdir:-$(dirname "$0")/../..}" || exit 99
LC_ALL=C
export LC_ALL
. tests/house/folders.sh

# A source that is made of another one in a build inside of the tree says nothing new.
sources() {
    # shellcheck disable=SC2086  # one word each
    find include $library tools tests examples python doc m4 -type f \
        \( -name '*.[ch]' -o -name '*.cc' -o -name '*.sh' -o -name '*.awk' -o -name '*.py' -o -name 'asc_*.m4' \
        -o -name Makefile.inc \) ! -name '*.f64.h' ! -path tools/exports.c
    ls Makefile.am configure.ac quickstart autogen.sh .ci/run 2>/dev/null
}

found=$(sources | sort | xargs awk '
FNR == 1 { opened = 0 }
{
    text = $0
    gsub(/[\200-\277]/, "", text) # one byte stays of each character in UTF-8
    if (length(text) > 120) print FILENAME ":" FNR ": " length(text) " columns"
}
/^{/ { opened = FNR }
/^}/ {
    if (opened && FNR - opened >= 80) print FILENAME ":" opened ": a function of " FNR - opened + 1 " lines"
    opened = 0
}')
[ -z "$found" ] && exit 0
echo "$found"
exit 1
