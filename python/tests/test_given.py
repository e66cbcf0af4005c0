"""What the package is given, and does not take: each is refused by its name, with a class of Python's that fits."""

import os
import tempfile
import unittest
from pathlib import Path

import numpy as np

import ascgrad as asc

SMALL = dict(mix="transformer", d_model=8, d_ff=8, heads=2, layers=1, vocab=300, block=8)


class Given(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.x = asc.tensor(np.arange(12.0).reshape(3, 4))
        cls.w = asc.tensor(np.ones((3, 4)), requires_grad=True)
        cls.lm = asc.LM(SMALL)
        cls.data = asc.Dataset("builtin:2000")
        cls.bytes = asc.Tokenizer("byte")
        cls.split = cls.data.split("train", cls.bytes)

    def refused(self, kind, *rows):
        for call, message in rows:
            with self.subTest(message), self.assertRaisesRegex(asc.Error, message) as caught:
                call()
            self.assertIsInstance(caught.exception, kind, message)
            self.assertEqual(caught.exception.status, asc.Status.ARG)

    def test_true_and_false(self):
        x, q = self.x, np.ones((1, 2, 4))
        self.refused(
            TypeError,
            (lambda: asc.attention(q, q, q, heads=1, causal="False"), "causal is 'False', expected True or False"),
            (lambda: asc.attention(q, q, q, heads=1, causal=2), "causal is 2, expected True or False"),
            (lambda: self.lm.set_recompute("no"), "recompute is 'no', expected True or False"),
        )
        same = asc.attention(q, q, q, heads=1, causal=True).numpy()
        for yes in (1, np.True_):
            self.assertTrue((asc.attention(q, q, q, heads=1, causal=yes).numpy() == same).all())
        self.refused(
            IndexError,
            (lambda: x[1, 7], "index 7 of dimension 1"),
            (lambda: x.reshape(1, 3, 4)[0, 1, [7]], "index 7 of dimension 2"),
            (lambda: x[None, 1, 7], "index 7 of dimension 1"),
        )
        self.assertIn(self.lm.parameters()[0], self.lm.parameters())
        self.assertNotIn(x, self.lm.parameters())

    def test_no_steps_of_a_coroutine(self):
        async def steps():
            pass

        self.refused(TypeError, (lambda: asc.no_grad()(steps), "a generator or a coroutine"))

    def test_whole_numbers_are_not_cut(self):
        x = self.x
        self.refused(
            ValueError,
            (lambda: asc.topk(x, k=2**70), "k is 1180591620717411303424, expected -9223372036854775808 to"),
            (lambda: asc.slice(x, 2**32, 0, 2, 1), "dim is 4294967296"),
            (lambda: asc.slice(x, 0, 0, 2**63, 1), "stop is 9223372036854775808"),
            (lambda: asc.sum(x, dims=2**40), "dims is 1099511627776"),
            (lambda: x.reshape(2**70), "shape is"),
            (lambda: asc.set_threads(2**32 + 1), "set_threads: threads is 4294967297"),
            (lambda: asc.manual_seed(-1), "seed is -1, expected 0 to 18446744073709551615"),
            (lambda: asc.Layer("transformer", 8, seed=2**64), "seed is"),
            (lambda: self.bytes.decode([2**32]), "id is 4294967296"),
            (lambda: self.bytes.piece(2**32), "id is 4294967296"),
            (lambda: self.split.batch([2**32], 4), "which is"),
            (lambda: asc.paired([1, 2], [1, 3], seed=-1), "seed is -1"),
            (lambda: list(self.lm.generate([1], 1, seed=-1)), "seed is -1"),
        )
        self.assertEqual(asc.topk(x, k=np.int64(1)).shape, (3, 1))

    def test_numbers(self):
        w = self.w
        self.refused(
            TypeError,
            (lambda: asc.set_threads("2"), "set_threads: threads is '2', expected a whole number"),
            (lambda: asc.set_step(1.5), "seed is 1.5"),
            (lambda: asc.Layer("transformer", 8.0), "d_model is 8.0"),
            (lambda: asc.dropout(self.x, p="0.5"), "p is '0.5', expected a number"),
            (lambda: asc.AdamW([w], lr="fast"), "lr is 'fast', expected a number"),
            (lambda: asc.AdamW([w], eps=None), "eps is None"),
            (lambda: asc.AdamW([w], betas=0.9), "betas is 0.9, expected two numbers"),
            (lambda: asc.AdamW([w]).step(clip="a"), "clip is 'a'"),
            (lambda: asc.learning_rate(2.5, 1e-3), "step is 2.5"),
            (lambda: asc.gradcheck("tanh", seed="a"), "seed is 'a'"),
            (lambda: self.lm.evaluate(self.split, batch="a"), "batch is 'a'"),
            (lambda: self.lm.generate([1], 2.5), "count is 2.5"),
            (lambda: self.lm.generate([1.7], 2), "prompt is .1.7., expected text or ids"),
            (lambda: list(self.lm.generate([1], 2, top_k=1.5)), "top_k is 1.5"),
            (lambda: self.lm.inspect([[1, 2]], "a"), "layer is 'a'"),
            (lambda: self.bytes.decode([1.5]), "id is 1.5"),
            (lambda: self.split.batch([0.7], 4), "which is .0.7., expected a list of whole numbers"),
            (lambda: asc.train("never", steps=object()), "steps is <object"),
        )
        self.refused(
            ValueError,
            (lambda: asc.AdamW([w]).step(clip=float("nan")), "clip is nan"),
            (lambda: asc.AdamW([w]).step(clip=-1), "clip is -1"),
            (lambda: asc.learning_rate(-1, 1e-3), "step is -1"),
            (lambda: asc.learning_rate(1, 1e-3), "steps is 0, expected how many"),
            (lambda: self.lm.set_dropout(float("nan")), "p is nan"),
            (lambda: asc.Layer("transformer", 8, heads=float("nan")), "heads is nan, expected a finite number"),
            (lambda: next(self.split.batches(4, 0)), "batch is 0, expected at least 1"),
            (lambda: next(self.split.batches(0, 4)), "length is 0"),
            (lambda: next(self.split.streams(4, 0)), "rows is 0"),
        )
        with self.assertRaisesRegex(IndexError, "i is -1, expected 0 to"):
            self.bytes.piece(-1)
        self.assertEqual(asc.Layer("transformer", 8, heads=np.int64(2)).config["heads"], 2)

    def test_what_a_model_has_no_default_of(self):
        for name in ("layers", "d_model", "heads", "vocab", "block"):
            self.refused(
                ValueError, (lambda: asc.LM({k: v for k, v in SMALL.items() if k != name}), f"{name} is missing")
            )
        self.assertEqual(asc.Layer("transformer", 8).config["heads"], 4)

    def test_text_and_paths(self):
        self.refused(
            TypeError,
            (lambda: asc.Layer(None, 8), "mixing is None, expected text"),
            (lambda: asc.LM.load(None), "path is None"),
            (lambda: asc.Dataset(5), "is 5"),
            (lambda: asc.Run(None), "folder is None"),
            (lambda: self.bytes.encode(None), "text is None"),
            (lambda: self.bytes.save(None), "path is None"),
            (lambda: asc.einsum(5, self.x), "equation is 5"),
            (lambda: asc.Op(None, abs), "name is None"),
            (lambda: asc.AdamW([self.w]).group(5), "names is 5"),
            (lambda: asc.save_safetensors("never", {1: np.ones(2)}), "name is 1"),
            (lambda: asc.save_safetensors("never", {"a": np.ones(2)}, {"k": 1}), "metadata is 1"),
            (lambda: asc.train("never", preset=5), "name is 5"),
            (lambda: asc.compare({5: "never"}), "name is 5"),
        )
        self.refused(
            ValueError,
            (lambda: asc.Layer("trans\0former", 8), "expected text without the character 0"),
            (lambda: asc.load_safetensors("a\0b"), "path is 'a.x00b'"),
            (lambda: asc.Tokenizer("byte\0"), "spec is"),
        )
        self.assertFalse(os.path.exists("None"))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.safetensors"
            asc.save_safetensors(path, {"a": np.ones(2)})
            self.assertEqual(list(asc.load_safetensors(path)[0]), ["a"])

    def test_objects_of_another_class(self):
        self.refused(
            TypeError,
            (lambda: self.data.split("train", "byte"), "tokenizer is 'byte', expected a Tokenizer"),
            (lambda: self.data.collect(None), "tokenizer is None"),
            (lambda: self.lm.evaluate("valid"), "split is 'valid', expected a Split"),
            (lambda: self.lm.evaluate(self.split, features=5), "features is 5"),
            (lambda: self.lm.save("never", 5), "tokenizer is 5"),
            (lambda: asc.train("never", progress=5), "progress is 5, expected a function"),
            (lambda: asc.Op("a", 5), "forward is 5, expected a function"),
            (lambda: asc.compare(["never"]), "systems is .'never'., expected a dictionary"),
            (lambda: asc.AdamW(self.w), "params is Tensor, expected a list"),
            (lambda: asc.AdamW({"a": 5}), "parameter a is int"),
            (lambda: asc.AdamW({5: self.w}), "name is 5"),
            (lambda: asc.Layer("transformer", 8).inspect(None), "x is None, expected a tensor"),
        )
        self.refused(ValueError, (lambda: asc.AdamW([self.w, self.w]), "1 is 0 once more"))

    def test_messages_have_the_names_that_python_has(self):
        layer, x = asc.Layer("transformer", 8), np.ones((2, 3, 8), "f")
        self.refused(
            ValueError,
            (lambda: layer(x[..., :4]), r"^Layer: x is f32 \(2, 3, 4\), expected f32 \(B, N, 8\)"),
            (lambda: layer(x, context=x[..., :4]), "^Layer: context is"),
            (lambda: asc.zeros(-1), r"^zeros: shape is \(-1\)"),
            (lambda: asc.ones((2, -1), "i64"), r"^ones: shape is \(2, -1\)"),
            (lambda: asc.full([1] * 9, 2), "^full: ndim is 9"),
            (lambda: asc.tensor(np.ones([1] * 9)), "^tensor: ndim is 9"),
            (lambda: asc.split(self.x, [1], 1), "^split: the sizes add up to 1"),
            (lambda: asc.manual_seed(-1), "^manual_seed: seed is -1"),
            (lambda: self.lm.logits([[300]]), r"^embedding: index\[0, 0\] is 300"),
            (lambda: asc.gradcheck("layernorm"), "there is no op 'layernorm'; did you mean 'layer_norm'"),
        )
        self.refused(
            TypeError,
            (lambda: asc.LM(SMALL, dtype="f16"), "dtype is 'f16', expected float32 or float64$"),
            (lambda: asc.Layer("conv", 8, dtype="i64"), "dtype is 'i64', expected float32 or float64$"),
            (lambda: asc.Tokenizer(None), "^Tokenizer: spec is None"),
            (lambda: asc.zeros("a"), "^zeros: shape is 'a'"),
        )
        y = (self.w * self.w).sum()
        y.backward()
        with self.assertRaisesRegex(asc.StateError, "freed by an earlier backward pass, which did not retain it"):
            y.backward()
        with asc.no_grad():
            y = self.w.sum()
        with self.assertRaisesRegex(asc.ArgumentError, "loss was computed with recording off"):
            y.backward()

    def test_the_end_of_the_program_goes_on_through_an_op(self):
        def leave(x):
            raise SystemExit(3)

        with self.assertRaises(SystemExit):
            asc.Op("leave", leave)(self.x)

    def test_nothing_imaginary_is_dropped(self):
        with self.assertRaisesRegex(asc.Error, "complex128"):
            asc.Op("turn", lambda x: x * 1j)(self.x)


if __name__ == "__main__":
    unittest.main()
