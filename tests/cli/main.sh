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

# a message is one write, also where a name in it can't be shown
if have_python; then
    "$python" - "$ASCGRAD" <<'END' >out 2>&1 || { fail 'a message in pieces:'; cat out; }
import socket, subprocess, sys
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
subprocess.run([sys.argv[1], 'eval', 'run', '--data', 'no\x1bne'], stderr=theirs)
message = ours.recv(4096)
sys.exit(None if message.startswith(b'ascgrad eval: no?ne: ') and message.endswith(b'\n') else repr(message))
END
else
    left_out 'needs Python: messages in one write'
fi
exit $failed
