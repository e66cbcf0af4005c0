#!/bin/sh
# Suites that make products of float32, with the library's own kernels and with OpenBLAS', whichever of them this
# processor doesn't take by itself, and with the own ones for less than its instructions.
set -u
: "${abs_top_builddir:=$PWD}"
cd "$abs_top_builddir" || exit 99
failed=0
itself=$("${ASCGRAD:-./ascgrad}" info --json | sed 's/.*"products": "\([a-z]*\)".*/\1/')
for products in own openblas own-plain own-avx2; do
    [ "$products" != "$itself" ] || continue # the suites' own runs
    isa=${products#own-}
    [ "$isa" != "$products" ] || isa=
    for suite in ops/test_head ops/test_products ops/test_matmul ops/test_gated nn/test_nn nn/test_precision; do
        ASCGRAD_ISA=$isa ASCGRAD_PRODUCTS=${products%%-*} "tests/$suite" >products.out 2>&1 || {
            echo "$suite, $products:"
            cat products.out
            failed=1
        }
    done
done
rm -f products.out
exit $failed
