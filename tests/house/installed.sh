#!/bin/sh
# Run by `make installcheck`: what was installed serves a program that knows pkg-config only.
# Environment: CC, PKG_CONFIG_PATH, PKG_CONFIG_SYSROOT_DIR, libdir, bindir and docdir as installed, srcdir.
set -eu
: "${libdir:?}" "${bindir:?}" "${docdir:?}" "${srcdir:?}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/user.c" <<'END'
#include <ascgrad/ascgrad.h>

int main(void)
{
    asc_ctx *ctx = asc_ctx_new(NULL);
    asc_tensor ones = asc_full(ctx, ASC_F32, 1.0, ASC_SHAPE(2, 3));
    int good = asc_numel(ones) == 6 && asc_error(ctx) == ASC_OK;
    asc_ctx_free(ctx);
    return good ? 0 : 1;
}
END
static=
[ -f "$libdir/libascgrad.so" ] || static=--static
# shellcheck disable=SC2086  # an option, or none
flags=$(pkg-config $static --cflags --libs ascgrad)
# shellcheck disable=SC2086  # lists of flags
$CC "$scratch/user.c" $flags -o "$scratch/user"
LD_LIBRARY_PATH=$libdir "$scratch/user"
"$bindir/ascgrad" info >/dev/null

# Nothing of the libraries beneath reaches a program that uses this one.
for flag in $(pkg-config --cflags ascgrad); do
    case $flag in
    -I*) [ -f "${flag#-I}/ascgrad/ascgrad.h" ] || { echo "pkg-config --cflags gives $flag"; exit 1; } ;;
    *) echo "pkg-config --cflags gives $flag"; exit 1 ;;
    esac
done
[ -n "$static" ] || ! pkg-config --libs ascgrad | grep -v '^\(-L[^ ]* \)*-lascgrad *$' || exit 1

# README.md's ways: rpath, and the library inside, alone or with all others.
if [ -z "$static" ]; then
    # shellcheck disable=SC2086
    $CC "$scratch/user.c" $flags "-Wl,-rpath,$libdir" -o "$scratch/rpath"
    (unset LD_LIBRARY_PATH && "$scratch/rpath")
fi
if [ -f "$libdir/libascgrad.a" ]; then
    whole=$(pkg-config --static --cflags --libs ascgrad)
    # shellcheck disable=SC2086
    if $CC -static "$scratch/user.c" $whole -o "$scratch/static" 2>"$scratch/err"; then
        "$scratch/static"
    else
        grep -q "cannot find -l\(openblas\|z\|utf8proc\|jansson\|gfortran\|quadmath\|c\|m\)" "$scratch/err" ||
            { cat "$scratch/err"; exit 1; }
        echo "skipped: needs static libraries: a program with nothing shared"
    fi
fi

# The examples that are installed, each by itself.
for example in fit classify digits edit_model own_mixing precision; do
    # shellcheck disable=SC2086
    $CC "$docdir/examples/$example.c" $flags -lm -o "$scratch/$example"
done
run() {
    LD_LIBRARY_PATH=$libdir "$@"
}
run "$scratch/fit" | tail -n 1 | grep -q 'squared error 0\.00'
run "$scratch/classify" | tail -n 1 | grep -q 'points right$'
run "$scratch/digits" | grep -q '^accuracy 9'
run "$scratch/edit_model" "$srcdir/tests/parity/attention-causal.safetensors" "$scratch/half.safetensors" 0.5 |
    grep -q tensors
run "$scratch/own_mixing" "$scratch/fading" | tail -n 1 | grep -q perplexity

# With CMake, by the target of either kind; a version of the future is refused.
if command -v cmake >/dev/null; then
    mkdir "$scratch/project"
    cp "$scratch/user.c" "$scratch/project"
    cat >"$scratch/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.5)
project(user C)
find_package(ascgrad ${wanted} REQUIRED)
add_executable(user user.c)
target_link_libraries(user ascgrad::ascgrad)
if(TARGET ascgrad::static)
    add_executable(inside user.c)
    target_link_libraries(inside ascgrad::static)
endif()
END
    in_project() { # VERSION: configures for it
        cmake -S "$scratch/project" -B "$scratch/made" -Dwanted="$1" -Dascgrad_DIR="$libdir/cmake/ascgrad" \
            -DCMAKE_C_COMPILER="${CC##* }" >"$scratch/cmake.log" 2>&1
    }
    if ! in_project 0.2 || ! cmake --build "$scratch/made" >>"$scratch/cmake.log" 2>&1; then
        cat "$scratch/cmake.log"
        exit 1
    fi
    "$scratch/made/user"
    [ ! -f "$libdir/libascgrad.a" ] || "$scratch/made/inside"
    for version in 0.1 0 0.99 1.0 0.3...0.9 0.1...\<0.2 "0.2;COMPONENTS;none"; do
        ! in_project "$version" || { echo "find_package(ascgrad $version) takes this one"; exit 1; }
    done
    for version in "" 0.2.0 0.2...0.9 0.1...1.0; do
        in_project "$version" || { echo "find_package(ascgrad $version) refuses this one"; exit 1; }
    done
else
    echo "skipped: needs cmake"
fi

# The pages' links lead to pages and examples that are installed.
pages=0
for page in "$docdir"/*.md "$docdir"/doc/*.md; do
    grep -o '](\([^)#:]*\))' "$page" | sed 's/^](\(.*\))$/\1/' | while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || { echo "$page: no $link"; exit 1; }
    done
    pages=$((pages + 1))
done
[ $pages -gt 10 ]
