#!/bin/sh
# quickstart in folders whose path make can't take: it builds elsewhere, or says at once why not. Nothing is compiled
# or installed: the tools are stand-ins. configure by hand refuses such a folder.
# shellcheck source=tests/program.sh
. "$abs_top_srcdir/tests/program.sh"
unset TMPDIR XDG_CACHE_HOME CC CXX MAKEFLAGS MFLAGS MAKELEVEL ASCGRAD_GNUPLOT
HOME=$(pwd -P)/home
export HOME
home=$HOME
case $home in
*[!A-Za-z0-9/._-]*) # the test's own folder has such a path
    left_out 'needs a temporary folder with a plain path: quickstart in a folder without one'
    exit 77
    ;;
esac

# ---- the tools: all are there; a package manager leaves a note ----
mkdir tools home
for tool in cc gcc autoconf automake libtoolize pkg-config gnuplot; do
    printf '#!/bin/sh\nexit 0\n' >tools/$tool
done
for tool in apt-get dnf pacman zypper apk sudo; do
    printf '#!/bin/sh\necho "$0 $*" >>"%s/installed"\nexit 1\n' "$folder" >tools/$tool
done
chmod +x tools/*
PATH=$folder/tools:$PATH
export PATH

# ---- the tree: a configure that notes each run, and a Makefile with a program and a test ----
top="$folder/ein Ordner für \$alles: 'a' #1"
mkdir -p "$top"
cp "$abs_top_srcdir/quickstart" "$top"
cat >"$top/autogen.sh" <<'END'
#!/bin/sh
cat >"$(dirname "$0")/configure" <<'SCRIPT'
#!/bin/sh
echo run >>configured
cat >Makefile <<MAKE
abs_top_srcdir = $(dirname "$0")
all: ascgrad
ascgrad: \$(abs_top_srcdir)/program
	cp \$(abs_top_srcdir)/program \$@
check: all
	mkdir -p tests
	echo 'skipped: needs more than this' >tests/one.log
	echo '# PASS: 1' >test-suite.log
	@echo PASS: \$(abs_top_srcdir)
MAKE
SCRIPT
chmod +x "$(dirname "$0")/configure"
END
printf '#!/bin/sh\necho "$0"\n' >"$top/program"
chmod +x "$top/autogen.sh" "$top/program"

# check_in FOLDER: ./quickstart check there
check_in() {
    status 0 "$1/quickstart" check
    has out '^1 passed, 0 failed, 0 skipped$'
    has out '^Not checked here: needs more than this$'
    "$1/build/ascgrad" >/dev/null || fail "no program in $1/build"
}

# built elsewhere, and once
check_in "$top"
work=$(readlink "$top/build")
case $work in
"$home"/.cache/ascgrad-build-*) ;;
*) fail "build is a link to '$work', expected one below $home/.cache" ;;
esac
has out "^PASS: $work/source\$"
has out 'build is a link to'
check_in "$top"
[ "$(readlink "$top/build")" = "$work" ] || fail 'another link the second time'
lacks out 'build is a link to'
lines "$work/configured" 1

# a copy, and a folder that is gone, get one of their own
cp -RP "$top" "$top copy"
check_in "$top copy"
[ "$(readlink "$top copy/build")" != "$work" ] || fail 'a copy is built in the folder of the first'
[ "$(readlink "$work/source")" = "$top" ] || fail 'a copy has taken the folder of the first'
rm -r "$work"
check_in "$top"

# a home that has such a path, too, behind a link
rm "$top copy/build"
ln -s "$top" heim
HOME=$folder/heim check_in "$top copy"
work=$(readlink "$top copy/build")
[ "$work" = "${work#"$folder"}" ] || fail "built in $work"
rm -r "$work"

# a plain path behind a link with another needs none of this
mkdir plain
for file in quickstart autogen.sh program; do
    cp "$top/$file" plain
done
ln -s "$folder/plain" "ein Weg"
check_in "$folder/ein Weg"
[ -d plain/build ] || fail 'a folder with a plain path has no build'
[ ! -L plain/build ] || fail 'a folder with a plain path is built elsewhere'

# refused REASON: at once, in one line
refused() {
    status 3 "$top/quickstart"
    lines out 1
    lines err 0
    has out "^make can't build under the path of .*$1"
}
rm "$top/build"
mkdir "$top/build"
: >"$top/build/mine"
refused 'please remove it\.$'
[ -e "$top/build/mine" ] || fail 'what was in build is gone'
rm -r "$top/build"
printf '#!/bin/sh\nexit 1\n' >tools/mktemp
chmod +x tools/mktemp
refused 'no folder to build in could be made elsewhere\.$'
if [ -e "$top/build" ] || [ -L "$top/build" ]; then
    fail 'a folder that was refused has a build'
fi
[ ! -e installed ] || { fail 'something was to be installed:'; cat installed; }
rm tools/mktemp

# without gnuplot: it is installed where that can be, and all else goes on where not
export ASCGRAD_GNUPLOT=none-such
status 0 "$folder/plain/quickstart" check
has out '^Without gnuplot no figures are drawn; .*apt-get install .*gnuplot-nox$'
has out '^1 passed, 0 failed, 0 skipped$'
has installed 'install\|sudo'
printf '#!/bin/sh\nexit 0\n' >tools/apt-get
printf '#!/bin/sh\n[ "$1" = -n ] || "$@"\n' >tools/sudo
status 0 "$folder/plain/quickstart" check
has out '^Installing gnuplot (apt-get) *done'
lacks out 'Without gnuplot'
unset ASCGRAD_GNUPLOT

# ---- configure by hand: to build there, or from there ----
mkdir "ein Ordner" b
ln -s "$abs_top_srcdir" "ein Ordner/lib"
cd "ein Ordner" || exit 99
status 1 "$abs_top_srcdir/configure"
has err "ein Ordner': .* ./quickstart"
cd ../b || exit 99
status 1 "../ein Ordner/lib/configure"
has err "ein Ordner/lib': .* ./quickstart"
# and to install there
for folder in '/ein Ordner' '/a|b' '/a&b'; do
    status 1 "$abs_top_srcdir/configure" --prefix="$folder"
    has err "can't install under the path '$folder'"
    status 1 "$abs_top_srcdir/configure" --libdir="$folder"
    has err "can't install under the path '$folder'"
done
exit $failed
