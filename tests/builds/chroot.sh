#!/bin/sh
# tests/builds/chroot.sh: a Debian of the base system alone in a chroot, below $place/root, with this machine's settings
# of apt, and the tree as it is committed, in $place/tree.tar. Sourced by the scripts that need one. It goes at the end.
# Where there can be none the script ends with exit status 77. Needs root, debootstrap and a mirror.
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

# Makes it.
make_chroot() {
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
}
