# shellcheck shell=sh
# Sourced: seeds TARGET FOLDER writes what the target starts from: files of the source tree and small ones made here.

# seed FOLDER NAME PREFIX FILE: the file behind a byte, in octal, or behind none.
seed() {
    { [ -z "$3" ] || printf "\\$3"; cat "$4"; } >"$1/$2"
}

seeds() {
    tree=$abs_top_srcdir mkdir_p=$2
    mkdir -p "$mkdir_p"
    case $1 in
    safetensors | parity) cp "$tree"/tests/parity/conv.safetensors "$tree"/tests/parity/recurrent.safetensors \
        "$tree"/tests/parity/links-attention.safetensors "$2" ;;
    npz) cp "$tree/tests/train/encoder/states.npz" "$2" ;;
    experiment) cp "$tree"/experiments/*.json "$2" ;;
    settings) cp "$tree/tests/data/format1/config.json" "$2"
        printf '{"layers": 1, "d_model": 8, "heads": 2, "vocab": 9, "block": 8, "mix": "transformer"}' >"$2/model" ;;
    metrics) cp "$tree/tests/data/format1/metrics.jsonl" "$2" ;;
    encoder) seed "$2" config 0 "$tree/tests/train/encoder/config.json"
        seed "$2" weights 1 "$tree/tests/train/encoder/model.safetensors"
        seed "$2" vocab 2 "$tree/tests/train/encoder/vocab.txt" ;;
    model) seed "$2" alone 0 "$tree/tests/data/format1/model.safetensors"
        printf '\003word' >"$2/pair" ;;
    run) printf '\003\001\000\0002' >"$2/pair"
        printf '\000\002\001\0001e9' >"$2/overwrite"
        printf '\001\000\000\000<unk>\nthe\n' >"$2/vocab"
        printf '\002\000\000\000{"step": 1, "loss": 2.5}\n' >"$2/metrics" ;;
    vocabulary) seed "$2" words 0 "$tree/tests/data/format1/vocab.txt"
        seed "$2" pieces 1 "$tree/tests/train/encoder/vocab.txt" ;;
    text) printf 'the cat sat\n\non the mat\n' >"$2/plain"
        gzip -nc "$2/plain" >"$2/packed" ;;
    records) printf '\000{"text": "a b", "label": "x"}\n{"text": "c", "label": "y"}\n' >"$2/json"
        printf '\001text\tlabel\na b\tx\nc\ty\n' >"$2/table"
        printf '\002{"sentence1": "a", "sentence2": "b", "gold_label": "neutral"}\n' >"$2/pairs" ;;
    bpe) "${ASCGRAD-$PWD/ascgrad}" tokenize --learn bpe --vocab-size 270 -o "$2/tokenizer.json" "$tree/LICENSE" ;;
    esac
}
