"""Byte-pair encoding by `ascgrad tokenize` and by Hugging Face's tokenizers. For tests/cli/tokenizers.sh."""
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

program = os.environ["ASCGRAD"]
source = pathlib.Path(os.environ["ASCGRAD_SOURCE"])


def lines(text):
    """The lines with their ends, which are newlines alone."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def ours(tokenizer, text):
    out = subprocess.run([program, "tokenize", "--tokenizer", f"bpe:{tokenizer}"], input=text.encode(), check=True,
                         capture_output=True).stdout
    return [[int(i) for i in line.split()] for line in out.decode().split("\n")[:-1]]


def compare(name, tokenizer, text):
    theirs = [e.ids for e in Tokenizer.from_file(tokenizer).encode_batch(lines(text))]
    for number, (got, want) in enumerate(zip(ours(tokenizer, text), theirs, strict=True), 1):
        if got != want:
            sys.exit(f"{tokenizer}: {name}, line {number}: {got[:20]}, expected {want[:20]}")


def drawn():
    """Characters from all over Unicode, with many spaces and quotes."""
    rng = random.Random(3)
    ranges = [(32, 127), (0xA0, 0x2000), (0x2000, 0xD800), (0xE000, 0x20000)]
    return "".join(rng.choice(" \t\n'") if rng.random() < 0.3 else chr(rng.randrange(*rng.choice(ranges)))
                   for _ in range(40000))


def corpus():
    file = pathlib.Path(os.environ.get("ASCGRAD_DATA", "")) / "wikitext-2" / "wiki.valid.tokens.gz"
    if file.is_file():
        return gzip.open(file, "rt", encoding="utf-8", newline="\n").read()
    return "".join((source / "doc" / name).read_text(encoding="utf-8") for name in ("guide.md", "results.md"))


texts = {
    "corpus": corpus(),
    "code": (source / "nn" / "lm.c").read_text(encoding="utf-8"),
    "Chinese, Japanese, Korean": "中文字符测试，这是一个例子。\n日本語のテキスト　全角\n한국어 문장 123 ４５６\n",
    "emoji": "😀😃 family 👨‍👩‍👧‍👦 flags 🇩🇪 e\u0301 é ﬁ ½ ²³ ٣٤ \u00a0nbsp\u2003em \u200bzw \x1c sep \x85 nel\n",
    "contractions": "I'll we've don't 'S 's 'REady  'll\n it''s  '\n",
    "white space": " a\n\n\n  b\t\t c   \n \u00a0 d\n\u00a0e\n\tf\n",
    "long words": "a" * 20000 + "\n" + " " * 5000 + "x\n" + "ab" * 10000,
    "drawn": drawn(),
}

for prefix in (False, True):
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    theirs.train_from_iterator(lines(texts["corpus"]), trainers.BpeTrainer(
        vocab_size=2000, min_frequency=2, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    theirs.save(f"theirs{prefix}.json")
    for name, text in texts.items():
        compare(name, f"theirs{prefix}.json", text)

with open("corpus.txt", "w", encoding="utf-8", newline="\n") as f:
    f.write(texts["corpus"])
subprocess.run([program, "tokenize", "--learn", "bpe", "--vocab-size", "2000", "-o", "ours.json", "corpus.txt"],
               check=True, stdout=subprocess.DEVNULL)
for name, text in texts.items():
    compare(name, "ours.json", text)
with open("ours.json", encoding="utf-8") as f, open("theirsFalse.json", encoding="utf-8") as g:
    if json.load(f)["model"]["vocab"] != json.load(g)["model"]["vocab"]:
        sys.exit("the vocabulary that was learned is another one than theirs")
