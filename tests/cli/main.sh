#!/bin/sh
# The program without a command: its version, which is everywhere the same, its help, and what it can't take.
. "$abs_top_srcdir/tests/program.sh"

status 0 "$ASCGRAD" --version
version=$(sed -n 's/^ascgrad \([0-9]*\.[0-9]*\.[0-9]*\)$/\1/p' out)
[ -n "$version" ] || fail "--version says $(cat out)"
has "$abs_top_srcdir/configure.ac" "^AC_INIT(\[libascgrad\], \[$version\])"
has "$abs_top_srcdir/CHANGELOG.md" "^## $version$"
has "$abs_top_srcdir/debian/changelog" "^libascgrad ($version) "
[ -f "$abs_top_srcdir/abi/${version%.*}.c" ] || fail "there is no baseline abi/${version%.*}.c: make update-abi"
status 0 "$ASCGRAD" info
has out "$version"

status 0 "$ASCGRAD" --help
for command in train eval generate tokenize gradcheck parity bench info; do
    has out "^  $command "
done
status 0 "$ASCGRAD" help train
has out '^usage: ascgrad train'
has out '--weight-decay W'
has out 'wikitext2-6l'

status 2 "$ASCGRAD"
has err '^usage:'
status 2 "$ASCGRAD" trian
has err "^ascgrad: unknown command 'trian'; did you mean 'train'?"
exit $failed
