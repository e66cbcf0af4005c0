"""The validation perplexity of a run's model, by PyTorch and the oracle's layers, to set beside `ascgrad eval`.

usage: torch_perplexity.py FOLDER_OF_MODELS_PY MODEL.safetensors IDS [BATCH [f64]]
IDS: a file of token ids, one stream, as `ascgrad tokenize` prints them.
"""
import json
import math
import struct
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, sys.argv[1])
import mixings
import models

with open(sys.argv[2], "rb") as f:
    head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    data = f.read()
meta = head.pop("__metadata__")
kinds = {"F32": torch.float32, "F64": torch.float64}
double = sys.argv[5:] == ["f64"]
P = {}
for name, t in head.items():
    begin, end = t["data_offsets"]
    P[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=kinds[t["dtype"]]).view(t["shape"])
    P[name] = P[name].double() if double else P[name]
cfg = json.loads(meta["config"])
ids = torch.tensor([int(i) for i in open(sys.argv[3]).read().split()])
L, batch = cfg["block"], int(sys.argv[4]) if len(sys.argv) > 4 else 16

layers = {"transformer": models.attention, "grassmann": models.grassmann, "linear": mixings.linear_attention,
          "recurrent": mixings.recurrent, "conv": mixings.conv,
          "ascender": lambda t, p, c: models.ascender(t, p, c)[0]}


def norm(h, name):
    return F.layer_norm(h, (cfg["d_model"],), P[name + ".weight"], P[name + ".bias"], 1e-5)


def mix(h, l):
    c = dict(cfg)
    if any(isinstance(o, list) for o in cfg.get("offsets", [])):
        c["offsets"] = cfg["offsets"][l]
    own = f"blocks.{l}.mix."
    p = {k[len(own):]: v for k, v in P.items() if k.startswith(own)}
    return layers[models.at(cfg["mix"], l)](h, p, c)


def ffn(h, l):
    lin = lambda n, t: t @ P[f"blocks.{l}.ffn.{n}.weight"].t() + P[f"blocks.{l}.ffn.{n}.bias"]
    return lin("fc2", F.gelu(lin("fc1", h)))


def logits(x):
    """Pre-norm with any mixing and a norm on the embeddings; else the oracle's own model."""
    if cfg["block_norm"] != "pre":
        return models.lm_logits(P, cfg, x)
    h = P["tok_emb.weight"][x]
    if "pos_emb.weight" in P:
        h = h + P["pos_emb.weight"][: x.size(1)]
    h = norm(h, "emb_norm") if cfg.get("emb_norm") else h
    for l in range(cfg["layers"]):
        h = h + mix(norm(h, f"blocks.{l}.norm1"), l)
        h = h + ffn(norm(h, f"blocks.{l}.norm2"), l)
    return norm(h, "norm_f") @ P["tok_emb.weight"].t()


total, count = 0.0, 0
with torch.no_grad():
    starts = list(range(0, len(ids) - 1, L))
    whole = [s for s in starts if s + L < len(ids)]
    groups = [whole[i:i + batch] for i in range(0, len(whole), batch)] + [[s] for s in starts if s + L >= len(ids)]
    for g in groups:
        end = min(g[0] + L, len(ids) - 1) - g[0]
        x = torch.stack([ids[s:s + end] for s in g])
        y = torch.stack([ids[s + 1:s + end + 1] for s in g])
        scores = logits(x)
        total += F.cross_entropy(scores.reshape(-1, cfg["vocab"]).double(), y.reshape(-1), reduction="sum").item()
        count += y.numel()
print(json.dumps({"tokens": count, "loss": total / count, "ppl": math.exp(total / count)}))
