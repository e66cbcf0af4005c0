"""The examples run, and what doc/python.md shows."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent


def lacks(name):
    return importlib.util.find_spec(name) is None


class Examples(unittest.TestCase):
    def run_in(self, *command):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout, os.listdir(folder)

    @unittest.skipIf(lacks("torch"), "needs PyTorch")
    def test_nano(self):
        for mixing in ("ASCender", "torch"):
            said, _ = self.run_in(
                str(HERE / "examples/nano.py"),
                mixing,
                "--steps",
                "12",
                "--dim",
                "32",
                "--layers",
                "1",
                "--block",
                "16",
                "--batch",
                "8",
                "--data",
                "builtin:5000",
            )
            first, last = map(float, re.search(r"fell from ([\d.]+) to ([\d.]+)", said).groups())
            self.assertLess(last, first)

    @unittest.skipIf(lacks("torch") or lacks("transformers"), "needs PyTorch and transformers")
    def test_gpt2(self):
        self.assertIn("fell from", self.run_in(str(HERE / "examples/gpt2.py"))[0])

    @unittest.skipIf(lacks("matplotlib"), "needs matplotlib")
    def test_look_inside(self):
        self.assertIn("look_inside.png", self.run_in(str(HERE / "examples/look_inside.py"))[1])

    def test_the_guide(self):
        guide = (HERE.parent / "doc/python.md").read_text(encoding="utf-8")
        parts = re.findall(r"^```python\n(.*?)^```", guide, re.S | re.M)
        self.assertGreater(len(parts), 3)
        whole = "\n".join(part for part in parts if "torch" not in part or not lacks("torch"))
        self.run_in("-c", whole.replace("builtin:20000", "builtin:4000"))

    @unittest.skipIf(lacks("torch"), "needs PyTorch")
    def test_the_reference_is_that_of_the_docstrings(self):
        said, _ = self.run_in(str(HERE / "generate/reference.py"))
        page = HERE.parent / "doc/python-reference.md"
        self.assertEqual(said, page.read_text(encoding="utf-8"), "run `make update-python-reference`")


if __name__ == "__main__":
    unittest.main()
