"""examples/digits.c in PyTorch: the same images, network, optimiser and batches of 64. Prints the same two figures;
needs torch. doc/guide.md has the result.

usage: digits_torch.py [THREADS]"""
import sys
import time

import torch

TRAIN, ALL, EPOCHS = 1600, 2000, 10
DIGITS = ["NQSUYQN", "DLDDDDN", "NQABDH_", "_BDBAQN", "BFJR_BB", "_P^AAQN", "FHP^QQN", "_ABDHHH", "NQQNQQN", "NQQOABL"]


def draw():
    image, random = [], 1
    for p in range(64 * ALL):
        i, line = p // 64, p // 8 % 8
        row = (ord(DIGITS[i % 10][line]) & 31 if line < 7 else 0) << i // 10 % 4
        random = (random * 1664525 + 1013904223) % 2**32
        image.append((row >> (7 - p % 8) & 1) + (random >> 8) * 2.0**-24)
    return torch.tensor(image).reshape(ALL, 64), torch.arange(ALL) % 10


torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
torch.manual_seed(0)
x, y = draw()
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
optim = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0)
start = time.process_time()
for _ in range(EPOCHS):
    for rows in torch.randperm(TRAIN).split(64):
        torch.nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
        optim.step()
        optim.zero_grad()
print(f"{1e3 * (time.process_time() - start) / EPOCHS:.2f} ms per epoch")
with torch.no_grad():
    print(f"accuracy {100 * (net(x[TRAIN:]).argmax(1) == y[TRAIN:]).double().mean():.1f} %")
