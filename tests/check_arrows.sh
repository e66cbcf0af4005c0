#!/bin/sh
# Reads the #include lines: arrows between the folders point one way, and users' code sees public headers only.
set -u
cd "${abs_top_srcdir:-$(dirname "$0")/..}" || exit 99

# The folders whose internal headers a file may include.
allowed() {
    case $1 in
    tensor/*) echo tensor ;;
    kernels/*) echo tensor kernels ;;
    autograd/*) echo tensor kernels autograd ;;
    ops/*) echo tensor kernels autograd ops ;;
    nn/*) echo tensor kernels autograd ops nn ;;
    optim/*) echo tensor kernels optim ;;
    data/*) echo tensor kernels data ;;
    train/*) echo tensor kernels autograd ops nn optim data train ;;
    tools/*) echo tools ;;
    # A suite, or what suites share, that is named after a folder may look inside it.
    tests/*) folder=${1#tests/}; folder=${folder#test_}; echo tests "$(allowed "${folder%%[_.]*}/")" ;;
    esac
}

found=$(for file in include/ascgrad/*.h */*.[ch]; do
    folders=" $(allowed "$file") "
    sed -n 's/^[ \t]*#[ \t]*include[ \t]*\([<"][^>"]*[>"]\).*/\1/p' "$file" | while read -r header; do
        name=${header#?}
        name=${name%?}
        case $header in
        \<ascgrad/*) [ -f "include/$name" ] || echo "$file: $header does not exist" ;;
        \"config.h\" | \"tests/null_calls.h\") ;; # generated
        \"*/*)
            case $folders in *" ${name%%/*} "*) ;; *) echo "$file: must not include $header" ;; esac
            [ -f "$name" ] || echo "$file: $header does not exist" ;;
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
