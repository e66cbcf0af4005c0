#!/bin/sh
# The examples run, and find what they are to find; digits stays below fifty lines.
. "$abs_top_srcdir/tests/program.sh"

# Digits leaves its objects to the end of the process.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS

# example LINE NAME [ARGUMENT...]: it succeeds, and has the line.
example() {
    line=$1
    shift
    program=$abs_top_builddir/examples/$1
    shift
    status 0 "$program" "$@"
    has out "$line"
}

example 'squared error 0\.00' fit
example '^5[01][0-9] of 512 points right$' classify
example '^accuracy \(9[5-9]\|100\)' digits
example '^x_log_x: ok' my_op
example tensors edit_model "$abs_top_srcdir/tests/parity/attention-causal.safetensors" half.safetensors 0.5
example perplexity own_mixing fading
example '^perplexity of the results: 1\.' own_corpus sums
status 0 "$abs_top_builddir/ascgrad" train --preset tiny --data builtin:3000 --steps 2 --out tiny
example '^all  .*  0\.0[0-4]' precision tiny builtin:3000
[ "$(wc -l <"$abs_top_srcdir/examples/digits.c")" -lt 50 ] || fail 'examples/digits.c has fifty lines or more'
exit $failed
