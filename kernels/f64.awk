# kernels/f64.awk: makes the double twin of what a source says for float.
#
# Code for both types is written once, in plain C for float, between the two lines below; names end in _f32. After them
# the source includes FILE.f64.h, which the build makes with this script: the same lines with _f64, ASC_F64, double and
# DBL_ in place of _f32, ASC_F32, float and FLT_; a header that they include is its own twin. Compilers and debuggers
# show the source's own lines.
#
#     awk -f f64.awk SOURCE >FILE.f64.h
BEGIN {
    first = "/* ---- float, and f64.awk makes the same for double ---- */"
    last = "/* ---- end of float ---- */"
}
$0 == first {
    inside = 1
    regions++
    printf "#line %d \"%s\"\n", FNR + 1, FILENAME
    next
}
$0 == last {
    inside = 0
}
inside && /^#include "/ {
    sub(/\.h"/, ".f64.h\"")
    print
    next
}
inside {
    # A word at a time: awk has no \b that all awks know.
    rest = $0
    line = ""
    while (match(rest, /[A-Za-z0-9_]+/)) {
        word = substr(rest, RSTART, RLENGTH)
        if (word == "float") {
            word = "double"
        } else if (word == "ASC_F32") {
            word = "ASC_F64"
        } else if (word ~ /_f32$/) {
            word = substr(word, 1, length(word) - 3) "f64"
        } else if (word ~ /^FLT_/) {
            word = "DBL_" substr(word, 5)
        }
        line = line substr(rest, 1, RSTART - 1) word
        rest = substr(rest, RSTART + RLENGTH)
    }
    print line rest
}
END {
    if (inside || !regions) {
        print FILENAME ": no whole region for float: see kernels/f64.awk" >"/dev/stderr"
        exit 1
    }
}
