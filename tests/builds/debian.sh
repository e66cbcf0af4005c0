#!/bin/sh
# The Debian packages: dpkg-buildpackage makes them, lintian has no complaint, and in a chroot of the base system they
# are installed, run, serve a program that is compiled there, and leave nothing behind.
# usage: debian.sh; exit status 0 passed, 77 skipped, else failed
# shellcheck source=tests/builds/chroot.sh
. "${abs_top_srcdir:-$(dirname "$0")/../..}/tests/builds/chroot.sh"
for tool in dpkg-buildpackage dh lintian; do
    command -v $tool >/dev/null || skip "needs $tool"
done
make_chroot

# step WORDS COMMAND...: its output in $place/log, shown if it fails.
step() {
    what=$1
    shift
    echo "==== $what"
    "$@" >"$place/log" 2>&1 </dev/null && return
    tail -n 60 "$place/log"
    exit 1
}

mkdir -p "$place/work/libascgrad" && tar -x -C "$place/work/libascgrad" -f "$place/tree.tar" || exit 99
cd "$place/work/libascgrad" || exit 99
unset CC CFLAGS CPPFLAGS LDFLAGS MAKEFLAGS MFLAGS MAKELEVEL
dpkg-checkbuilddeps >"$place/log" 2>&1 || skip "$(cat "$place/log")"
DEB_BUILD_OPTIONS="parallel=$(getconf _NPROCESSORS_ONLN)"
export DEB_BUILD_OPTIONS
step 'dpkg-buildpackage' dpkg-buildpackage -us -uc -b
step 'lintian' lintian --fail-on error,warning --allow-root ../*.changes
cat "$place/log"

mkdir "$place/root/packages" && cp ../*.deb "$place/root/packages" && rm -f "$place"/root/packages/*-dbgsym_* || exit 99
cp "$top/examples/fit.c" "$place/root/packages" || exit 99
export DEBIAN_FRONTEND=noninteractive
step 'apt-get update' inside 'apt-get update'
step 'installing the program' inside 'DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    /packages/ascgrad_*.deb'
step 'the program' inside 'ascgrad info && ascgrad gradcheck linear && test -f /usr/share/man/man1/ascgrad-train.1.gz'
step 'installing the library' inside 'DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    gcc gfortran libc6-dev pkg-config /packages/libascgrad1_*.deb /packages/libascgrad-dev_*.deb &&
    test -f /usr/share/doc/libascgrad-dev/experiments/field.json'
step 'a program, shared and static' inside 'cd /packages && cc fit.c $(pkg-config --cflags --libs ascgrad) -lm -o fit &&
    ./fit && ldd fit | grep -q libascgrad.so.1 &&
    cc -static fit.c $(pkg-config --static --cflags --libs ascgrad) -o all && ./all'
step 'removing all' inside 'DEBIAN_FRONTEND=noninteractive apt-get purge -y ascgrad libascgrad1 libascgrad-dev &&
    test -z "$(find /usr -path "*ascgrad*" -not -path "/usr/share/doc/*" -print)"'
