#!/bin/sh
# Two distributions of the same sources are the same bytes, whoever makes them, and when; and so are two builds of them,
# wherever they are made.
cd "$abs_top_builddir" || exit 99
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
tar --sort=name -cf "$scratch/none" -T /dev/null 2>/dev/null || { echo 'skipped: no GNU tar'; exit 77; }

# distribute TO UMASK
distribute() {
    (umask "$2" && make -s dist-gzip) && mv libascgrad-*.tar.gz "$1"
}
distribute "$scratch/one.tar.gz" 022 || exit 1
sleep 1
distribute "$scratch/two.tar.gz" 077 || exit 1
cmp "$scratch/one.tar.gz" "$scratch/two.tar.gz" || exit 1

# unpack FOLDER
unpack() {
    mkdir -p "$1" && tar -xzf "$scratch/one.tar.gz" --strip-components=1 -C "$1"
}
# build CONFIGURE ROOT: here, without flags of the user's, as most do; what is installed goes to ROOT.
build() {
    CCACHE_DISABLE=1 "$1" -q CC="$CC" && CCACHE_DISABLE=1 make -s -j"$(getconf _NPROCESSORS_ONLN)" &&
        make -s install DESTDIR="$2"
}
unset CFLAGS CPPFLAGS LDFLAGS SOURCE_DATE_EPOCH
(unpack "$scratch/one" && cd "$scratch/one" && build ./configure "$scratch/one.root") || exit 1
grep -q '^ASC_CFLAGS = .*-ffile-prefix-map' "$scratch/one/Makefile" ||
    { echo "skipped in part: $CC takes no -ffile-prefix-map"; exit 77; }
(umask 077 && unpack "$scratch/another/of/sources" && mkdir "$scratch/two" && cd "$scratch/two" &&
    build "$scratch/another/of/sources/configure" "$scratch/two.root") || exit 1
diff -r "$scratch/one.root" "$scratch/two.root"
