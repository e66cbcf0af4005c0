# tests/program.sh: what the scripts that run the program share; sourced by them.
set -u
LC_ALL=C # awk and printf write a decimal point, sort and ranges go by bytes
export LC_ALL
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 99
failed=0
# A script that draws says with what: a machine may have no gnuplot.
export ASCGRAD_GNUPLOT=none/gnuplot

# stand_in_plotter: figures are drawn by one that only notes that it was called.
stand_in_plotter() {
    printf '#!/bin/sh\ncat >/dev/null\necho "<svg>drawn</svg>"\n' >plotter
    chmod +x plotter
    export ASCGRAD_GNUPLOT=./plotter
}

# fail TEXT: one more thing that does not hold.
fail() {
    echo "$*"
    failed=1
}

# status WANTED COMMAND...: runs it, keeps its output in the files out and err.
status() {
    wanted=$1
    shift
    "$@" >out 2>err
    got=$?
    [ "$got" -eq "$wanted" ] && return
    fail "$*: exit status $got, expected $wanted"
    cat out err
}

# has FILE PATTERN: a line of the file matches.
has() {
    grep -q -e "$2" "$1" && return
    fail "no line of $1 matches '$2':"
    cat "$1"
}

# lacks FILE PATTERN
lacks() {
    grep -q -e "$2" "$1"
    case $? in
    0) fail "a line of $1 matches '$2':" && cat "$1" ;;
    1) ;;
    *) fail "$1 can't be searched for '$2'" ;;
    esac
}

# lines FILE N
lines() {
    [ "$(wc -l <"$1")" -eq "$2" ] || { fail "$1 has $(wc -l <"$1") lines, expected $2:"; cat "$1"; }
}

# answered FILE N: a program in the background writes N lines before ten seconds are over.
answered() {
    tenths=0
    until [ "$(wc -l <"$1")" -ge "$2" ] || [ $tenths -eq 100 ]; do
        sleep 0.1
        tenths=$((tenths + 1))
    done
    lines "$1" "$2"
}

# same FILE FILE: to the byte.
same() {
    cmp -s "$1" "$2" || fail "$1 and $2 differ"
}

# left_out TEXT: a part that can't be checked on this machine; the log says so, and the rest is checked.
left_out() {
    echo "skipped: $*"
}

# have_python [MODULE]: there is a Python (another one: PYTHON) that runs, with the module.
python=${PYTHON-python3}
have_python() {
    "$python" -c "import ${1-sys}" >/dev/null 2>&1
}

# field NAME <JSON: the value of a number.
field() {
    sed -n 's/.*"'"$1"'": *\([-+0-9.e]*\).*/\1/p'
}

# json CONDITION: python3 finds that the object in the file out, d, fulfils it; without python3 that is left out.
json() {
    have_python || { left_out "needs Python: $1" && return; }
    "$python" -c "
import json, sys
d = json.load(open('out'))
sys.exit(not ($1))" || { fail "not so: $1"; head -c 2000 out; }
}

# timeless RUN: its metrics without the times.
timeless() {
    sed 's/"tokens_per_s": [^,]*, "elapsed_s": [^,}]*//' "$1/metrics.jsonl"
}

# same_run RUN RUN: the same model and, times aside, metrics.
same_run() {
    same "$1/model.safetensors" "$2/model.safetensors"
    timeless "$1" >metrics.1
    timeless "$2" >metrics.2
    cmp -s metrics.1 metrics.2 || { fail "metrics of $1 and $2 differ:"; diff metrics.1 metrics.2 | head; }
}

# ruled_text WORDS: words that follow one another by a rule, so that there is something to learn; eleven a line.
ruled_text() {
    awk -v words="$1" 'BEGIN {
        for (i = 0; i < words; i++) {
            s = (s * 7 + i % 13) % 97
            printf "w%d%s", s, i % 11 == 10 ? "\n" : " "
        }
    }'
}

# unchecked MODEL: the model without version and checksums, as another program writes it, on stdout; keys of the
# same length take their place, as the header's length stands before it.
unchecked() {
    LC_ALL=C sed -e 's/"format_version"/"xxxxxx_version"/' -e 's/"asc_crc32/"xxx_crc32/g' "$1"
}

# Some settings that take no time.
tiny='--preset tiny --data builtin:8000 --tokenizer word'
