"""Encoders of Hugging Face's transformers, beside `ascgrad encode`. Needs torch and transformers.

usage: torch_encoder.py make bert|distilbert DTYPE FOLDER [KEY=VALUE...]   a small one with random weights
       torch_encoder.py states FOLDER SENTENCES MAX_TOKENS OUT.npz         the last hidden states of each line
       torch_encoder.py compare A.npz B.npz                                the largest difference, over the largest
       torch_encoder.py speed FOLDER SENTENCES [THREADS [RUNS]]            sentences per second, the best of the runs
"""
import json
import os
import sys
import time

import numpy as np
import torch
import transformers

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = """the man plays guitar woman sings is raining a music someone makes dog runs in park two children are outside
it no one old young red blue house with and ##ing ##ed ##er""".split()


def make(kind, dtype, folder, *settings):
    """The vocabulary has all small letters, so that little is unknown."""
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *".,!?'-0123456789", *LETTERS,
             *("##" + c for c in LETTERS), *(w for w in WORDS if w != "a")]
    given = dict(s.split("=") for s in settings)
    given = {k: json.loads(v) if v[:1] in "0123456789tf" else v for k, v in given.items()}
    torch.manual_seed(1)
    if kind == "bert":
        sizes = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
        config = transformers.BertConfig(**{**sizes, "vocab_size": len(vocab), "max_position_embeddings": 64,
                                            "initializer_range": 0.3, **given})
        model = transformers.BertModel(config, add_pooling_layer=False)
    else:
        sizes = dict(dim=16, n_layers=2, n_heads=2, hidden_dim=32)
        config = transformers.DistilBertConfig(**{**sizes, "vocab_size": len(vocab), "max_position_embeddings": 64,
                                                  "initializer_range": 0.3, **given})
        model = transformers.DistilBertModel(config)
    for name, parameter in model.named_parameters():  # norms and biases begin as 1 and 0, which hides much
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, float(name.endswith("norm.weight") or "LayerNorm.weight" in name), 0.2)
    model.to(getattr(torch, dtype)).save_pretrained(folder)
    with open(os.path.join(folder, "vocab.txt"), "w") as f:
        f.write("\n".join(vocab) + "\n")


def load(folder):
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    names = ("bert-uncased/vocab.txt", "vocab.txt")
    vocab = next(p for p in (os.path.join(folder, n) for n in ("vocab.txt", *("../" + n for n in names)))
                 if os.path.exists(p))
    lower = True
    settings = os.path.join(folder, "tokenizer_config.json")
    if os.path.exists(settings):
        lower = json.load(open(settings)).get("do_lower_case", True)
    return model, transformers.BertTokenizer(vocab, do_lower_case=lower)


def sentences(path):
    with open(path, encoding="utf-8", newline="\n") as f:
        return [line[:-1] if line.endswith("\n") else line for line in f]


def ids_of(tokenizer, texts, most):
    return [tokenizer(t, truncation=True, max_length=most)["input_ids"] for t in texts]


def batches(ids, tokens):
    """By length, the longest first, as sentence-transformers does; so many tokens in each."""
    order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
    while order:
        n = max(1, tokens // len(ids[order[0]]))
        yield order[:n]
        order = order[n:]


def run(model, ids, which):
    width = max(len(ids[i]) for i in which)
    x = torch.zeros(len(which), width, dtype=torch.long)
    mask = torch.zeros_like(x)
    for row, i in enumerate(which):
        x[row, : len(ids[i])] = torch.tensor(ids[i])
        mask[row, : len(ids[i])] = 1
    with torch.inference_mode():
        return model(input_ids=x, attention_mask=mask).last_hidden_state


def states(folder, path, most, out):
    model, tokenizer = load(folder)
    ids = ids_of(tokenizer, sentences(path), int(most))
    width = max(map(len, ids))
    values = np.zeros((len(ids), width, model.config.hidden_size), np.float32)
    for which in batches(ids, 4096):
        h = run(model, ids, which)
        for row, i in enumerate(which):
            values[i, : len(ids[i])] = h[row, : len(ids[i])].numpy()
    np.savez_compressed(out, states=values, lengths=np.array([len(i) for i in ids]))


def compare(a, b):
    a, b = np.load(a), np.load(b)
    assert (a["lengths"] == b["lengths"]).all(), np.flatnonzero(a["lengths"] != b["lengths"])
    error = abs(a["states"] - b["states"]).max() / abs(b["states"]).max()
    print(f"{error:.2e}")
    sys.exit(int(error > 1e-5))


def speed(folder, path, threads="2", runs="3"):
    """The best of several sizes of a batch."""
    torch.set_num_threads(int(threads))
    model, tokenizer = load(folder)
    ids = ids_of(tokenizer, sentences(path), 512)
    best = {}
    for _ in range(int(runs)):
        for tokens in (512, 1024, 2048, 4096):
            start = time.perf_counter()
            for which in batches(ids, tokens):
                run(model, ids, which)
            best[tokens] = min(best.get(tokens, 1e9), time.perf_counter() - start)
    tokens, seconds = min(best.items(), key=lambda x: x[1])
    total = sum(map(len, ids))
    print(f"torch {torch.__version__}: {len(ids) / seconds:.1f} sentences/s, {total / seconds:.0f} tokens/s, "
          f"batches of {tokens} tokens, {threads} threads")


{"make": make, "states": states, "compare": compare, "speed": speed}[sys.argv[1]](*sys.argv[2:])
