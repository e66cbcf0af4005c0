#!/bin/sh
# Reads the library's sources: numbers are read and written, names matched and characters classed by tensor/locale.h, so
# that a program's locale, with its decimal comma, changes no file, no setting and no message.
set -u
cd "${abs_top_srcdir:-$(dirname "$0")/../..}" || exit 99
LC_ALL=C
export LC_ALL
. tests/house/folders.sh

# %.0f has no point; what a format in a variable has can't be seen, so no function takes one but those of locale.h.
# shellcheck disable=SC2086  # one word each
found=$(find $library include -name '*.[ch]' ! -path tensor/locale.c | sort | xargs awk '
function word(text, names) { return match(text, "(^|[^A-Za-z0-9_])(" names ")[ \t]*\\(") }
# The text without comments; strings stay.
function code(text) {
    if (commented) {
        if (!match(text, /\*\//)) return ""
        text = substr(text, RSTART + 2)
        commented = 0
    }
    while (match(text, /\/\*/)) {
        before = substr(text, 1, RSTART - 1)
        text = substr(text, RSTART + 2)
        if (!match(text, /\*\//)) { commented = 1; return before }
        text = before " " substr(text, RSTART + 2)
    }
    return text
}
FNR == 1 { commented = 0; statement = "" }
{
    line = code($0)
    if (word(line, "strto(d|f|ld)(_l)?|atof|v?f?w?scanf|is(alnum|alpha|blank|cntrl|graph|lower|print|" \
                   "punct|space|upper)|to(upper|lower)|str(n?casecmp|coll|xfrm|ptime|ftime)|fnmatch|alphasort|" \
                   "set_?locale|(new|use)locale|localeconv|v[sfd]?n?printf|vasprintf"))
        print FILENAME ":" FNR ": " substr(line, RSTART + (RSTART > 1), RLENGTH - (RSTART > 1)) \
            "…) depends on the locale: tensor/locale.h has what does not"
    statement = statement line
    if (line !~ /[;{}][ \t]*$/) next
    gsub(/%\.0f/, "", statement)
    if (word(statement, "s?n?printf|[fd]printf|asprintf|sscanf") &&
        statement ~ /%[-+ #0]*[0-9*]*(\.[0-9*]*)?[lL]?[aefgAEFG]/)
        print FILENAME ":" FNR ": a number with a point: asc_snprintf of tensor/locale.h writes it in every locale"
    statement = ""
}')
[ -z "$found" ] && exit 0
echo "$found"
exit 1
