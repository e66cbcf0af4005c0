"""`ascgrad stats` against answers that another implementation wrote: all of them exactly, resamples within their
noise."""
import json
import math
import os
import subprocess
import sys

program = os.environ["ASCGRAD"]


def run(kind, columns, *options):
    """The JSON of `ascgrad stats KIND FILE...`."""
    files = []
    for i, lines in enumerate(columns):
        files.append(f"column{i}")
        with open(files[-1], "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in lines)
    return json.loads(subprocess.check_output([program, "stats", kind, *files, *options, "--json"]))


def expect(name, got, want, tolerance):
    if got != want and not (got is not None and want is not None and abs(got - want) <= tolerance):
        sys.exit(f"{name}: got {got}, expected {want} to {tolerance:.3g}")


def check_pair(case):
    got = run("pair", [map(repr, case["a"]), map(repr, case["b"])], "--resamples", "10000")
    n, width = case["n"], case["ci_high"] - case["ci_low"]
    for key, want in case.items():
        if key in ("a", "b"):
            continue
        noise = 1e-9
        if key.startswith("ci_"):
            noise = 0.03 * width
        elif key == "p_bootstrap" or key == "p_randomization" and n > 12:
            noise = 5 * math.sqrt(2 * want * (1 - want) / 10000) + 2e-4
        expect(f"pair {key}", got[key], want, noise)


cases = json.load(open(sys.argv[1], encoding="utf-8"))
for c in cases["pairs"]:
    check_pair(c)
for c in cases["calibration"]:
    lines = [f"{p!r} {right}" for p, right in zip(c["confidence"], c["correct"])]
    got = run("calibration", [lines], "--bins", str(c["bins"]))
    expect("ece", got["ece"], c["ece"], 1e-9)
    expect("accuracy", got["accuracy"], c["accuracy"], 1e-9)
for c in cases["clusters"]:
    got = run("clusters", [[f"{x} {y}" for x, y in zip(c["x"], c["y"])]])
    expect("nmi", got["nmi"], c["nmi"], 1e-9)
    expect("ari", got["ari"], c["ari"], 1e-9)
for c in cases["holm"]:
    for got, want in zip(run("holm", [map(repr, c["p"])])["adjusted"], c["adjusted"]):
        expect("holm", got, want, 1e-12)
