#!/bin/sh
# Two distributions of the same sources are the same bytes, whoever makes them, and when.
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
cmp "$scratch/one.tar.gz" "$scratch/two.tar.gz"
