#!/bin/sh
# What a page or a comment names is there: links of the pages, and the pages and scripts that sources speak of.
set -u
cd "${abs_top_srcdir:-$(dirname "$0")/../..}" || exit 99
. tests/house/folders.sh

# The files that `make install` takes to docdir, each to the place that it has here.
installed=$(awk '/^nobase_dist_doc_DATA/ { on = 1; sub(/^[^=]*=/, "") }
    on { line = $0; on = sub(/\\$/, "", line); n = split(line, word, " "); for (i = 1; i <= n; i++) print word[i] }' \
    Makefile.am doc/Makefile.inc examples/Makefile.inc experiments/Makefile.inc python/Makefile.inc)

is_installed() {
    echo "$installed" | grep -qxF "$1"
}

# The headings of a page, as links name them.
anchors() {
    sed -n 's/^##* *//p' "$1" | tr '[:upper:]' '[:lower:]' | tr ' ' '-' | tr -cd 'a-z0-9_\n-'
}

# What is installed links to what is installed.
broken_links() {
    for page in *.md doc/*.md; do
        is_installed "$page" || echo "$page: not installed"
        grep -o '](\([^)#:]*\)\(#[^)]*\)\{0,1\})' "$page" | sed 's/^](\(.*\))$/\1/' | sort -u | while read -r link; do
            to=$(dirname "$page")/${link%%#*}
            to=$(echo "${to#./}" | sed 's|^doc/\.\./||')
            [ "$link" = "${link#\#}" ] || to=$page
            is_installed "$to" || echo "$page: no $link among what is installed"
            case $link in
            *#*) anchors "$to" | grep -qxF -- "${link#*#}" || echo "$page: no heading $link" ;;
            esac
        done
    done
}

# NAME.md of a source is doc/NAME.md, or a page at the top; "%s/NAME.md" is a file that is written.
missing_pages() {
    # shellcheck disable=SC2086  # one word each
    grep -roE --include='*.[ch]' '%?[A-Za-z0-9_/-]+\.(md|py)\b' include $library tools examples | sort -u |
        while IFS=: read -r file name; do
            [ "$name" != "${name#%}" ] || [ -f "$name" ] || [ -f "doc/$name" ] || echo "$file: no $name"
        done
}

# What is installed names no function that the program alone has.
unknown_functions() {
    for name in $(sh tests/house/list_api.sh include/program); do
        grep -lw "$name" include/ascgrad/*.h README.md doc/guide.md | sed "s/$/: $name is of the program alone/"
    done
}

found=$(broken_links && missing_pages && unknown_functions)
[ -z "$found" ] && exit 0
echo "$found"
exit 1
