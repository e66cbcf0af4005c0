"""What type checkers are told, as mypy understands it."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import ascgrad as asc
from ascgrad import ops

PROGRAM = """
import numpy as np
import ascgrad as asc

x = asc.tensor([[1.0, 2.0]], requires_grad=True)
y = (2 * x @ np.eye(2) + 0.5).tanh().mean(dim=-1)[0]
y.backward(np.ones(()))
a: np.ndarray = asc.softmax(x).numpy()
lm = asc.LM({"mix": "transformer"}, vocab=20)
for optimizer in (asc.AdamW(lm.parameters()), asc.SGD([x]), asc.Muon({"x": x})):
    optimizer.step(clip=1.0)
words = asc.Tokenizer("word")
for i, j in asc.Dataset("builtin").split("train", words).batches(32, 8):
    asc.Tensor.item(lm.objective(i, j))
asc.gradcheck(asc.tanh)
asc.Op("same", lambda x: x, lambda g, x: g, samples=[[(3,)]])
try:
    layer = asc.Layer("conv", 8, width=3)
except asc.Error as error:
    s: int = error.status
asc.cross_entropy(x, [1]).backward()
asc.Dataset("builtin").split("train", words).class_batch(np.arange(2))
@asc.no_grad()
def squared(x: asc.Tensor) -> asc.Tensor:
    return x * x
squared(x).numpy()
squared("x")
shape: tuple[int, ...] = layer.parameters().values()[0].shape
x.nothing()
asc.nothing()
asc.tanh()
n: str = lm.block
"""


class Types(unittest.TestCase):
    def test_all_is_there(self):
        for name in asc.__all__:
            self.assertTrue(hasattr(asc, name), name)
        self.assertLess(set(ops.__all__), set(asc.__all__))
        with open(os.path.join(asc.__path__[0], "_methods.pyi"), encoding="utf-8") as file:
            text = file.read()
        compile(text, "_methods.pyi", "exec")
        for name in (*ops.METHODS, "__add__", "__rmatmul__", "__ge__", "__neg__"):
            self.assertIn(f"def {name}(self", text)
            self.assertTrue(callable(getattr(asc.Tensor, name)), name)

    @unittest.skipIf(importlib.util.find_spec("mypy") is None, "needs mypy")
    def test_a_program(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(PROGRAM)
            given = {**os.environ, "MYPYPATH": os.path.dirname(asc.__path__[0])}
            command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", path]
            said = subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True).stdout
        lines = PROGRAM.splitlines()
        wrong = {lines[int(line.split(":")[1]) - 1] for line in said.splitlines() if ": error:" in line}
        refused = {'squared("x")', "x.nothing()", "asc.nothing()", "asc.tanh()", "n: str = lm.block"}
        self.assertEqual(wrong, refused, said)


if __name__ == "__main__":
    unittest.main()
