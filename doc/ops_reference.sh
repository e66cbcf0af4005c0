#!/bin/sh
# Prints the op reference, doc/ops.md, from the registry.
# usage: ops_reference.sh PROGRAM
set -u
LC_ALL=C # numbers, sorting and ranges as everywhere
export LC_ALL
cat <<'TEXT'
# Ops

Made from the registry by `make update-ops-reference`; `ascgrad info --ops` prints the same. The functions that call the
ops, with shapes, ranges and errors, are in `ascgrad/ops.h` and `ascgrad/mixing_ops.h`.

y is the result, σ the sigmoid, ∘ the product of elements. A ? marks an optional input, … one or more of the one before.
Samples are the inputs on which `ascgrad gradcheck` checks the gradient.

| op | inputs | samples | equation |
| --- | --- | --- | --- |
TEXT
"$1" info --ops | awk '
/^  [a-z]/ {
    sub(/^  /, "")
    n = split($0, field, /  +/)
    equation = field[4]
    for (i = 5; i <= n; i++) equation = equation "  " field[i]
    gsub(/[|]/, "\\|", equation)
    gsub(/[*]/, "\\*", equation)
    gsub(/_/, "\\_", equation)
    sub(/[.][.][.]$/, "…", field[2])
    printf "| `%s` | %s | %s | %s |\n", field[1], field[2], field[3], equation
}'
