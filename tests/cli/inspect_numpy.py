"""What `ascgrad inspect` wrote and printed, found again from the parts by NumPy's means. For tests/cli/inspect.sh."""
import csv
import json

import numpy as np


def close(name, got, expected, tolerance=2e-6):
    error = np.nanmax(np.abs(np.asarray(got, float) - np.asarray(expected, float)))
    assert np.shape(got) == np.shape(expected) and error < tolerance, (name, error)


# S = S^base + Σ ω β̃, A = softmax(S/(τ + ε)), and what is said about A
look, layer = np.load("swarm-look.npz"), json.load(open("swarm.json"))["layers"][1]
per_head = lambda key: np.array(layer[key])[:, None, None]
kinds = "align", "sep", "coh"
close("S", sum((per_head("omega_" + k) * look["b_" + k] for k in kinds), look["s_base"]), look["s"])
H, N, _ = look["s"].shape
i, j = np.arange(N)[:, None], np.arange(N)
e = np.where(j <= i, np.exp(look["s"] / (per_head("tau_score") + 1e-6)), 0)
A = e / e.sum(-1, keepdims=True)
close("A", look["attn"], A)
close("entropy", layer["entropy"], -(A * np.log(np.where(A > 0, A, 1))).sum(-1).mean(-1))
close("distance", layer["distance"], (A * abs(i - j)).sum(-1).mean(-1), 1e-5)
close("self", layer["self"], np.einsum("hii->h", A) / N)
close("size", layer["size_coh"], [np.sqrt((b[j <= i] ** 2).mean()) * abs(w)
                                  for b, w in zip(look["b_coh"], layer["omega_coh"])])
head = np.load("swarm-head.npz")
assert head["attn"].shape == (N, N) and (head["attn"] == look["attn"][1]).all()
assert list(look["tokens"]) == json.load(open("swarm.json"))["tokens"]

# planes: from z by QR and SVD
look, layer = np.load("planes-look.npz"), json.load(open("planes.json"))["layers"][1]
z, (N, m, P) = look["z"].astype(float), look["plucker"].shape
r, (u, v) = z.shape[1], np.triu_indices(z.shape[1], 1)
basis, angles = {}, np.full((N - 1, m, 1, 2), np.nan)
for a, pair in enumerate(layer["pairs"]):
    step = int(pair["pair"][2:])
    assert (look["plucker"][:step, a] == 0).all()
    for t in range(step, N):
        p = z[t, u] * z[t - step, v] - z[t, v] * z[t - step, u]
        close("plucker", look["plucker"][t, a], p / np.linalg.norm(p))
        basis[t, a] = np.linalg.qr(np.stack([z[t], z[t - step]], 1))[0]
for t, a in basis:
    if (t + 1, a) in basis:
        cosines = np.linalg.svd(basis[t, a].T @ basis[t + 1, a])[1]
        angles[t, a, 0] = np.sort(np.arccos(np.clip(cosines, 0, 1)))
assert (np.isnan(angles) == np.isnan(look["angles_next"])).all()
close("angles", look["angles_next"], angles, 1e-4)
close("mean angle", layer["pairs"][1]["next_angles"], np.degrees(np.nanmean(angles[:, 1], (0, 1))), 1e-2)
mean = sum(b @ b.T for b in basis.values()) / len(basis)
close("spectrum", look["mean_spectrum"][0], np.linalg.eigvalsh(mean)[::-1])
vectors = look["mean_vectors"][0]
close("vectors", vectors @ mean @ vectors.T, np.diag(look["mean_spectrum"][0]))
close("gate", layer["gate"]["quantiles_5_25_50_75_95"], np.quantile(look["gate"], [.05, .25, .5, .75, .95]))
close("histogram", sum(layer["gate"]["histogram"]), 1)

# the path: directions of the mean over the pairs, from the coordinates
here = (look["plucker"] != 0).any(-1).sum(-1)
sums = look["plucker"].sum(1) / np.maximum(here, 1)[:, None]
u = sums / np.maximum(np.linalg.norm(sums, axis=-1, keepdims=True), 1e-3)
close("flow", look["flow"][:, 0], u)
so_far = np.cumsum(u, 0) / np.maximum(np.arange(N), 1)[:, None]
close("alignment", look["alignment"][1:], (u * so_far).sum(-1)[1:])
close("curvature", look["curvature"][2:], np.sqrt(1 - np.clip((u[2:] * u[1:-1]).sum(-1), -1, 1) ** 2), 1e-5)
close("mean direction", look["mean_direction"][0], u[1:].mean(0))
centred = u[1:] - u[1:].mean(0)
values, vectors = np.linalg.eigh(centred.T @ centred)
close("share", look["leading_share"], [values[-1] / values.sum()])
close("leading", abs(vectors[:, -1] @ look["leading_direction"][0]), 1, 1e-5)
close("stability", layer["flow"]["stability_below"], np.nanmean(look["stability_below"]))
assert np.isnan(look["alignment"][0]) and np.isnan(look["curvature"][1])

# the figure of it: what its table has
table = {}
for panel, series, x, y, _, _ in list(csv.reader(open("planes-look-paths.csv")))[1:]:
    table.setdefault((panel.split(":")[0], series), []).append((x, float(y)))
for panel, key in ("alignment with the mean direction so far", "alignment"), ("curvature", "curvature"), \
        ("stability", "stability_below"):
    drawn = table[panel, "layer 1"]
    close(panel, [y for _, y in drawn], look[key][[int(x) for x, _ in drawn]])
    assert len(drawn) == np.isfinite(look[key]).sum()
close("bars", dict(table["means over the tokens", "leading share"])["layer 1"], look["leading_share"][0])
