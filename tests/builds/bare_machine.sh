#!/bin/sh
# What README.md says of a fresh machine: both of its commands, word for word, in a Debian of the base system alone;
# then ./quickstart and the scripts in a folder with blanks and an umlaut in its path. Takes a quarter of an hour.
# usage: bare_machine.sh; exit status 0 passed, 77 skipped, else failed
# shellcheck source=tests/builds/chroot.sh
. "${abs_top_srcdir:-$(dirname "$0")/../..}/tests/builds/chroot.sh"

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

make_chroot

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
