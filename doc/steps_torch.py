"""Training steps in PyTorch, beside those of `ascgrad bench train`: the Transformer with PyTorch's own attention, and
linear attention (elu + 1, causal) composed of its ops. Needs torch 2.

usage: steps_torch.py transformer|linear [--block 128] [--batch 32] [--layers 6] [--dim 256] [--heads 4]
                      [--vocab 30522] [--steps 6] [--threads 2] [--compile]

Forward, backward, clipping, AdamW, dropout on; prints tokens/s of the median step, the first two left out.
"""
import argparse
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

CHUNK = 64


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.o = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        B, N, D = x.shape
        q, k, v = self.qkv(x).view(B, N, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        return self.o(self.mix(q, k, v).transpose(1, 2).reshape(B, N, D))

    def mix(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class LinearAttention(Attention):
    """Within a chunk queries meet keys; a running sum over chunks stands for all keys before."""

    def mix(self, q, k, v):
        B, H, N, d = q.shape
        v = torch.cat([v, v.new_ones(B, H, N, 1)], -1)                # the last column sums the keys
        q, k, v = (t.view(B, H, N // CHUNK, CHUNK, -1) for t in (F.elu(q) + 1, F.elu(k) + 1, v))
        states = (k.transpose(-1, -2) @ v).cumsum(2)
        before = F.pad(states[:, :, :-1], (0, 0, 0, 0, 1, 0))
        y = (q @ k.transpose(-1, -2)).tril() @ v + q @ before
        return (y[..., :-1] / (y[..., -1:] + 1e-6)).reshape(B, H, N, d)


class Block(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.mix = {"transformer": Attention, "linear": LinearAttention}[o.model](o.dim, o.heads)
        self.norm1, self.norm2 = nn.LayerNorm(o.dim), nn.LayerNorm(o.dim)
        self.ffn = nn.Sequential(nn.Linear(o.dim, 4 * o.dim), nn.GELU(), nn.Linear(4 * o.dim, o.dim))
        self.dropout = nn.Dropout(.1)

    def forward(self, x):
        x = self.norm1(x + self.dropout(self.mix(x)))
        return self.norm2(x + self.dropout(self.ffn(x)))


class Model(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(o.vocab, o.dim), nn.Embedding(o.block, o.dim)
        self.blocks = nn.Sequential(*(Block(o) for _ in range(o.layers)))
        self.dropout = nn.Dropout(.1)
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=.02)

    def forward(self, x, y):
        h = self.blocks(self.dropout(self.tokens(x) + self.positions.weight))
        return F.cross_entropy((h @ self.tokens.weight.t()).flatten(0, 1), y.flatten())


def options():
    a = argparse.ArgumentParser()
    a.add_argument("model", choices=["transformer", "linear"])
    for name, value in dict(block=128, batch=32, layers=6, dim=256, heads=4, vocab=30522, steps=6, threads=2).items():
        a.add_argument(f"--{name}", type=int, default=value)
    a.add_argument("--compile", action="store_true")
    o = a.parse_args()
    if o.model == "linear" and o.block % CHUNK:
        a.error(f"--block is {o.block}, expected a multiple of {CHUNK}")
    return o


def main():
    o = options()
    torch.set_num_threads(o.threads)
    model = Model(o)
    optim = torch.optim.AdamW(model.parameters(), lr=3e-4)
    run, seconds = torch.compile(model) if o.compile else model, []
    for _ in range(o.steps + 2):
        x, y = torch.randint(o.vocab, (2, o.batch, o.block))
        begin = time.perf_counter()
        optim.zero_grad(set_to_none=True)
        run(x, y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optim.step()
        seconds.append(time.perf_counter() - begin)
    step = statistics.median(seconds[2:])
    print(f"{o.model}: {o.batch * o.block / step:.0f} tokens/s, {1e3 * step:.0f} ms a step, torch {torch.__version__}")


main()
