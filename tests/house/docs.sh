#!/bin/sh
# What a page or a comment names is there: links of the pages, and the pages and scripts that sources speak of.
set -u
cd "${abs_top_srcdir:-$(dirname "$0")/../..}" || exit 99
. tests/house/folders.sh

broken_links() {
    for page in *.md doc/*.md; do
        grep -o '](\([^)#:]*\))' "$page" | sed 's/^](\(.*\))$/\1/' | sort -u | while read -r link; do
            [ -e "$(dirname "$page")/$link" ] || echo "$page: no $link"
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

found=$(broken_links && missing_pages)
[ -z "$found" ] && exit 0
echo "$found"
exit 1
