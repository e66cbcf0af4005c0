#!/bin/sh
# A trained model's losses up to a token stay the same to the bit when the tokens after it change.
. "$abs_top_srcdir/tests/program.sh"
set -e

mkdir data other
ruled_text 6000 >text
head -n 480 text >data/train.txt
tail -n 65 text >data/valid.txt
cut=40 # lines that stay; what follows is written backwards
{
    head -n $cut data/valid.txt
    sed "1,${cut}d" data/valid.txt | awk '{ for (i = NF; i > 0; i--) printf "%s%s", $i, (i > 1 ? " " : "\n") }'
} >other/valid.txt
cp data/train.txt other/train.txt

for model in "" \
    "--positions rotary --pos-emb false --block-norm pre" \
    "--positions alibi --set window=9 --set globals=2" \
    "--set window=5 --set random=3" \
    "--model ascender --set k=4 --set window=6 --set globals=1 --set random=2" \
    "--model ascender --set gate=after --set neighbors=hybrid_union --positions rotary" \
    "--model ascender --set variant=background --set heading=q --set window=7 --set coordinates=position" \
    "--model grassmann" \
    "--model grassmann --block-norm pre --set memory=true --set learned=true --set running_mean=true --set groups=2" \
    "--model grassmann --set r=8 --set tuples=[[1,2],[2,4]] --set groups=2" \
    "--mixing grassmann,transformer --set offsets=lags" \
    "--model grassmann --set pair=concat --set memory=true --set invariants=true --set smooth=0.1" \
    "--mixing linear,linear --set decay=gated --set feature=favor --set features=12" \
    "--mixing recurrent,conv --set width=3" \
    "--mixing transformer,linear,recurrent,grassmann --layers 4 --positions rotary --pos-emb false --carry 9"; do
    rm -rf run
    # shellcheck disable=SC2086  # a list of options
    "$ASCGRAD" train --preset tiny --data data --tokenizer word --steps 30 $model --out run 2>/dev/null >&2
    case $model in *carry*) carry=--carry ;; *) carry=--carry=0 ;; esac
    "$ASCGRAD" eval run --split valid "$carry" --per-token before >/dev/null
    "$ASCGRAD" eval run --data other --split valid "$carry" --per-token after >/dev/null
    same=$(($(head -n $cut data/valid.txt | wc -w) + cut - 1)) # words and ends of lines, but the first word
    head -n $same before >before.same
    head -n $same after >after.same
    cmp before.same after.same
    if cmp -s before after; then
        echo "the losses after the change are the same, too: nothing was tested"
        exit 1
    fi
done
