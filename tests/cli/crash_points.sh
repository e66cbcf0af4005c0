# shellcheck shell=sh
# Sourced by crashes*.sh: works that are killed, or whose calls fail, at each of the calls that change files or make
# processes (disk_shim.c). They can be gone on with to the same bits, nothing is lost, and nothing is left lying about.
. "$abs_top_srcdir/tests/program.sh"
. "$abs_top_srcdir/tests/cli/experiment_runs.sh"
XDG_CACHE_HOME=$folder/cache
export XDG_CACHE_HOME

# shellcheck disable=SC2086
$CC -shared -fPIC -o shim.so "$abs_top_srcdir/tests/cli/disk_shim.c" -ldl 2>shim.err || {
    cat shim.err
    echo 'skipped: no shared object by '"$CC"
    exit 77
}

# shimmed AT FAULT COMMAND...
shimmed() {
    shim_at=$1 shim_fault=$2
    shift 2
    printf '\0\0\0\0' >count
    : >calls
    env SHIM_COUNT="$folder/count" SHIM_LOG="$folder/calls" SHIM_AT="$shim_at" \
        SHIM_FAULT="$shim_fault" LD_PRELOAD=./shim.so "$@"
}
shimmed 1 EIO "$ASCGRAD" train $tiny --out never 2>/dev/null
[ -s calls ] || { echo 'skipped: nothing can be loaded before this program'; exit 77; }

# ---- the works: what stands there before, the command, what goes on after it, what must come of it ----

short="$tiny --layers 1 --dim 8 --heads 1 --batch 2 --block 8 --threads 1 --eval-tokens 50"
often='--schedule-steps 4 --eval-every 2 --checkpoint-every 1 --log-every 1'
encoder=$abs_top_srcdir/tests/train/encoder
for i in 1 2 3 4 5 6; do
    echo "{\"gold_label\": \"neutral\", \"sentence1\": \"a man plays $i\", \"sentence2\": \"he rests\"}"
    echo "{\"gold_label\": \"entailment\", \"sentence1\": \"a girl sings $i\", \"sentence2\": \"she sings\"}"
done >pairs.jsonl
cat >few.json <<'END'
{"name": "few", "common": {"preset": "tiny", "data": "builtin:2000", "tokenizer": "byte", "steps": 2, "layers": 1,
            "dim": 8, "heads": 1, "batch": 2, "block": 8, "eval-tokens": 50, "checkpoint-every": 1},
 "systems": {"t": {"model": "transformer"}}, "seeds": [1], "tune": {"grid": {"lr": [0.003, 0.01]}, "steps": 2}}
END

first_train="train $short $often --steps 4 --out run"
again_train='train --resume run'
first_resume='train --resume run --steps 4'
again_resume=$first_resume
first_nli="nli train --encoder $encoder --train pairs.jsonl --valid pairs.jsonl --mix transformer --layers 1 --dim 8
    --heads 1 --ffn 8 --head-ffn 8 --batch 6 --threads 1 --steps 2 --eval-every 1 --checkpoint-every 1 --out run"
again_nli='nli train --resume run'
first_experiment='experiment run few.json --out run'
again_experiment=$first_experiment

# faults WORK: without power all processes of an experiment end, of which a fault has one.
faults() {
    echo before middle after EIO ENOSPC
    [ "$1" = experiment ] || echo power
}

# prepare WORK
prepare() {
    rm -rf run cache
    [ "$1" != resume ] || cp -r saved run
}

# finish WORK: what goes on after a fault, to the end.
finish() {
    eval "again=\$again_$1 first=\$first_$1"
    [ "$1" = experiment ] || [ -e run/config.json ] || again=$first
    # shellcheck disable=SC2086
    status 0 shimmed 0 none "$ASCGRAD" $again
    [ "$1" = experiment ] || [ "$again" != "$first" ] || status 0 shimmed 0 none "$ASCGRAD" train --resume run
}

# names FOLDER: of all that is in it.
names() {
    (cd "$1" && find . | sort)
}

# begin WORK: does it without a fault, to `whole-WORK`; `calls` is the number of its calls.
begin() {
    # shellcheck disable=SC2086
    [ "$1" != resume ] || status 0 shimmed 0 none "$ASCGRAD" train $short $often --steps 2 --out saved
    prepare "$1"
    eval "first=\$first_$1"
    # shellcheck disable=SC2086
    status 0 shimmed 0 none "$ASCGRAD" $first
    calls=$(wc -l <calls)
    finish "$1"
    rm -rf "whole-$1" && cp -r run "whole-$1"
    names "whole-$1" >"names-$1"
}

# told: a line names a file, or what could not be had, and the reason.
told() {
    grep -q "^ascgrad .*: .*: \(Input/output error\|No space left on device\)" err
}

# try WORK FAULT N
try() {
    prepare "$1"
    eval "first=\$first_$1"
    # shellcheck disable=SC2086
    shimmed "$3" "$2" "$ASCGRAD" $first >out 2>err
    got=$?
    what="$1, $2 at $(sed -n "$3p" calls)"
    # A claim that does not say whose it is may be a living process': it is let be for a minute, which is over now.
    find run \( -name '*tmp' -o -name '*.over' -o -name running \) -exec touch -t 202001010000 {} + 2>/dev/null
    case $2:$got in
    E*:0 | [a-z]*:137) ;;
    E*:3) told || { fail "$what: not told in one line:"; cat err; } ;;
    *) [ "$1" = experiment ] || { fail "$what: exit status $got"; cat err; } ;;
    esac
    if [ -e run/config.json ]; then
        status 0 "$ASCGRAD" verify run
        [ "$1" != resume ] || [ -s run/model.safetensors ] || [ -s run/model.kept.safetensors ] ||
            fail "$what: the model is lost"
    fi
    before=$failed failed=0
    finish "$1"
    if [ "$1" = experiment ]; then
        same_experiment whole-experiment run
    else
        same_run "whole-$1" run
    fi
    names run | diff "names-$1" - >changes || {
        case $what in
        # what could not be removed, and a claim that only could be emptied, stay in a run with which nobody goes on
        'experiment, E'*' unlink '* | 'experiment, E'*/running.*.over*) ;;
        *)
            fail 'what lies in the folder is not the same:'
            cat changes
            ;;
        esac
    }
    [ $failed -eq 0 ] || fail "$what: see above"
    failed=$((failed | before))
}
