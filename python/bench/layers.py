"""Time and memory of ascgrad's layers beside the same in PyTorch alone, forward and backward, and of a call of an op.

    python3 python/bench/layers.py [--threads 2] [--width 256] [--repeat 5] [--only 32x128]

A row is a shape, a median of `repeat` after one to warm up, in milliseconds, and the most memory that the process of
the measurement had above what it had before, in MiB. Each measurement has a process of its own."""

import argparse
import math
import resource
import statistics
import subprocess
import sys
import time

SHAPES = ((32, 128), (8, 512), (4, 1024))
HEADS, NEIGHBORS = 4, 16


def torch_layers(width):
    """Attention and ASCender as PyTorch writes them, all heads at once."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
            return self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))

    def row_norm(b, allowed, n):
        b = b.masked_fill(~allowed, 0)
        b = (b - b.sum(-1, keepdim=True) / n).masked_fill(~allowed, 0)
        return b / (((b * b).sum(-1, keepdim=True) / n).clamp(min=1e-12).sqrt() + 1e-6)

    class ASCender(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))
            self.u, self.p = nn.Linear(width, width // 2, bias=False), nn.Linear(width, width // 2, bias=False)
            self.o = nn.Linear(width, width)
            for name, value in (
                ("la", 1.0),
                ("ls", 1.0),
                ("lc", 1.0),
                ("ts", 1.0),
                ("tc", 1.0),
                ("kappa", 32.0),
                ("delta", 0.2),
                ("aa", -1.0),
                ("ac", -1.0),
                ("wa", 0.1),
                ("ws", 0.1),
                ("wc", 0.1),
                ("t", 1.0),
            ):
                self.register_parameter(name, nn.Parameter(torch.full((HEADS, 1, 1), value)))

        def forward(self, x):
            N = x.shape[1]
            q, k, v, z, h = (
                f(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.q, self.k, self.v, self.u, self.p)
            )
            allowed = torch.ones(N, N, dtype=torch.bool).tril()
            n, off = allowed.sum(-1, keepdim=True).float(), allowed & ~torch.eye(N, dtype=torch.bool)
            h, kt = F.normalize(h, dim=-1), F.normalize(k, dim=-1)
            a = h @ h.transpose(-2, -1)
            values, index = a.detach().masked_fill(~off, -9).topk(min(NEIGHBORS, N), -1)
            near = torch.zeros_like(a).scatter(-1, index, (values > -2).float())
            count = near.sum(-1, keepdim=True).clamp(min=1)
            s = near @ kt
            align = F.normalize(s, dim=-1) @ kt.transpose(-2, -1)
            spread = 1 - (s / count).square().sum(-1, keepdim=True)
            d2 = (
                z.square().sum(-1, keepdim=True) + z.square().sum(-1).unsqueeze(-2) - 2 * z @ z.transpose(-2, -1)
            ).clamp(min=0)
            sep, coh = (torch.exp(-d2 / (t + 1e-6)) * allowed for t in (self.ts, self.tc))
            eta = ((sep * off).sum(-1, keepdim=True) / (self.kappa + 1e-6)).clamp(0, 1)
            phi = sep * F.relu(a - self.delta)
            weight = coh.sum(-1, keepdim=True) + 1e-6
            c = coh @ z / weight
            far = -(z.square().sum(-1).unsqueeze(-2) + c.square().sum(-1, keepdim=True) - 2 * c @ z.transpose(-2, -1))
            var = -(coh * far).sum(-1, keepdim=True) / weight
            b = self.wa * row_norm(self.la * torch.sigmoid(self.aa * spread) * align, allowed, n)
            b = b + self.ws * row_norm(-self.ls * eta * phi, allowed, n)
            b = b + self.wc * row_norm(self.lc * torch.sigmoid(self.ac * var) * far / (self.tc + 1e-6), allowed, n)
            scores = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]) + b) / (self.t + 1e-6)
            y = scores.masked_fill(~allowed, -math.inf).softmax(-1) @ v
            return self.o(y.transpose(1, 2).flatten(2))

    return {"Attention": Attention, "ASCender": ASCender}


def layer(which, name, width):
    if which == "torch":
        return torch_layers(width)[name]()
    import ascgrad.torch as at

    more = {"k": NEIGHBORS} if name == "ASCender" else {}
    return getattr(at, name)(width, heads=HEADS, **more)


def measure(which, name, batch, length, given):
    """Median seconds of a forward and backward pass, and the peak of memory above what was there before."""
    import torch

    import ascgrad as asc

    torch.set_num_threads(given.threads)
    asc.set_threads(given.threads)
    torch.manual_seed(1)
    module, x = layer(which, name, given.width), torch.randn(batch, length, given.width, requires_grad=True)
    before, times = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []
    for _ in range(given.repeat + 1):
        started = time.perf_counter()
        module(x).square().mean().backward()
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:]) * 1e3, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def overhead(rounds=400, calls=500):
    """Microseconds of tanh of 16 numbers, beside PyTorch's, each the best of many rounds."""
    import torch

    import ascgrad as asc

    cases = {}
    for grad in (False, True):
        what = ", recorded" if grad else ""
        cases[f"ascgrad{what}"] = asc.tanh, asc.tensor([0.5] * 16, dtype="f32", requires_grad=grad)
        cases[f"torch{what}"] = torch.tanh, torch.full((16,), 0.5, requires_grad=grad)
    best = dict.fromkeys(cases, math.inf)
    for _ in range(rounds):
        for name, (call, x) in cases.items():
            started = time.perf_counter()
            for _ in range(calls):
                call(x)
            best[name] = min(best[name], (time.perf_counter() - started) / calls)
    for name, seconds in best.items():
        print(f"tanh of 16 numbers, {name}: {seconds * 1e6:.2f} us")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("threads", 2), ("width", 256), ("repeat", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--only", help="one shape, as 32x128")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        which, name, batch, length = given.measure
        print(*measure(which, name, int(batch), int(length), given))
        return
    overhead()
    print(f"width {given.width}, {HEADS} heads, float32, {given.threads} threads; forward and backward")
    for batch, length in SHAPES:
        for name in ("Attention", "ASCender"):
            if given.only and given.only != f"{batch}x{length}":
                continue
            row = []
            for which in ("ascgrad", "torch"):
                said = subprocess.run(
                    [sys.executable, __file__, *sys.argv[1:], "--measure", which, name, str(batch), str(length)],
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout.split()
                row += [f"{which} {float(said[0]):9.1f} ms {float(said[1]):8.0f} MiB"]
            print(f"{batch:3}x{length:<5} {name:10} " + "   ".join(row), flush=True)


if __name__ == "__main__":
    main()
