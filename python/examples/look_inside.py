"""What an ASCender layer attends to, before and after some training: look_inside.py [FILE.png]. Needs matplotlib.

The sequences repeat themselves after eight tokens; a layer that has learned that looks eight tokens back."""

# %% a model, and sequences
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import ascgrad as asc

rng = np.random.default_rng(1)
asc.manual_seed(1)
lm = asc.LM({"mix": "ascender", "d_model": 32, "d_ff": 64, "layers": 2, "heads": 2, "vocab": 16, "block": 24, "k": 4})


def sequences(n):
    return np.tile(rng.integers(0, 16, (n, 8)), (1, 4))[:, :25]


def attention(tokens):
    return lm.inspect(tokens, layer=1)["attn"].numpy()[0].mean(0)


# %% training
example = sequences(1)[:, :24]
before, losses = attention(example).copy(), []
optimizer = asc.AdamW(lm.parameters(), lr=3e-3)
for _ in range(150):
    tokens = sequences(16)
    loss = lm.objective(tokens[:, :-1], tokens[:, 1:])
    loss.backward()
    optimizer.step(clip=1.0)
    optimizer.zero_grad()
    lm.project()
    losses.append(loss.item())

# %% figures
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for axis, values, title in ((axes[0], before, "attention, before"), (axes[1], attention(example), "and after")):
    axis.imshow(values, cmap="viridis")
    axis.set(title=title, xlabel="looked at", ylabel="token")
axes[2].plot(losses)
axes[2].set(title="loss", xlabel="step", ylabel="nats a token")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "look_inside.png", dpi=120)
print(f"the loss fell from {losses[0]:.2f} to {losses[-1]:.2f}")
