#!/bin/sh
# A training under mpirun: the same run for any number of processes, resumed with others, and what goes wrong said once.
. "$abs_top_srcdir/tests/program.sh"
. "$abs_top_srcdir/tests/ranks.sh"

# on N ARGUMENT...: train on N processes.
on() {
    ranks=$1
    shift
    "$mpirun" -n "$ranks" "$ASCGRAD" train --rank-timeout 60 "$@"
}

# the same for 1, 2 and 4 processes; one of them speaks
# shellcheck disable=SC2086
status 0 "$ASCGRAD" train $settings --steps 8 --out one
for n in 2 4; do
    # shellcheck disable=SC2086
    status 0 on $n $settings --steps 8 --out "on-$n"
    same_run one "on-$n"
    [ "$(grep -c 'done after step 8' out)" -eq 1 ] || fail "the result of $n processes is not told once"
done
# shellcheck disable=SC2086
status 0 on 4 $settings --steps 8 --shard-optimizer --out divided
same_run one divided

# resumed with other numbers
# shellcheck disable=SC2086
status 0 on 4 $settings --steps 2 --out part
status 0 "$ASCGRAD" train --resume part --steps 4
status 0 on 2 --resume part --steps 8
same_run one part

# wrong usage is one line of one process
# shellcheck disable=SC2086
status 2 on 3 $settings --steps 8 --out wrong
has err 'shards is 4, expected a multiple of the 3 processes'
[ "$(grep -c 'expected a multiple' err)" -eq 1 ] || fail "told more than once: $(cat err)"
status 2 on 2 --stepz 8 --out wrong
has err 'did you mean --steps'
[ "$(grep -c 'did you mean' err)" -eq 1 ] || fail "told more than once: $(cat err)"
status 2 on 2 --model nonsense --data builtin:3000 --out wrong
lacks err 'nothing is saved'

# what is asked for is said once
for question in "train --help" "nli train --preset list --json" --version help; do
    # shellcheck disable=SC2086
    "$ASCGRAD" $question >told
    # shellcheck disable=SC2086
    status 0 "$mpirun" -n 3 "$ASCGRAD" $question
    same told out
done

# begun by another MPI's launcher, each process would be alone
case $mpi in
MPICH*) began='OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0' ;;
*) began='PMI_SIZE=2 PMI_RANK=0' ;;
esac
# shellcheck disable=SC2086
status 3 env $began "$ASCGRAD" train $settings --steps 8 --out alone
has err 'the launcher began several processes, and .* knows of one'
[ ! -e alone ] || fail "a process of another launcher trains"

# a command that is not shared runs once
status 0 "$mpirun" -n 2 "$ASCGRAD" eval one --data builtin:3000 --json
[ "$(grep -c '"ppl"' out)" -eq 1 ] || fail "two evaluations"

# pairs of sentences, whose states one process computes for all
XDG_CACHE_HOME=$folder/cache
export XDG_CACHE_HOME
awk 'BEGIN {
    split("entailment neutral contradiction", label)
    split("plays sings rests", does)
    for (i = 0; i < 60; i++) {
        printf "{\"gold_label\": \"%s\", ", label[i % 3 + 1]
        printf "\"sentence1\": \"a girl %s\", ", does[i * 7 % 3 + 1]
        printf "\"sentence2\": \"a girl %s\"}\n", does[(i * 7 + i) % 3 + 1]
    }
}' >pairs.jsonl
cp -r "$abs_top_srcdir/tests/train/encoder" .
pairs="--encoder encoder --train pairs.jsonl --valid pairs.jsonl --mix transformer
    --epochs 2 --threads 1 --dim 16 --ffn 16 --head-ffn 16 --batch 8 --shards 4 --log-every 1"
# shellcheck disable=SC2086
status 0 "$ASCGRAD" nli train $pairs --out pairs-one
rm -r cache
# shellcheck disable=SC2086
status 0 "$mpirun" -n 2 "$ASCGRAD" nli train $pairs --out pairs-two
same_run pairs-one pairs-two

# data, vocabulary and encoder that rank 0 alone can find: the others have another folder, with no data in it
mkdir with without
cp pairs.jsonl with
cp -r "$abs_top_srcdir/tests/train/encoder" with
awk 'BEGIN { for (i = 0; i < 900; i++) printf "w%d%s", i * i % 31, i % 10 == 9 ? "\n" : " " }' >with/text
cat >apart <<'END'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-$PMI_RANK}}
if [ "$rank" -eq 0 ]; then cd with || exit 9; else cd without || exit 9; fi
exec "$@"
END
chmod +x apart
text="${settings#*builtin:3000} --tokenizer word --steps 4"
# shellcheck disable=SC2086
status 0 "$ASCGRAD" train --data with/text $text --out text-one
# shellcheck disable=SC2086
status 0 "$mpirun" -n 2 ./apart "$ASCGRAD" train --data text --data-from-rank 0 $text --out "$PWD/text-two"
same_run text-one text-two
status 0 "$mpirun" -n 2 "$ASCGRAD" train --resume text-two --steps 6
# shellcheck disable=SC2086
status 3 "$mpirun" -n 2 ./apart "$ASCGRAD" train --data text $text --out "$PWD/text-three"
has err 'rank 1: text: can.t open'
# shellcheck disable=SC2086
status 3 "$mpirun" -n 2 ./apart "$ASCGRAD" train --data gone --data-from-rank 0 $text --out "$PWD/text-three"
[ "$(grep -c 'gone: can.t open' err)" -eq 1 ] || fail "told more than once: $(cat err)"
pairs="--encoder encoder --train pairs.jsonl --valid pairs.jsonl ${pairs#*--valid pairs.jsonl}"
# shellcheck disable=SC2086
status 0 "$mpirun" -n 2 ./apart "$ASCGRAD" nli train --data-from-rank 0 $pairs --out "$PWD/pairs-three"
same_run pairs-one pairs-three
# a block as long as the longest sequence, which the others hear of
text="${text%%--block*}${text#*--block 8} --set head=classifier"
# shellcheck disable=SC2086
status 0 "$ASCGRAD" train --data with/pairs.jsonl:valid=with/pairs.jsonl $text --out class-one
# shellcheck disable=SC2086
status 0 "$mpirun" -n 2 ./apart "$ASCGRAD" train --data pairs.jsonl:valid=pairs.jsonl --data-from-rank 0 $text \
    --out "$PWD/class-two"
same_run class-one class-two

# the runs of an experiment are taken in turn, each by one process
cat >e.json <<'END'
{"common": {"data": "builtin:3000", "layers": 1, "heads": 2, "dim": 16, "block": 8, "batch": 8, "steps": 8},
 "systems": {"a": {"model": "transformer"}, "b": {"model": "conv"}}, "seeds": [1, 2]}
END
status 0 "$mpirun" -n 2 "$ASCGRAD" experiment run e.json --out e
[ "$(grep -c ': done, valid perplexity' err)" -eq 4 ] || fail "not each run once: $(cat err)"
status 0 "$ASCGRAD" experiment status e
has out '4 done'

exit $failed
