#!/bin/sh
# Tasks, records and classifiers on the command line: training, evaluation by answers and classes, longer sequences.
. "$abs_top_srcdir/tests/program.sh"

small='--threads 1 --layers 1 --dim 16 --heads 2 --batch 16 --dropout 0 --lr 5e-3 --warmup 5'
small="$small --eval-every 20 --log-every 20"

# shellcheck disable=SC2086  # lists of options
train() { status 0 "$ASCGRAD" train $small "$@"; }

# a language model on a task: a block is a sequence, answers alone count; the same bits after an interruption
train --data task:majority:length=12,train=320,valid=50,test=40 --pos-emb false --steps 40 --out lm
grep -q '"block": 12,' lm/config.json || fail 'the block is not the sequence'
has lm/metrics.jsonl '"tokens": 3840, .*"tokens_per_s"'
tail -n 1 lm/metrics.jsonl >last
status 0 "$ASCGRAD" eval lm --json
json 'd["tokens"] == 50 and d["sequences"] == 50 and 0 <= d["accuracy"] <= 1 and d["exact"] == d["accuracy"]'
json "abs(d['accuracy'] - $(field valid_accuracy <last)) < 1e-8"
has last '"valid_exact": '
status 0 "$ASCGRAD" train --resume lm --json
json "abs(d['valid_accuracy'] - $(field valid_accuracy <last)) < 1e-8"
train --data task:majority:length=12,train=320,valid=50,test=40 --pos-emb false --steps 40 --out parts --minutes 0.00001
status 0 "$ASCGRAD" train --resume --out parts --minutes 0
same_run lm parts

# evaluations of the first sequences, a comparison sequence by sequence
train --data task:majority:length=12,train=320,valid=50,test=40 --pos-emb false --steps 20 --eval-tokens 100 --out some
status 0 "$ASCGRAD" compare some lm --json
json 'd["n"] == 40 and d["systems"][0]["block"] == 12'
status 0 "$ASCGRAD" eval some --json
json "abs(d['loss'] - $(tail -n 1 some/metrics.jsonl | field valid_loss)) > 1e-9"

# an answer that the model has no word for is not right, though the model says so
train --data task:mqar:vocab=64,train=64,valid=20,test=20 --pos-emb false --set positions=rotary --steps 1 --out keys
status 0 "$ASCGRAD" eval keys --data task:copy:length=8,valid=20,train=20,test=20 --json
json 'd["unknown"] == 1 and d["accuracy"] == 0 and d["exact"] == 0'

# lengths that vary: learned positions reach what the task can have, and the longest of records' test split
train --data task:listops:length=40,min=1,train=20,valid=5,test=5 --head classifier --steps 2 --out listops
grep -q '"block": 40,' listops/config.json || fail 'the block is not the longest that the task can have'
mkdir long
printf '{"prompt": "a", "answer": "b"}\n' | tee long/train.jsonl >long/valid.jsonl
printf '{"prompt": "a a a a a", "answer": "b"}\n' >long/test.jsonl
train --data long --steps 2 --out long-run
status 0 "$ASCGRAD" eval long-run --split test

# longer, and a list of lengths; each object says which
status 0 "$ASCGRAD" eval lm --length 24 --json
json 'd["length"] == 24 and d["sequences"] == 50'
status 0 "$ASCGRAD" eval lm --length 12,24,48 --json
json '[o["length"] for o in d["lengths"]] == [12, 24, 48] and all("accuracy" in o for o in d["lengths"])'
status 0 "$ASCGRAD" eval lm --split test --length 12,24
lines out 4
has out '^test at length 24: 40 tokens, '
has out '^the most probable token is right for .* % of them, and for all of a sequence in .* %; its probability is off'
status 2 "$ASCGRAD" eval lm --length 12,x
has err "length: got '12,x', expected at most"
status 2 "$ASCGRAD" eval lm --length 12,24 --per-token tokens.txt
has err 'one FILE holds one length'

# what learned positions do not reach, and a text that is longer than the block
train --preset tiny --data builtin:4000 --steps 2 --eval-every 0 --out learned
status 2 "$ASCGRAD" eval learned --length 64
has err 'length is 64, but the model has learned positions (pos_emb) for 32 tokens'
status 0 "$ASCGRAD" eval learned --length 16 --json
short=$(field tokens <out)
status 0 "$ASCGRAD" eval learned --json
[ "$(field tokens <out)" = "$short" ] || fail 'another length predicts other tokens'

# a classifier on the same data, and of pairs; its file alone
train --data task:majority:length=12,train=320,valid=50,test=40 --head classifier --mask full --steps 60 --out cls
has err ' eval cls --split test$'
lacks err ' generate cls'
has cls/metrics.jsonl '"valid_accuracy": '
lacks cls/metrics.jsonl valid_exact
status 0 "$ASCGRAD" eval cls --json --per-token classes.txt
lines classes.txt 50
json 'd["classes"] == ["a0", "a1"] and sum(map(sum, d["confusion"])) == 50'
json 'abs(d["accuracy"] - (d["confusion"][0][0] + d["confusion"][1][1]) / 50) < 1e-9 and d["accuracy"] > .8'
status 0 "$ASCGRAD" eval cls
has out '50 sequences, loss '
has out '^the most probable class is right for [0-9.]* % of them; its probability is off by [0-9.]* % (ECE)$'
has out '^ *a0 '
status 2 "$ASCGRAD" generate cls --prompt a0
has err '^ascgrad generate: cls is a classifier, which predicts no tokens; ascgrad eval has it tell classes$'
# one whose step is looked at first, and whose numbers are measured
train --model ascender --data task:majority:length=400,train=16,valid=4 --head classifier --mask full --dim 128 \
    --batch 64 --set freeze_inert=measured --minutes 0.00001 --out large
has large/config.json '"freeze_inert": false'
status 3 "$ASCGRAD" compare cls lm
has err 'cls and lm have different tokens, and cls has no scores of lines'
mkdir pairs
printf 'sentence1\tsentence2\tlabel\nthe dog\tthe dog\tsame\nthe cat\tthe dog\tother\n' >pairs/train.tsv
cp pairs/train.tsv pairs/dev.tsv
for mixing in transformer ascender grassmann linear; do
    extra='--heads 2'
    [ $mixing = grassmann ] && extra='--set r=4'
    # shellcheck disable=SC2086  # a list of options
    status 0 "$ASCGRAD" train --model $mixing --data pairs --head classifier --pool first --mask full $extra \
        --layers 1 --dim 8 --steps 3 --out "pairs-$mixing"
    cp "pairs-$mixing/model.safetensors" alone.safetensors
    status 0 "$ASCGRAD" eval alone.safetensors --data pairs --json
    json 'd["classes"] == ["other", "same"] and d["tokens"] == 2'
done
printf 'sentence1\tsentence2\tlabel\nthe dog\tthe dog\tsame\n' >dev.tsv
status 2 "$ASCGRAD" eval pairs-transformer --data dev.tsv
has err 'the model.s classes are \["other","same"\], and the data has \["same"\]'
status 0 "$ASCGRAD" eval pairs-transformer \
    --data 'dev.tsv:text=sentence1,text2=sentence2,label=label,classes=other|same'
status 2 "$ASCGRAD" eval pairs-transformer --length 9
has err 'length is 9, but the sequences of .*pairs have lengths of their own'

# questions with answers; the run finds its file from elsewhere
printf '{"question": "one and one", "answer": "two"}\n{"question": "no", "answer": "nothing at all"}\n' >qa.train.jsonl
mkdir qa elsewhere
mv qa.train.jsonl qa/train.jsonl
cp qa/train.jsonl qa/test.jsonl
cp qa/train.jsonl qa/valid.jsonl
train --data qa:prompt=question,answer=answer --steps 60 --lr 2e-2 --out answers
(cd elsewhere && "$ASCGRAD" eval ../answers --split test --json) >out 2>err || { fail 'from elsewhere'; cat err; }
json 'd["tokens"] == 6 and d["accuracy"] == 1 and d["exact"] == 1'
printf '{"question": "one"}\n' >>qa/test.jsonl
status 3 "$ASCGRAD" eval answers --split test
has err 'qa/test.jsonl: line 3: "answer" is missing'

# answers without a token leave nothing to learn, which is said before a training begins
mkdir mute
for split in train valid test; do
    printf '{"prompt": "a b", "answer": ""}\n{"prompt": "b a", "answer": ""}\n' >mute/$split.jsonl
done
printf '[UNK]\na\nb\n' >vocab
status 3 "$ASCGRAD" train --preset tiny --data mute --tokenizer wordpiece:vocab --steps 2 --out none
has err 'in the train split all tokens are given, expected some to predict$'

# a label "-" is a class of sentences; of pairs it is one that has none, and is told
mkdir -p signs/here=1
for split in train valid test; do
    i=0
    printf 'sentence\tlabel\n' >signs/here=1/$split.tsv
    printf 'premise\thypothesis\tlabel\n' >signs/$split.tsv
    while [ $((i += 1)) -le 20 ]; do
        printf 'so and so\t%s\n' "$([ $((i % 2)) = 0 ] && echo + || echo -)" >>signs/here=1/$split.tsv
        printf 'so\tand so\t%s\n' "$([ $((i % 4)) = 0 ] && echo - || echo $((i % 2)))" >>signs/$split.tsv
    done
done
classify="--head classifier --mask full --layers 1 --dim 8 --heads 2 --batch 4 --steps 2 --epochs 0 --warmup 0"
# shellcheck disable=SC2086  # a list of options
{
    # a folder with "=" in its name, and keys behind it
    status 0 "$ASCGRAD" train $classify --data signs/here=1/:text=sentence,label=label --out signed
    lacks err 'left out'
    status 0 "$ASCGRAD" eval signed --json
    json 'sum(map(sum, d["confusion"])) == 20 and sorted(d["classes"]) == ["+", "-"]'
    status 0 "$ASCGRAD" train $classify --data signs/ --out paired
    has err '^ascgrad train: 5 pairs for training and 5 for validation are left out, as they have no class$'
    # files of splits that are named: config.json has them by their whole paths
    data=signs/here=1/train.tsv:text=sentence,label=label,valid=signs/here=1/valid.tsv
    status 0 "$ASCGRAD" train $classify --data $data --out named
    (cd / && "$ASCGRAD" train --resume "$OLDPWD/named" --steps 3) >out 2>err || fail 'a run elsewhere lost its files'
}

# what does not go together
# shellcheck disable=SC2086  # lists of options
{
    status 2 "$ASCGRAD" train $small --data task:majority:length=12 --block 11 --out none
    has err 'block is 11, but each block is one sequence, and task:majority:length=12 has some of 12 tokens'
    has err 'expected --block 12 or more$'
    status 2 "$ASCGRAD" train --preset tiny --data task:mqar:pairs=2 --out none
    has err '^ascgrad train: block is 32, as the preset has it, but .*: expected --block 64 or more$'
    status 2 "$ASCGRAD" train $small --data builtin:4000 --head classifier --out none
    has err 'head is classifier, but what builtin:4000 has is no sequences with a class each'
    status 2 "$ASCGRAD" train $small --data task:majority --head classifier --set classes=3 --out none
    has err 'classes is 3, but task:majority has 2'
    status 2 "$ASCGRAD" train $small --data task:majority --head classifier --model grassmann --mask full \
        --set memory=true --out none
    has err 'memory is true, and mask full'
    status 2 "$ASCGRAD" train $small --data task:majority --head classifier --model conv --mask full --out none
    has err 'mask is full, and layer 0 is conv'
    status 2 "$ASCGRAD" train $small --data task:majority --mask full --out none
    has err 'looks ahead, which a language model must not'
    status 2 "$ASCGRAD" train $small --data task:majorty --out none
    has err "there is no task 'majorty'; did you mean 'majority'?"
}
exit $failed
