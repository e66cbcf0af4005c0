"""The validation perplexity of a run's model, by PyTorch and the oracle's code, to set beside `ascgrad eval`.

usage: torch_perplexity.py FOLDER_OF_MODELS_PY MODEL.safetensors IDS [BATCH]
IDS: a file of token ids, one stream, as `ascgrad tokenize` prints them.
"""
import json
import math
import struct
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, sys.argv[1])
import models

with open(sys.argv[2], "rb") as f:
    head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    data = f.read()
meta = head.pop("__metadata__")
kinds = {"F32": torch.float32, "F64": torch.float64}
P = {}
for name, t in head.items():
    begin, end = t["data_offsets"]
    P[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=kinds[t["dtype"]]).view(t["shape"])
cfg = json.loads(meta["config"])
ids = torch.tensor([int(i) for i in open(sys.argv[3]).read().split()])
L, batch = cfg["block"], int(sys.argv[4]) if len(sys.argv) > 4 else 16

total, count = 0.0, 0
with torch.no_grad():
    starts = list(range(0, len(ids) - 1, L))
    whole = [s for s in starts if s + L < len(ids)]
    groups = [whole[i:i + batch] for i in range(0, len(whole), batch)] + [[s] for s in starts if s + L >= len(ids)]
    for g in groups:
        end = min(g[0] + L, len(ids) - 1) - g[0]
        x = torch.stack([ids[s:s + end] for s in g])
        y = torch.stack([ids[s + 1:s + end + 1] for s in g])
        logits = models.lm_logits(P, cfg, x)
        total += F.cross_entropy(logits.reshape(-1, cfg["vocab"]).double(), y.reshape(-1), reduction="sum").item()
        count += y.numel()
print(json.dumps({"tokens": count, "loss": total / count, "ppl": math.exp(total / count)}))
