"""Encoders of sentences, classifiers, models of pairs, carried context."""

import json
import os
import signal
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

import ascgrad as asc

TINY = Path(__file__).resolve().parent.parent.parent / "tests/train/encoder"
WHO, DOES, NOT = ("man", "dog", "girl"), ("plays", "runs", "sings"), ("rests", "stands", "listens")


class Encoders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.encoder = asc.Encoder(TINY)
        cls.texts = (TINY / "sentences.txt").read_text(encoding="utf-8").splitlines()
        with np.load(TINY / "states.npz") as known:
            cls.known = dict(known)

    def close(self, a, b):
        self.assertLess(np.abs(a - b).max(), 1e-5 * np.abs(b).max())

    def test_what_it_is(self):
        e = self.encoder
        self.assertEqual((e.type, e.layers, e.dim, len(e.fingerprint)), ("bert", 2, 16, 16))
        tokenizer = e.tokenizer
        self.assertEqual([tokenizer.piece(i) for i in tokenizer.encode("a man")], ["a", "man"])
        with self.assertRaises(OSError):
            asc.Encoder("/nowhere")

    def test_states(self):
        states, lengths = self.encoder.encode(self.texts, "none")
        self.assertEqual(lengths.tolist(), self.known["lengths"].tolist())
        self.close(states, self.known["states"])
        ids, types, counts = self.encoder.tokens(self.texts)
        for i, row in enumerate(self.encoder.states(ids, types, counts).numpy()):
            self.close(row[: counts[i]], states[i, : counts[i]])

    def test_an_interrupt_is_raised(self):
        # A signal's handler may raise where ctypes enters the function that takes the states. Of what it raises in a
        # __del__ Python itself tells this hook alone.
        lost = []
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = lambda what: lost.append(getattr(what.object, "__name__", None))
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, signal.default_int_handler))
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        texts = ["a man"] * 300
        expected = self.encoder.encode(texts)
        raised = 0

        def again():
            for _ in range(100):
                states = self.encoder.encode(texts)
                self.assertTrue((states == expected).all())

        for i in range(40):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0005 * (i + 1))
                again()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                raised += 1
        self.assertEqual((raised + len(lost), set(lost) - {"__del__"}), (40, set()))

    def test_pooling(self):
        states, lengths = self.encoder.encode(self.texts, "none")
        self.close(self.encoder.encode(self.texts), np.stack([s[:n].mean(0) for s, n in zip(states, lengths)]))
        self.close(self.encoder.encode(self.texts, "cls"), states[:, 0])
        windows, counts = self.encoder.encode(self.texts, "windows", window=4, stride=2)
        self.assertEqual(counts.tolist(), [-(-n // 2) for n in lengths])
        self.close(windows[0, 1], states[0, 2:6].mean(0))
        self.assertEqual(self.encoder.encode(self.texts[0], "none").shape, (lengths[0], 16))
        self.close(self.encoder.encode(self.texts[0]), states[0, : lengths[0]].mean(0))
        self.assertEqual(self.encoder.encode([]).shape, (0, 16))
        with self.assertRaisesRegex(ValueError, "avg"):
            self.encoder.encode(self.texts, "avg")

    def test_pairs_and_cuts(self):
        ids, types, lengths = self.encoder.tokens([("a man", "a dog")])
        self.assertEqual(types.tolist(), [[0] * 4 + [1] * (lengths[0] - 4)])
        self.assertEqual(self.encoder.encode([("a man", "a dog")]).shape, (1, 16))
        with self.assertLogs("ascgrad", "WARNING") as said:
            self.assertEqual(self.encoder.tokens(["a man plays the guitar"], max_tokens=4)[2].tolist(), [4])
        self.assertIn("1 of 1 sentences are longer than 4 tokens", said.output[0])
        with self.assertRaisesRegex(ValueError, "at most 64"):
            self.encoder.encode(["a"], max_tokens=65)

    def test_features(self):
        expected, lengths = self.encoder.encode(self.texts, "windows")
        with tempfile.TemporaryDirectory() as folder:
            for cache in ("", folder, folder):
                features = self.encoder.features(self.texts, "windows", cache=cache)
                self.assertEqual((len(features), features.dim), (len(self.texts), 16))
                for i, rows in enumerate(features):
                    np.testing.assert_array_equal(rows, expected[i, : lengths[i]])
            self.assertTrue(os.listdir(folder))
        with self.assertRaises(IndexError):
            features[len(features)]


def pair(i):
    """A pair whose class shows in one word of its hypothesis that the premise decides."""
    who, does, label = i % 3, i // 3 % 3, i // 9 % 3
    word = (DOES[does], "smiles", NOT[does])[label]
    return {
        "gold_label": "-" if i % 10 == 9 else ("entailment", "neutral", "contradiction")[label],
        "sentence1": f"the {WHO[who]} {DOES[does]}",
        "sentence2": f"a {WHO[who]} {word}",
    }


class Pairs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        cls.cache, os.environ["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME"), str(cls.path / "cache")
        for name, numbers in (("train", range(270)), ("dev", range(50))):
            with open(cls.path / f"{name}.jsonl", "w", encoding="utf-8") as file:
                file.writelines(json.dumps(pair(i)) + "\n" for i in numbers)
        cls.spec = f"{cls.path}/train.jsonl:valid={cls.path}/dev.jsonl,classes=entailment|neutral|contradiction"

    @classmethod
    def tearDownClass(cls):
        del os.environ["XDG_CACHE_HOME"]
        if cls.cache is not None:
            os.environ["XDG_CACHE_HOME"] = cls.cache
        cls.folder.cleanup()

    def train(self, name, **more):
        settings = dict(model="transformer", d_model=16, d_ff=16, head_ff=16, batch=16, dropout=0, lr=1e-2, warmup=5)
        run = self.path / name
        asc.train(run, preset="nli", data=self.spec, epochs=8, threads=1, **settings, **more)
        return asc.LM.load(run)

    def check(self, lm):
        data = asc.Dataset(self.spec)
        held, train = data.split("valid", lm.tokenizer), data.split("train", lm.tokenizer)
        self.assertEqual((lm.classes, held.skipped), (["entailment", "neutral", "contradiction"], 5))
        self.assertEqual(lm.classes, data.classes)
        found = lm.evaluate(held)
        self.assertGreater(found["accuracy"], 0.9)
        self.assertEqual(found["confusion"].sum(), 45)
        self.assertAlmostEqual(np.trace(found["confusion"]) / 45, found["accuracy"])
        p = lm.predict([("the man plays", "a man plays"), ("the dog runs", "a dog stands")])
        self.assertEqual(p.argmax(1).tolist(), [0, 2])
        np.testing.assert_allclose(p.sum(1), 1)
        for wrong in (("a man", "a dog"), ["ab"], [("a",)], [1]):  # no texts that fall apart into pairs
            with self.assertRaisesRegex(asc.Error, "predict: pairs has .*, expected pairs of texts"):
                lm.predict(wrong)
        features = lm.features(train)
        x, labels, lengths = next(lm.class_batches(train, len(train.labels), features=features))
        logits = lm.classify(x, lengths).numpy()
        self.assertGreater((logits.argmax(1) == labels).mean(), 0.9)
        new = asc.LM(lm.config, seed=3)
        optimizer = asc.AdamW(new.parameters(), lr=1e-2)
        for epoch in range(8):
            for x, y, n in new.class_batches(train, 16, epoch=epoch, features=features):
                new.class_objective(x, y, n).backward()
                optimizer.step(clip=1.0)
                optimizer.zero_grad()
        self.assertGreater(new.evaluate(held, features=lm.features(held))["accuracy"], 0.9)

    def test_of_an_encoders_states(self):
        lm = self.train("states", encoder=str(TINY))
        self.check(lm)
        path = self.path / "alone.safetensors"
        lm.save(path)
        alone = asc.LM.load(path)
        self.assertEqual(alone.classes, lm.classes)
        pairs = [("the man plays", "a man smiles")]
        with self.assertRaisesRegex(asc.Error, "encoder"):
            alone.predict(pairs)
        np.testing.assert_array_equal(alone.predict(pairs, asc.Encoder(TINY)), lm.predict(pairs))
        self.train("none", encoder=str(TINY), mix="none")
        held = asc.Dataset(self.spec).split("valid", lm.tokenizer)
        found = asc.compare({"a": self.path / "states", "b": [self.path / "none"]}, split="valid", resamples=200)
        self.assertEqual((found["unit"], found["n"]), ("pair", 45))
        self.assertAlmostEqual(found["systems"]["accuracy"][0], lm.evaluate(held)["accuracy"])
        (tests,) = found["comparisons"]["mcnemar"]
        self.assertEqual(sum(tests[0][key] for key in ("both", "only_a", "only_b", "neither")), 45)

    def test_of_embeddings(self):
        lm = self.train("own", tokenizer="word")
        self.assertIsNone(lm.features(None))
        self.check(lm)

    def test_what_it_does_not_see(self):
        lm = self.train("blind", tokenizer="word", sees="hypothesis")
        split = asc.Dataset(self.spec).split("valid", lm.tokenizer)
        x, _, lengths = next(lm.class_batches(split, 45))
        self.assertEqual(lengths.tolist(), [[0, 4]] * 45)
        self.assertEqual(x.shape, (45, 4))
        with self.assertRaisesRegex(ValueError, "LM.load"):
            asc.LM(lm.config).predict([("a", "b")])


class Classes(unittest.TestCase):
    def test_a_classifier(self):
        data = asc.Dataset("task:majority:classes=3")
        tokenizer = data.collect(asc.Tokenizer("word"))
        split = data.split("train", tokenizer)
        self.assertEqual((len(data.classes), set(split.labels)), (3, {0, 1, 2}))
        config = {"mix": "transformer", "d_model": 16, "d_ff": 16, "heads": 2, "layers": 1, "block": 64}
        lm = asc.LM(config, vocab=tokenizer.size, head="classifier", classes=3, seed=1)
        self.assertEqual(lm.classes, ["0", "1", "2"])
        optimizer = asc.AdamW(lm.parameters(), lr=1e-2)
        for step, (x, labels, lengths) in enumerate(lm.class_batches(split, 32)):
            lm.class_objective(x, labels, lengths).backward()
            optimizer.step(clip=1.0)
            optimizer.zero_grad()
            if step == 60:
                break
        valid = data.split("valid", tokenizer)
        found = lm.evaluate(valid, losses=True)
        self.assertGreater(found["accuracy"], 0.5)
        self.assertEqual(found["ids"].tolist(), valid.labels.tolist())
        self.assertAlmostEqual(found["losses"].mean(), found["loss"])
        before = lm.class_objective(x, labels, lengths).item()
        lm.set_class_weights([0, 1, 1])
        self.assertNotEqual(lm.class_objective(x, labels, lengths).item(), before)
        lm.set_class_weights(None)
        self.assertEqual(lm.class_objective(x, labels, lengths).item(), before)
        with self.assertRaisesRegex(ValueError, "expected \\(3,\\)"):
            lm.set_class_weights([1, 1])


class Carried(unittest.TestCase):
    def test_streams_of_blocks(self):
        data, tokenizer = asc.Dataset("builtin:1000"), asc.Tokenizer("byte")
        split = data.split("train", tokenizer)
        config = {"mix": "linear", "d_model": 16, "d_ff": 16, "layers": 1, "heads": 2, "vocab": 256, "block": 16}
        lm = asc.LM(config, pos_emb=False, dtype="f64", seed=1)
        (first, _), (second, after) = list(split.streams(16, 4))[:2]
        np.testing.assert_array_equal(first[1], split.batch([split.blocks(16) // 4], 16)[0][0])
        apart = lm.loss(second, after).item()
        both = lm.logits(np.concatenate([first, second], 1)).numpy()[:, 16:]
        with lm.carried(16) as carried:
            lm.logits(first)
            carried.advance()
            np.testing.assert_allclose(lm.logits(second), both, rtol=1e-9, atol=1e-9)
            self.assertEqual(len(carried), 16)
            self.assertNotEqual(lm.loss(second, after).item(), apart)
            carried.reset()
            self.assertEqual(len(carried), 0)
        self.assertEqual(lm.loss(second, after).item(), apart)
        valid = data.split("valid", tokenizer)
        self.assertNotEqual(lm.evaluate(valid)["loss"], lm.evaluate(valid, carry=16)["loss"])
        with self.assertRaisesRegex(asc.Error, "pos_emb"):
            asc.LM(config, seed=1).carried(4)


if __name__ == "__main__":
    unittest.main()
