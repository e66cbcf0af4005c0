"""Layers, language models, data, runs."""

import copy
import ctypes
import gc
import json
import locale
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import ascgrad as asc

CONFIG = {"mix": "transformer", "d_model": 16, "d_ff": 32, "layers": 2, "heads": 2, "vocab": 20, "block": 8}


class Locales(unittest.TestCase):
    def test_a_decimal_comma_changes_nothing(self):
        for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "ru_RU.UTF-8"):
            try:
                locale.setlocale(locale.LC_ALL, name)
                break
            except locale.Error:
                pass
        else:
            self.skipTest("no locale with a decimal comma is installed")
        self.addCleanup(locale.setlocale, locale.LC_ALL, "C")
        self.assertEqual(locale.localeconv()["decimal_point"], ",")
        layer = asc.Layer("ascender", 8, heads=2, variant="swarm", delta=0.25)
        self.assertEqual(asc.LM({**CONFIG, "logit_cap": 12.5}).config["logit_cap"], 12.5)
        with self.assertRaisesRegex(asc.Error, "p is 1.5"):
            asc.dropout(layer.parameters()[0], p=1.5)


class Layers(unittest.TestCase):
    def test_every_mixing_has_gradients(self):
        x = np.random.default_rng(0).normal(size=(2, 6, 8))
        for mixing in asc.mixings():
            layer = asc.Layer(mixing, 8, dtype="f64")
            layer(x).sum().backward()
            grads = [p.grad for p in layer.parameters() if p.requires_grad]
            self.assertTrue(any(g is not None for g in grads), mixing)
            layer.project()

    def test_parameters_are_a_list_with_names(self):
        p = asc.Layer("transformer", 8, heads=2).parameters()
        self.assertEqual(p["q.weight"].shape, (8, 8))
        self.assertEqual(p[0].shape, dict(p)[p.names[0]].shape)
        self.assertEqual([t.size for t in p], [t.size for _, t in p.items()])
        self.assertIn("o.bias", p)
        with self.assertRaises(KeyError):
            p["nothing"]

    def test_context_bias_lengths_mask(self):
        rng = np.random.default_rng(0)
        x, c = rng.normal(size=(2, 5, 8)), rng.normal(size=(2, 3, 8))
        layer = asc.Layer("transformer", 8, heads=2, dtype="f64", mask="full")
        np.testing.assert_allclose(layer(x, [5, 5]), layer(x), rtol=1e-12)
        only = np.zeros((5, 5), np.uint8) + np.eye(5, dtype=np.uint8)
        bias = asc.tensor(np.where(only, 0.0, -np.inf))
        np.testing.assert_allclose(layer(x, mask=only), layer(x, bias=bias), rtol=1e-12)
        np.testing.assert_allclose(layer(x, context=np.concatenate([c, c], 1), lengths=[3, 3]), layer(x, context=c))
        self.assertGreater(np.abs(layer(x).numpy() - layer(x, mask=only).numpy()).max(), 1e-3)  # no mask is left
        with self.assertRaisesRegex(asc.Error, "cross"):
            asc.Layer("conv", 8, dtype="f64")(x, context=c)

    def test_auxiliary_loss_inspect_save(self):
        x = np.random.default_rng(0).normal(size=(1, 6, 8))
        layer = asc.Layer("ascender", 8, heads=2, dtype="f64", aux_coh=0.5, k=3)
        _, aux = layer(x, return_aux=True)
        parts = layer.inspect(x)
        self.assertAlmostEqual(aux.item(), 0.5 * parts["loss_coh"].item())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "layer.safetensors")
            layer.save(path)
            other = asc.Layer("ascender", 8, heads=2, dtype="f64", aux_coh=0.5, k=3)
            other.load(path)
            np.testing.assert_array_equal(other(x), layer(x))
            tensors, metadata = asc.load_safetensors(path)
            self.assertIn("asc_crc32", metadata)
            np.testing.assert_array_equal(tensors["q.weight"], layer.parameters()["q.weight"])

    def test_the_seed_decides(self):
        def weight():
            return asc.Layer("conv", 8).parameters()[0].tolist()

        asc.manual_seed(3)
        first, second = weight(), weight()
        asc.manual_seed(3)
        self.assertEqual(weight(), first)
        self.assertNotEqual(first, second)


class Models(unittest.TestCase):
    def test_it_learns(self):
        lm = asc.LM(CONFIG, seed=1)
        optimizer = asc.AdamW(lm.parameters(), lr=1e-2)
        x = np.arange(8)[None] % 20
        for _ in range(60):
            loss = lm.loss(x, x + 1)
            loss.backward()
            optimizer.step(clip=1.0)
            optimizer.zero_grad()
        self.assertLess(loss.item(), 0.2)
        self.assertEqual(list(lm.generate([0], 5, temperature=0)), [1, 2, 3, 4, 5])
        loss, each = lm.loss(x, x + 1, token_losses=True)
        self.assertAlmostEqual(loss.item(), each.numpy().mean(), places=5)
        logits = lm.logits(x).numpy()
        p = np.exp(logits - logits.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        self.assertAlmostEqual(-np.log(p[0, np.arange(8), np.arange(8) + 1]).mean(), loss.item(), places=5)
        self.assertEqual(lm.config["d_model"], 16)

    def test_a_recomputed_pass_outlives_the_last_user(self):
        x = np.arange(8)[None] % 20

        def loss():
            lm = asc.LM(CONFIG, seed=1)
            lm.set_recompute(True)
            return lm.loss(x, x), lm.parameters()[0]

        found, parameter = loss()
        gc.collect()
        found.backward()
        self.assertGreater(np.abs(parameter.grad.numpy()).max(), 0)

    def assert_nothing_stays(self, once, what):
        held = []
        gc.collect()
        gc.freeze()  # what was there before need not be looked through each time
        self.addCleanup(gc.unfreeze)
        for _ in range(12):
            once()
            gc.collect()
            held.append(asc.memory()["bytes"])
        self.assertEqual(held[-1], held[3], what)

    def test_layers_leave_nothing(self):
        z = np.random.default_rng(0).normal(size=(2, 4, 8)).astype("f4")
        for mixing in asc.mixings():
            layer = asc.Layer(mixing, 8, **({"aux_coh": 0.1} if mixing == "ascender" else {}))
            self.assert_nothing_stays(lambda: layer(z, return_aux=True), mixing)
            self.assert_nothing_stays(lambda: layer(z).sum().backward(), mixing)
            if mixing != "conv":  # has nothing to show
                self.assert_nothing_stays(lambda: layer.inspect(z), mixing)

    def test_an_auxiliary_loss_leaves_nothing(self):
        x, y = np.array([[1, 2, 3]]), np.array([[2, 3, 4]])
        lm = asc.LM({**CONFIG, "mix": "ascender", "aux_coh": 0.1})
        self.assert_nothing_stays(lambda: lm.objective(x, y).backward(), "objective")
        without = lm.loss(x, y).item()
        self.assertGreater(lm.objective(x, y).item(), without)

    def test_passes_leave_nothing(self):
        x, y = np.array([[1, 2, 3]]), np.array([[2, 3, 4]])
        for pos_emb in (True, False):
            for mixing in asc.mixings():
                heads = {"heads": 2} if mixing in ("transformer", "ascender", "linear") else {}
                config = {key: value for key, value in CONFIG.items() if key != "heads"}
                lm = asc.LM({**config, **heads, "mix": mixing, "pos_emb": pos_emb})
                passes = (
                    lambda: lm.logits(x),
                    lambda: lm.objective(x, y).backward(),
                    lambda: lm.loss(x, y, token_losses=True),
                    lambda: lm.inspect(x, 0),
                    lambda: list(lm.generate([1], 12)),
                )
                for i, once in enumerate(passes):
                    self.assert_nothing_stays(once, f"{mixing}, pos_emb {pos_emb}, pass {i}")

    def test_generation_is_lazy_and_goes_on(self):
        lm = asc.LM(CONFIG, seed=1)
        tokens = lm.generate([1, 2], 10**9)
        self.assertEqual(len([next(tokens) for _ in range(30)]), 30)  # beyond the block
        with self.assertRaisesRegex(ValueError, "tokenizer"):
            lm.generate("text")
        with self.assertRaisesRegex(asc.Error, "generate: prompt is 3, expected text or ids"):
            lm.generate(3)
        with self.assertRaisesRegex(asc.Error, "generate: prompt is ..the.., expected text or ids"):
            lm.generate(["the"])
        with self.assertRaisesRegex(asc.Error, "generate: count is -1, expected 0 or more"):
            lm.generate([1], -1)

    def test_without_a_prompt_a_line_begins(self):
        lm = asc.LM({**CONFIG, "vocab": 256}, seed=1)
        lm.tokenizer = asc.Tokenizer("byte")
        self.assertEqual(list(lm.generate([], 20)), list(lm.generate(list(b"\n"), 20)))

    def test_text_goes_on_behind_its_prompt(self):
        words = asc.Tokenizer("word")
        words.collect("the dog sees a cat .\n")
        lm = asc.LM({**CONFIG, "vocab": words.size}, seed=1)
        lm.tokenizer = words
        prompt = words.encode("the dog").tolist()
        whole = words.decode(prompt + list(lm.generate(prompt, 12)))
        self.assertEqual("the dog" + "".join(lm.generate("the dog", 12)), whole)

    def test_evaluations_leave_dropout_and_what_is_carried(self):
        lm = asc.LM(CONFIG, seed=1, pos_emb=False, positions="rotary")
        tokens = list(lm.generate([1], 12, temperature=0))
        x = np.arange(8).reshape(1, 8)
        lm.set_dropout(0.5)
        self.assertEqual(list(lm.generate([1], 12, temperature=0)), tokens)
        asc.set_step(1, 1)
        dropped = float(lm.loss(x, x))
        asc.set_step(1, 1)
        self.assertEqual(float(lm.loss(x, x)), dropped)
        lm.set_dropout(0)
        self.assertNotEqual(float(lm.loss(x, x)), dropped)
        with lm.carried(8) as carried:
            with lm.carried(4):
                pass
            list(lm.generate([1], 2))
            lm.objective(x, x).backward()
            carried.advance()
            self.assertEqual(len(carried), 8)

    def test_garbage_in_any_order(self):
        program = """
import gc, ascgrad as asc
def lm():
    return asc.LM(mix="transformer", heads=2, d_model=8, layers=1, vocab=9, block=8, pos_emb=False, positions="rotary")
class Trainer:
    def __init__(self):
        self.lm, self.hook = lm(), self.step
        self.carried, self.drawn = self.lm.carried(4), self.lm.generate([1], 10)
        next(self.drawn)
    def step(self): pass
for _ in range(20):
    Trainer()
    gc.collect()
held = lm()
carried = held.carried(8)
with carried:
    held.objective([[1, 2]], [[2, 3]]).backward()
    carried.advance()
drawn = held.generate([1], 10)
next(drawn)
print("the end")
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "the end\n"), done.stderr)

    def test_options_of_0_are_0(self):
        def trained(**options):
            w = asc.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
            optimizer = asc.AdamW([w], lr=0.1, **options)
            for _ in range(3):
                optimizer.zero_grad()
                (w * w * w).sum().backward()
                optimizer.step()
            return w.numpy().tolist()

        self.assertNotEqual(trained(betas=(0.0, 0.999)), trained())
        for zero in (0, np.float32(0), np.float64(0)):
            self.assertEqual(trained(betas=(zero, 0.999)), trained(betas=(0.0, 0.999)))
        np.testing.assert_allclose(trained(betas=(0.0, 0.999)), trained(betas=(1e-12, 0.999)))
        with self.assertRaisesRegex(asc.Error, "params: 0 is read-only"):
            frozen = np.ones(3)
            frozen.flags.writeable = False
            p = asc.from_numpy(frozen)
            p.requires_grad = True
            asc.SGD([p])

    def test_seeds_may_be_numpys(self):
        values = []
        for seed in (3, np.int64(3), np.uint8(3)):
            asc.manual_seed(seed)
            values.append(asc.Layer("conv", 4).parameters()[0].tolist())
        self.assertEqual(values[1:], values[:1] * 2)

    def test_names_stay_with_their_parameters(self):
        params, other = asc.Layer("transformer", 8).parameters(), asc.Layer("conv", 8).parameters()
        for change in (
            lambda: params.append(other[0]),
            lambda: params.extend(other),
            lambda: params.pop(),
            lambda: params.__setitem__(0, other[0]),
        ):
            with self.assertRaisesRegex(TypeError, "parameters can't be changed"):
                change()
        for again in (pickle.loads(pickle.dumps(params)), copy.deepcopy(params)):
            self.assertEqual((again.names, len(again)), (params.names, len(params)))
        n = len(params)
        params += other
        self.assertEqual(len(asc.AdamW(params).params.items()), n + len(other))

    def test_an_optimizers_state_goes_on(self):
        x = np.arange(8)[None] % 20
        for make in (asc.AdamW, asc.Muon, asc.SGD):
            lm = asc.LM(CONFIG, seed=1)

            def train(optimizer, steps):
                for _ in range(steps):
                    lm.loss(x, x + 1).backward()
                    optimizer.step()
                    optimizer.zero_grad()

            with tempfile.TemporaryDirectory() as folder:
                model, state = os.path.join(folder, "model"), os.path.join(folder, "state")
                optimizer = make(lm.parameters(), lr=1e-2, average=0.5)
                train(optimizer, 3)
                optimizer.save(state)
                asc.save_safetensors(model, lm.parameters())
                train(optimizer, 2)
                expected = lm.logits(x).numpy()
                for name, value in asc.load_safetensors(model)[0].items():
                    lm.parameters()[name].numpy()[...] = value
                optimizer = make(lm.parameters(), lr=1e-2, average=0.5)
                optimizer.load(state)
                train(optimizer, 2)
                np.testing.assert_array_equal(lm.logits(x), expected)

    def test_a_state_of_other_parameters_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state.safetensors")
            asc.AdamW([asc.ones(2), asc.ones(3)]).save(path)
            for others in ([asc.ones(2)], {"a": asc.ones(2), "b": asc.ones(3)}, [asc.ones(2), asc.ones(4)]):
                with self.assertRaisesRegex(asc.FormatError, "expected the state of AdamW of these parameters: "):
                    asc.AdamW(others).load(path)

    def test_no_step_by_a_norm_that_is_not_finite(self):
        for factor in (np.nan, np.inf):
            w = asc.tensor([1.0], requires_grad=True)
            (w * factor).sum().backward()
            with self.assertRaisesRegex(asc.NonFiniteError, f"norm of the gradients is {factor}") as caught:
                asc.SGD([w]).step(clip=1.0)
            self.assertEqual(caught.exception.status, asc.Status.NONFINITE)
            self.assertEqual(w.tolist(), [1])

    def test_averaged_weights(self):
        w = asc.tensor([1.0], requires_grad=True)
        optimizer, seen = asc.SGD([w], lr=1.0, average=0.5), []
        for _ in range(3):
            w.sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            optimizer.average()
            seen.append(w.item())
        optimizer.swap_average()
        self.assertTrue(min(seen) < w.item() <= max(seen), w.item())
        optimizer.swap_average()
        self.assertEqual(w.item(), seen[-1])
        with self.assertRaises(asc.StateError):
            asc.SGD([w]).average()

    def test_of_a_runs_configuration(self):
        self.assertEqual(asc.LM({"model": CONFIG, "steps": 3}).config, asc.LM(CONFIG).config)
        with self.assertRaisesRegex(asc.Error, "LM.load"):
            asc.LM("a/run")

    def test_mistakes(self):
        with self.assertRaisesRegex(asc.Error, "d_modle"):
            asc.LM({**CONFIG, "d_modle": 3})
        with self.assertRaises(OSError):
            asc.LM.load("/nowhere")
        with self.assertRaisesRegex(TypeError, "makes another model"):
            asc.LM(CONFIG).load("/nowhere")
        with self.assertRaisesRegex(asc.Error, "an op made '0', expected a leaf"):
            asc.AdamW([asc.tensor(np.ones(3), requires_grad=True) * 0.1])


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "runs", "first")
        os.mkdir(os.path.dirname(cls.path))
        cls.seen = []
        cls.run_ = asc.train(
            cls.path,
            progress=lambda p: cls.seen.append(p["step"]),
            preset="tiny",
            data="builtin:3000",
            tokenizer="word",
            model="grassmann",
            steps=20,
            log_every=5,
        )

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_the_run_as_tables(self):
        self.assertEqual(self.run_.info["state"], "done")
        metrics = self.run_.metrics()
        self.assertEqual(metrics["step"].tolist()[-1], 20)
        self.assertEqual(len({len(column) for column in metrics.values()}), 1)
        self.assertEqual(self.run_.settings["steps"], 20)
        self.assertEqual(max(self.seen), 20)
        os.mkdir(os.path.join(self.folder.name, "tables"))
        with open(os.path.join(self.folder.name, "tables", "systems.csv"), "w", encoding="utf-8") as file:
            file.write("system,ppl\nours,3.5\n")
        tables = asc.experiment(self.folder.name)
        self.assertEqual((tables["runs"]["run"], tables["runs"]["steps"]), (["first"], [20]))
        self.assertEqual(tables["systems"], {"system": ["ours"], "ppl": [3.5]})

    def test_compare(self):
        one, other, third = (os.path.join(self.folder.name, name) for name in ("seed-2", "wide", "wide-2"))
        settings = dict(preset="tiny", data="builtin:3000", tokenizer="word", steps=20)
        asc.train(one, seed=2, **settings)
        asc.train(other, ffn=40, **settings)
        asc.train(third, ffn=40, seed=2, **settings)
        found = asc.compare({"tiny": [self.path, one], "wide": other}, resamples=200)
        self.assertEqual((found["unit"], found["reason"]), ("block", None))
        table, differences = found["systems"], found["comparisons"]
        self.assertEqual((table["name"], table["seeds"]), (["tiny", "wide"], [2, 1]))
        self.assertTrue(table["loss_std"][0] > 0 and np.isnan(table["loss_std"][1]))
        self.assertEqual((differences["a"], differences["b"], differences["seeds"]), (["wide"], ["tiny"], [1]))
        lm = asc.LM.load(other)
        loss = lm.evaluate(asc.Dataset(lm.data).split("test", lm.tokenizer))["loss"]
        self.assertAlmostEqual(table["loss"][1], loss)
        self.assertLess(differences["ci_low"][0], differences["ci_high"][0])
        beside = ["compare", f"tiny={self.path},{one}", other, "--json", "--resamples", "200"]
        if "ASCGRAD" in os.environ:
            said = json.loads(subprocess.run([os.environ["ASCGRAD"], *beside], capture_output=True, check=True).stdout)
            for key, rows in (("systems", table), ("comparisons", differences)):
                self.assertLessEqual(set(said[key][0]), set(rows))
                for name in set(said[key][0]) - {"name", "a", "b"}:
                    values = [None if v != v else v for v in rows[name]]
                    self.assertEqual([row[name] for row in said[key]], values, name)
        both = asc.compare({"tiny": [self.path, one], "wide": [other, third]}, resamples=200)["comparisons"]
        self.assertEqual(both["seeds"], [2])
        self.assertLess(both["seeds_ci_low"][0], both["seeds_ci_high"][0])
        copied = os.path.join(self.folder.name, "copied")
        shutil.copytree(one, copied)
        with self.assertLogs("ascgrad") as said:
            asc.compare({"tiny": [one, copied, self.path, other]}, resamples=200)
        self.assertRegex(said.output[0], "seed-2 and .*copied are the same model, and count as two seeds")
        self.assertRegex(said.output[1], "first and .*wide have the same seed, 1")
        self.assertEqual(len(said.output), 2)
        shutil.rmtree(copied)
        with self.assertRaisesRegex(asc.ArgumentError, "twice in tiny"):
            asc.compare({"tiny": [self.path, one, os.path.join(self.path, "")], "wide": other})
        with self.assertRaisesRegex(asc.Error, "nowhere"):
            asc.compare({"a": self.path, "b": "nowhere"})
        with self.assertRaisesRegex(asc.ArgumentError, "no systems"):
            asc.compare({})
        with self.assertRaisesRegex(asc.Error, "different texts"):
            asc.compare({"a": self.path, "b": self.cut()})

    def cut(self):
        """A run on another text."""
        path = os.path.join(self.folder.name, "other-text")
        with asc.no_grad():  # a training records all the same
            asc.train(path, preset="tiny", data="builtin:3000:5", tokenizer="word", steps=2)
        return path

    def test_load_evaluate_generate(self):
        lm = asc.LM.load(self.path)
        data = asc.Dataset("builtin:3000")
        split = data.split("valid", lm.tokenizer)
        found = lm.evaluate(split, losses=True)
        self.assertAlmostEqual(found["loss"], self.run_.info["valid_loss"], places=6)
        self.assertAlmostEqual(found["losses"].mean(), found["loss"])
        self.assertEqual(found["ids"].tolist(), split.tokens[1:].tolist())
        text = "".join(lm.generate("the ", 12))
        self.assertEqual(text, "".join(lm.generate("the ", 12)))
        tokenizer = lm.tokenizer
        del lm
        self.assertGreater(len(tokenizer.encode("the")), 0)

    def test_save(self):
        lm, path, x = asc.LM.load(self.path), os.path.join(self.folder.name, "copy.safetensors"), np.arange(6)[None]
        lm.save(path)
        again = asc.LM.load(path)
        np.testing.assert_array_equal(again.logits(x), lm.logits(x))
        self.assertEqual(again.tokenizer.vocabulary, lm.tokenizer.vocabulary)
        other = asc.LM({**CONFIG, "vocab": 256})
        other.save(path, asc.Tokenizer("byte"))
        np.testing.assert_array_equal(asc.LM.load(path).logits(x), other.logits(x))

    def test_save_without_a_tokenizer(self):
        path, x = os.path.join(self.folder.name, "ids.safetensors"), np.arange(6)[None]
        for dtype in ("f32", "f64"):
            lm = asc.LM(CONFIG, dtype=dtype)
            lm.save(path)
            again = asc.LM.load(path)
            self.assertIsNone(again.tokenizer)
            self.assertEqual(again.config, lm.config)
            np.testing.assert_array_equal(again.logits(x), lm.logits(x))
            self.assertEqual(list(again.generate([1], 4)), list(lm.generate([1], 4)))
        again.save(path)
        del again
        asc.save_safetensors(path, {"a": np.ones(2)})
        with self.assertRaisesRegex(asc.FormatError, "is no model"):
            asc.LM.load(path)

    def test_what_others_callbacks_raise_is_none_of_the_trainings(self):
        foreign = ctypes.CFUNCTYPE(None)(lambda: 1 / 0)
        before, sys.unraisablehook = sys.unraisablehook, lambda what: None
        settings = dict(preset="tiny", data="builtin:3000", tokenizer="word", model="conv", steps=3)
        try:
            run = asc.train(os.path.join(self.folder.name, "beside"), lambda p: foreign(), **settings)
        finally:
            sys.unraisablehook = before
        self.assertEqual(run.info["state"], "done")

    def test_ctrl_c_ends_a_training_and_later_calls(self):
        # A process that was started in the background ignores SIGINT.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        settings = dict(preset="tiny", data="builtin:3000", tokenizer="word", model="conv", steps=20000, log_every=1)

        def interrupt(path, done):
            while not os.path.exists(path) and not done.wait(0.01):
                pass
            if not done.is_set():
                os.kill(os.getpid(), signal.SIGINT)

        for name, progress in (("alone", None), ("told", lambda p: None)):
            path = os.path.join(self.folder.name, name)
            done = threading.Event()
            thread = threading.Thread(target=interrupt, args=(os.path.join(path, "metrics.jsonl"), done))
            thread.start()
            try:
                with self.assertRaises(KeyboardInterrupt):
                    asc.train(path, progress, **settings)
            finally:
                done.set()
                thread.join()
            self.assertEqual(asc.Run(path).info["state"], "interrupted")
        q = np.ones((1, 2000, 64))
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            for _ in range(1000):
                asc.attention(q, q, q, heads=4)

    @unittest.skipIf(sys.version_info < (3, 10), "there Python itself leaves `with lock` without its end")
    def test_interrupts_of_generate_leave_the_lock(self):
        lm = asc.LM(mix="transformer", d_model=8, d_ff=8, layers=1, vocab=8, block=8, heads=1)
        held = []  # as a notebook has the last traceback
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = lambda what: None
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, signal.default_int_handler))
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        for i in range(600):
            try:
                signal.setitimer(signal.ITIMER_REAL, 3e-4 + 1e-6 * i)
                list(lm.generate([1], 200))
            except KeyboardInterrupt as error:
                held.append(error)
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.assertGreater(len(held), 300)
        other = threading.Thread(target=lambda: asc.ones(3), daemon=True)
        other.start()
        other.join(60)
        self.assertFalse(other.is_alive())
        self.assertTrue((2 * asc.tensor(np.ones(1), requires_grad=True)).requires_grad)

    def test_a_stop_and_a_resume(self):
        path = os.path.join(self.folder.name, "second")
        settings = dict(preset="tiny", data="builtin:3000", tokenizer="word", steps=12)
        with self.assertRaises(asc.InterruptedCall):
            asc.train(path, progress=lambda p: p["step"] < 5, **settings)
        with self.assertRaises(ZeroDivisionError):
            asc.train(path, resume=True, progress=lambda p: 1 / (p["step"] - 8))
        self.assertEqual(asc.train(path, resume=True).info["step"], 12)
        with self.assertRaisesRegex(asc.Error, "stepz"):
            asc.train(path + "x", stepz=3)


class Scores(unittest.TestCase):
    def test_paired(self):
        a = np.random.default_rng(0).normal(size=200)
        found = asc.paired(a + 0.5, a + np.linspace(-0.1, 0.1, 200), resamples=500)
        self.assertAlmostEqual(found["difference"], 0.5)
        self.assertTrue(found["ci_low"] < 0.5 < found["ci_high"])
        self.assertLess(found["p_bootstrap"], 0.01)
        with self.assertRaisesRegex(asc.Error, "paired"):
            asc.paired([1.0], [1.0, 2.0])


class Data(unittest.TestCase):
    def test_tokens_and_text(self):
        data = asc.Dataset("builtin:2000")
        words = data.collect(asc.Tokenizer("word"))
        split = data.split("train", words)
        tokens = split.tokens
        del split
        self.assertEqual(words.encode(data.text("train"), corpus=True).tolist(), tokens.tolist())
        with self.assertRaises(ValueError):
            tokens[0] = 1
        self.assertGreater(data.entropy("valid"), 0)
        with self.assertRaisesRegex(ValueError, "valid"):
            data.text("dev")

    def test_batches(self):
        data = asc.Dataset("builtin:2000")
        split = data.split("train", data.collect(asc.Tokenizer("word")))
        batches = list(split.batches(16, 4))
        self.assertEqual(sum(len(x) for x, _ in batches), split.blocks(16))
        for x, y in batches:
            np.testing.assert_array_equal(x[:, 1:], y[:, :-1])

    def test_a_tasks_length(self):
        data = asc.Dataset("task:copy")
        tokenizer = data.collect(asc.Tokenizer("word"))
        data.stretch(100)
        split = data.split("test", tokenizer)
        self.assertEqual(set(np.diff(split.sequences)), {101})
        x, y = split.batch([0, 1], 1)
        self.assertEqual((x.shape, (y < 0).any()), ((2, 100), True))
        with self.assertRaises(asc.Error):
            asc.Dataset("builtin:1000").stretch(10)

    def test_bytes_and_bpe(self):
        self.assertEqual(asc.Tokenizer("byte").encode("aß").tolist(), list("aß".encode()))
        self.assertEqual(asc.Tokenizer("byte").decode("aß".encode()), "aß")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tokenizer.json")
            self.assertEqual(asc.learn_bpe("low lower lowest " * 20, 262, path), 262)
            bpe = asc.Tokenizer(f"bpe:{path}")
            ids = bpe.encode("low lower")
            self.assertLess(len(ids), 9)
            self.assertEqual(bpe.decode(ids), "low lower")
            with open(path, encoding="utf-8") as file:
                json.load(file)


if __name__ == "__main__":
    unittest.main()
