#!/bin/sh
# Reads the #include lines: arrows between the folders point one way, and users' code sees public headers only.
# links.sh does the same for the symbols that the linker joins.
set -u
cd "${abs_top_srcdir:-$(dirname "$0")/../..}" || exit 99

. tests/house/folders.sh

# shellcheck disable=SC2086  # one word each
found=$(find include $library tools tests examples -name '*.[ch]' |
    while read -r file; do
        folders=" $(allowed "$file") "
        sed -n 's/^[ \t]*#[ \t]*include[ \t]*\([<"][^>"]*[>"]\).*/\1/p' "$file" | while read -r header; do
            name=${header#?}
            name=${name%?}
            case $header in
            \<ascgrad/* | \<program/*) [ -f "include/$name" ] || echo "$file: $header does not exist" ;;
            \"config.h\" | \"tests/house/null_calls.h\" | \"guide/*\") ;; # generated
            \"*/*)
                case $folders in *" ${name%%/*} "*) ;; *) echo "$file: must not include $header" ;; esac
                # NAME.f64.h is made of a source NAME.
                [ -f "$name" ] || [ -f "${name%.f64.h}.c" ] || [ -f "${name%.f64.h}.h" ] ||
                    echo "$file: $header does not exist"
                ;;
            \"*) echo "$file: $header: internal headers are named from the top, \"folder/name.h\"" ;;
            '<cblas.h>' | '<openblas_config.h>')
                [ "$file" = tensor/openblas.c ] || echo "$file: $header: only tensor/openblas.c speaks to BLAS" ;;
            esac
            case $file:$header in
            include/*:*config.h*) echo "$file: a public header must not need config.h" ;;
            include/ascgrad/*:\<program/* | examples/*:\<program/*) echo "$file: $header is not installed" ;;
            esac
        done
    done)

[ -z "$found" ] && exit 0
echo "$found"
exit 1
