#!/bin/sh
# What README.md says of a fresh machine: both of its commands, word for word, in a Debian of the base system alone;
# then ./quickstart and the scripts in a folder with blanks and an umlaut in its path. Needs root, debootstrap and a
# mirror, and takes a quarter of an hour. The Debian is a chroot with this machine's settings of apt; it is removed at
# the end.
# usage: bare_machine.sh; exit status 0 passed, 77 skipped, else failed
set -u
top=$(cd "${abs_top_srcdir:-$(dirname "$0")/../..}" && pwd -P)
place=
trap '[ -z "$place" ] || rm -rf --one-file-system "$place"' EXIT
trap 'exit 1' HUP INT TERM

skip() {
    echo "SKIP: $*"
    exit 77
}

# alone COMMAND...: with mounts of its own, and no process outlives it.
alone() {
    unshare --mount --pid --fork --kill-child "$@"
}

# inside COMMAND: in the chroot, with the environment of a fresh login and the proxies.
inside() {
    # shellcheck disable=SC2086  # a list; and the words are for the shell in the chroot
    alone sh -c 'mount -t proc proc "$1/proc" && exec chroot "$@"' - "$place/root" \
        /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root $proxies sh -c "$1"
}

# timed FOLDER COMMAND: a line with what it is, and one with what it took.
timed() {
    echo "==== $1: $2"
    began=$(date +%s)
    inside "cd '$1' && $2" </dev/null || { echo "==== failed: exit status $?"; exit 1; }
    echo "==== $(($(date +%s) - began)) s: $2"
}

# tree FOLDER: a fresh copy of what is committed.
tree() {
    mkdir -p "$place/root$1" && tar -x -C "$place/root$1" -f "$place/tree.tar"
}

# ---- the machine ----
[ "$(id -u)" = 0 ] || skip 'needs root'
for tool in debootstrap apt-get git unshare; do
    command -v $tool >/dev/null || skip "needs $tool"
done
alone true 2>/dev/null || skip 'needs the right to make namespaces'
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
    sed -n "s/^$suite //p" | head -n 1)
[ -n "$mirror" ] || skip "apt knows no mirror of '$suite' (apt-get update)"
eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
export http_proxy https_proxy
proxies=
for name in http_proxy https_proxy no_proxy; do
    eval "value=\${$name-}"
    [ -z "$value" ] || proxies="$proxies $name=$value"
done

place=$(mktemp -d) || exit 99
git -c safe.directory="$top" -C "$top" archive -o "$place/tree.tar" HEAD 2>/dev/null || skip 'needs a git checkout'
alone debootstrap --variant=minbase "$suite" "$place/root" "$mirror" >"$place/log" 2>&1 ||
    skip "debootstrap $suite from $mirror: $(tail -n 1 "$place/log")"
rm -rf "$place/root/etc/apt"
cp -R /etc/apt "$place/root/etc" && cp -RL /usr/share/keyrings "$place/root/usr/share" || exit 99
cp -L /etc/resolv.conf /etc/hosts "$place/root/etc"
inside true || skip 'needs the right to mount /proc and to chroot'

# ---- the README ----
tree /root/libascgrad
commands=$(sed -n 's/^    \(\.\/quickstart.*\)/\1/p' "$place/root/root/libascgrad/README.md")
if [ "$(echo "$commands" | wc -l)" -ne 2 ]; then
    echo "README.md: expected two lines of ./quickstart, got: $commands"
    exit 1
fi
while read -r command; do
    timed /root/libascgrad "$command"
done <<END
$commands
END

# ---- a path that make can't take ----
odd='/root/ein Ordner für alles'
tree "$odd/lib"
timed "$odd/lib" ./quickstart
timed "$odd/lib/build" "TMPDIR='$odd' HOME='$odd' make check check_PROGRAMS= TESTS='\$(scripts)' VERBOSE=yes"
