#!/bin/sh
# Reads the #include lines: arrows between the folders point one way, and users' code sees public headers only.
set -u
cd "${abs_top_srcdir:-$(dirname "$0")/../..}" || exit 99

# The folders whose internal headers a file may include.
allowed() {
    case $1 in
    tensor/*) echo tensor ;;
    kernels/*) echo tensor kernels ;;
    autograd/*) echo tensor kernels autograd ;;
    ops/*) echo tensor kernels autograd ops ;;
    settings/*) echo tensor kernels settings ;;
    nn/*) echo tensor kernels autograd ops settings nn ;;
    check/*) echo tensor kernels autograd settings nn check ;;
    optim/*) echo tensor kernels optim ;;
    data/*) echo tensor kernels data ;;
    train/*) echo tensor kernels autograd check ops settings nn optim data train ;;
    tools/*) echo tools ;;
    # A suite, or what suites share, may look inside the folder after which its own is named.
    tests/*/*) echo tests "$(allowed "${1#tests/}")" ;;
    tests/*) echo tests ;;
    esac
}

found=$(find include tensor kernels autograd check ops settings nn optim data train tools tests examples -name '*.[ch]' |
    while read -r file; do
        folders=" $(allowed "$file") "
        sed -n 's/^[ \t]*#[ \t]*include[ \t]*\([<"][^>"]*[>"]\).*/\1/p' "$file" | while read -r header; do
            name=${header#?}
            name=${name%?}
            case $header in
            \<ascgrad/*) [ -f "include/$name" ] || echo "$file: $header does not exist" ;;
            \"config.h\") ;;
            \"*/*)
                case $folders in *" ${name%%/*} "*) ;; *) echo "$file: must not include $header" ;; esac
                # NAME.f64.h is made of a source NAME.
                [ -f "$name" ] || [ -f "${name%.f64.h}.c" ] || [ -f "${name%.f64.h}.h" ] ||
                    echo "$file: $header does not exist"
                ;;
            \"*) echo "$file: $header: internal headers are named from the top, \"folder/name.h\"" ;;
            '<cblas.h>' | '<openblas_config.h>')
                [ "$file" = tensor/blas.c ] || echo "$file: $header: only tensor/blas.c speaks to BLAS" ;;
            esac
            case $file:$header in
            include/*:*config.h*) echo "$file: a public header must not need config.h" ;;
            esac
        done
    done)

[ -z "$found" ] && exit 0
echo "$found"
exit 1
