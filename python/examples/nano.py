"""A small language model in PyTorch whose mixing is one of ascgrad's: nano.py [MIXING] [--steps N] …

MIXING is Attention, ASCender, Grassmann, LinearAttention, Conv or Recurrent, or torch, PyTorch's own attention."""

import argparse
import math
import time

import torch
from torch import nn
from torch.nn import functional as F

import ascgrad as asc
import ascgrad.torch as at


class OwnAttention(nn.Module):
    """PyTorch's attention, to compare with."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.qkv, self.o = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


def mixing(name, dim, heads):
    if name == "torch":
        return OwnAttention(dim, heads)
    cls = getattr(at, name)
    return cls(dim, heads=heads) if name in ("Attention", "ASCender", "LinearAttention") else cls(dim)


class Block(nn.Module):
    def __init__(self, name, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mix = mixing(name, dim, heads)  # the one line
        self.ffn = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.mix(self.norm1(x))
        return x + self.ffn(self.norm2(x))


class Nano(nn.Module):
    def __init__(self, name, vocab, dim, heads, layers, block):
        super().__init__()
        self.embed, self.positions = nn.Embedding(vocab, dim), nn.Embedding(block, dim)
        self.blocks = nn.Sequential(*(Block(name, dim, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens) + self.positions.weight[: tokens.shape[1]]
        return self.head(self.norm(self.blocks(x)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mixing", nargs="?", default="ASCender")
    for name, value in (("steps", 200), ("dim", 128), ("heads", 4), ("layers", 4), ("block", 64), ("batch", 16)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--data", default="builtin:200000")
    given = parser.parse_args()

    torch.manual_seed(1)
    data = asc.Dataset(given.data)
    words = data.collect(asc.Tokenizer("word"))
    split = data.split("train", words)
    model = Nano(given.mixing, words.size, given.dim, given.heads, given.layers, given.block)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    started, step, first = time.time(), 0, None
    while step < given.steps:
        for x, y in split.batches(given.block, given.batch, epoch=step):
            logits = model(torch.from_numpy(x))
            loss = F.cross_entropy(logits.flatten(0, 1), torch.from_numpy(y).flatten(), ignore_index=-1)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            first, step = first or loss.item(), step + 1
            if step % 20 == 0 or step == given.steps:
                print(
                    f"step {step}: loss {loss.item():.3f}, {(time.time() - started) / step * 1e3:.0f} ms a step",
                    flush=True,
                )
            if step == given.steps:
                break
    print(
        f"{given.mixing}: the loss fell from {first:.3f} to {loss.item():.3f}; perplexity {math.exp(loss.item()):.1f}"
    )


if __name__ == "__main__":
    main()
