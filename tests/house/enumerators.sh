#!/bin/sh
# In the public headers each value of a type begins with the type's name: asc_split_kind has ASC_SPLIT_TRAIN. A last
# word of the name that says nothing of the value is left out. dtypes and statuses are short, as everyone writes them.
set -u
: "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}" "${CC:=cc}"
include=$abs_top_srcdir/include
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT

for header in "$include"/*/*.h; do
    echo "#include <${header#"$include"/}>"
done >"$scratch/all.c"
# shellcheck disable=SC2086  # CC may hold flags
$CC -E -P -I"$include" "$scratch/all.c" >"$scratch/all.i" || exit 1

awk 'BEGIN { RS = ";" }
    match($0, /typedef enum asc_[a-z0-9_]+/) {
        type = substr($0, RSTART + 13, RLENGTH - 13)
        types++
        sub(/.*\{/, "")
        prefix = toupper(type)
        sub(/_(KIND|TYPE|SCALAR)$/, "", prefix)
        n = split($0, value, ",")
        for (i = 1; i <= n; i++) {
            if (!match(value[i], /ASC_[A-Z0-9_]+/)) continue
            name = substr(value[i], RSTART, RLENGTH)
            if (index(name, prefix "_") != 1 && name != prefix "S" && name != prefix "ES")
                if (type !~ /^asc_(dtype|status)$/) print type " has " name
        }
    }
    END { if (types < 20) print "only " types " types were read" }
' "$scratch/all.i" >"$scratch/found"
[ -s "$scratch/found" ] || exit 0
cat "$scratch/found"
exit 1
