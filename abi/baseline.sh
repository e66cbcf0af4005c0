#!/bin/sh
# Prints the baseline of a version's binary interface: a C file that compiles and runs as long as a program that was
# compiled against the public headers as they are now does. tests/builds/abi.sh tries it with the library of today.
# usage: CC=… baseline.sh VERSION INCLUDE-FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=$1 include=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# The structs of settings are no part of it: each comes with its fields' places (ascgrad/typed.h).
find "$include/ascgrad" -name '*.h' ! -name typed_settings.h | LC_ALL=C sort | xargs awk -f "$here/items.awk" \
    >"$scratch/items"

# What only the compiler knows: a program that prints a number, or nothing, for each item.
awk '
BEGIN { print "#include <stddef.h>\n#include <stdio.h>\n#include <ascgrad/ascgrad.h>\nint main(void)\n{" }
$1 == "STRUCT" { printf "printf(\"%%zu\\n\", sizeof(%s));\n", $2 }
$1 == "FIELD" { printf "printf(\"%%zu\\n\", offsetof(%s, %s));\n", $2, $3 }
$1 == "VALUE" { printf "printf(\"%%lld\\n\", (long long)%s);\n", $2 }
$1 == "FUNCTION" || $1 == "TYPE" { print "puts(\"\");" }
END { print "}" }' "$scratch/items" >"$scratch/measure.c"
# shellcheck disable=SC2086  # CC may hold flags
${CC:-cc} -I"$include" "$scratch/measure.c" -o "$scratch/measure"
"$scratch/measure" >"$scratch/numbers"

echo "/* Made by \`make update-abi\`: what a program relies on that was compiled against the headers of $version."
cat <<'PART'
 *
 * From its release on this file stays as it is. Functions and enumerators may be added to the library; what stands here
 * may neither change nor go, or old programs don't run any more, and libtool's version-info has to say so. */
#include <stddef.h>

#include <ascgrad/ascgrad.h>

/* Sizes and places are those of machines with pointers of 64 bits. */
#if UINTPTR_MAX == UINT64_MAX
#define NUMBER(is, was, what) _Static_assert((is) == (was), what " has changed");
#else
#define NUMBER(is, was, what)
#endif
#define STRUCT(type, size) NUMBER(sizeof(type), size, "the size of " #type)
/* Of two declarations of one name with different types the compiler refuses the second. */
#define FIELD(type, name, offset)                                       \
    NUMBER(offsetof(type, name), offset, "the place of " #type "." #name) \
    extern __typeof__(((type *)0)->name) type##_0_##name;               \
    extern
#define VALUE(name, number) _Static_assert((long long)name == number, #name " has changed");

PART
paste -d'|' "$scratch/numbers" "$scratch/items" | awk '
{ number = $0; sub(/\|.*/, "", number); sub(/^[^|]*\|/, "") }
$1 == "STRUCT" { printf "\nSTRUCT(%s, %s)\n", $2, number }
$1 == "FIELD" {
    declared = $0
    sub(/^FIELD [^ ]+ [^ ]+ /, "", declared)
    sub(/@/, $2 "_0_" $3, declared)
    printf "FIELD(%s, %s, %s) %s;\n", $2, $3, number, declared
}
$1 == "VALUE" {
    printf "VALUE(%s, %s)\n", $2, number == "-9223372036854775808" ? "-9223372036854775807 - 1" : number
}
$1 == "TYPE" { sub(/^TYPE /, ""); print $0 ";" }
$1 == "FUNCTION" { sub(/^FUNCTION [^ ]+ /, ""); print $0 ";" }'

cat <<'PART'

/* All functions are there. */
typedef void any(void);
any *const functions[] = {
PART
sed -n 's/^FUNCTION \([^ ]*\) .*/    (any *)\1,/p' "$scratch/items" | sort
number=$(echo "$version" | awk -F. '{ print $1 * 10000 + $2 * 100 }')
cat <<PART
};

int main(void)
{
    return !functions[0] || asc_version() < $number;
}
PART
