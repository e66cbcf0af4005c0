#!/bin/sh
# The man pages and completions are what the tables of options say now, and good for those who read them.
. "$abs_top_srcdir/tests/program.sh"
doc=$abs_top_srcdir/doc

sh "$doc/update_help.sh" "$ASCGRAD" made || fail 'the man pages and completions could not be made'
for kind in man completions; do
    diff -r "$doc/$kind" "made/$kind" >differences || {
        fail "doc/$kind is out of date: make update-help"
        head -n 20 differences
    }
done
[ "$(find made/man -name 'ascgrad-*.1' | wc -l)" -gt 10 ] || fail 'pages are missing'
has made/man/ascgrad-train.1 '^\.It Fl -weight-decay Ar W'
has made/man/ascgrad-bench.1 '^\.Xr ascgrad-bench-ops 1 \.'

# all of them are installed, and the first page has all commands
for page in made/man/*.1; do
    grep -q "doc/man/${page##*/}" "$doc/Makefile.inc" || fail "doc/Makefile.inc has no doc/man/${page##*/}"
done
"$ASCGRAD" --help | awk '/^  [a-z]/ { print $1 } /^$/ && NR > 2 { exit }' >commands
while read -r command; do
    has "$doc/ascgrad.1" "^\.It Cm $command\$"
done <commands

# quiet COMMAND...: it finds nothing to say
quiet() {
    "$@" >said 2>&1 || fail "$*: exit status $?"
    [ ! -s said ] || { fail "$*:"; cat said; }
}
for page in "$doc/ascgrad.1" made/man/*.1; do
    if command -v mandoc >/dev/null; then
        mandoc -W warning -T lint "$page" 2>&1 | grep -E 'WARNING|ERROR|UNSUPP' >said
        [ ! -s said ] || { fail "mandoc: $page:"; cat said; }
    fi
    if command -v groff >/dev/null; then
        quiet groff -mandoc -Tutf8 -Kutf8 -ww -z "$page"
    fi
done

# ---- completions ----

if command -v bash >/dev/null; then
    PATH=$(dirname "$ASCGRAD"):$PATH bash -c '
        source made/completions/ascgrad
        complete_line() {
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
            _ascgrad 2>/dev/null
            echo "$*: ${COMPREPLY[*]}"
        }
        mkdir folder; touch file
        complete_line ascgrad tr
        complete_line ascgrad train --mod
        complete_line ascgrad train --model gr
        complete_line ascgrad train --model = gr
        complete_line ascgrad train --out f
        complete_line ascgrad train --data bui
        complete_line ascgrad bench l
        complete_line ascgrad bench train --vo
        complete_line ascgrad bench ops softp
        complete_line ascgrad eval --split t
        complete_line ascgrad eval fi
        complete_line ascgrad help ge' >completed
    cat >expected <<'END'
ascgrad tr: train
ascgrad train --mod: --model
ascgrad train --model gr: grassmann
ascgrad train --model = gr: grassmann
ascgrad train --out f: folder
ascgrad train --data bui: builtin
ascgrad bench l: layer
ascgrad bench train --vo: --vocab
ascgrad bench ops softp: softplus
ascgrad eval --split t: train test
ascgrad eval fi: file
ascgrad help ge: generate
END
    same completed expected
    diff expected completed
fi
if command -v fish >/dev/null; then
    PATH=$(dirname "$ASCGRAD"):$PATH HOME=$folder fish --no-config -c '
        source made/completions/ascgrad.fish
        for line in "ascgrad tr" "ascgrad train --model gr" "ascgrad bench train --vo" "ascgrad eval --split v"
            complete -C $line | string replace -r "\t.*" ""
        end' >completed
    printf 'train\ngrassmann\n--vocab\nvalid\n' >expected
    same completed expected
fi
if command -v zsh >/dev/null; then
    quiet zsh -n made/completions/_ascgrad
fi
exit $failed
