"""The functions made from the registry, errors, an op of one's own."""

import copy
import gc
import inspect
import pickle
import subprocess
import sys
import unittest
import weakref

import numpy as np

import ascgrad as asc
from ascgrad import _c, ops
from ascgrad._library import lib


def registry():
    """The library's ops: name, inputs."""
    i = 0
    while at := lib.asc_op_at(i):
        op = _c.asc_op.from_address(at)
        yield op.name.decode(), op.inputs.decode().split()
        i += 1


class Registry(unittest.TestCase):
    def test_every_op_is_a_function_with_its_inputs_in_order(self):
        for name, inputs in registry():
            function = getattr(asc, name)
            names = [p.name for p in inspect.signature(function).parameters.values()]
            wanted = [i.rstrip("?") for i in inputs if i not in ("...", "k_of?")]
            self.assertEqual(names[: len(wanted)], wanted, name)
            self.assertTrue(function.__doc__, name)
            self.assertFalse({"ctx", "fail", "lib", "lock", "mode", "new", "pending", "state"} & set(names), name)

    def test_the_stub_compiles_and_has_all(self):
        path = ops.__file__ + "i"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        compile(text, path, "exec")
        for name in ops.__all__:
            self.assertIn(f"def {name}(", text)

    def test_every_function_of_one_element(self):
        x = asc.tensor([0.3, 0.7], requires_grad=True)
        for name, inputs in registry():
            if inputs == ["x"] and all(
                p.default is not p.empty or p.name == "x"
                for p in inspect.signature(getattr(asc, name)).parameters.values()
            ):
                y = getattr(asc, name)(x)
                self.assertTrue(np.isfinite(y.numpy()).all(), name)


class Values(unittest.TestCase):
    def test_some(self):
        rng = np.random.default_rng(0)
        x, w, b = rng.normal(size=(2, 5, 4)), rng.normal(size=(3, 4)), rng.normal(size=3)
        np.testing.assert_allclose(asc.linear(x, w, b), x @ w.T + b, rtol=1e-12)
        np.testing.assert_allclose(asc.einsum("bnd,ed->bne", x, w), x @ w.T, rtol=1e-12)
        np.testing.assert_allclose(asc.concat(x, x, dim=1), np.concatenate([x, x], 1))
        np.testing.assert_allclose(asc.stack([x, x]), np.stack([x, x]))
        np.testing.assert_allclose(asc.mean(x, (0, -1)), x.mean((0, 2)))
        np.testing.assert_allclose(asc.tensor(x).sum(dims=1, keepdim=True), x.sum(1, keepdims=True))
        np.testing.assert_allclose(asc.tensor(x).mean(dim=-1), x.mean(-1))
        for dim in (-1, 2):
            np.testing.assert_allclose(asc.softmax(x, dim=dim), asc.softmax(x))
        with self.assertRaisesRegex(asc.Error, "log_softmax: dim is 0"):
            asc.log_softmax(x, dim=0)
        np.testing.assert_allclose(asc.permute(x, (2, 0, 1)), x.transpose(2, 0, 1))
        np.testing.assert_allclose(
            asc.pad(x, [0, 1, 0], [0, 0, 2], value=3), np.pad(x, [(0, 0), (1, 0), (0, 2)], constant_values=3)
        )
        np.testing.assert_allclose(asc.where(x > 0, x, 0.0), np.where(x > 0, x, 0))
        np.testing.assert_allclose(asc.embedding(w, [[2, 0]]), w[[[2, 0]]])
        np.testing.assert_allclose(asc.cast(asc.tensor(x), "f32"), x.astype("f"))
        np.testing.assert_array_equal(asc.arange(5), np.arange(5))
        self.assertEqual([p.shape for p in asc.split(x, [1, 3])], [(2, 5, 1), (2, 5, 3)])

    def test_further_results(self):
        values, index = asc.topk(np.array([3.0, 1.0, 2.0]), k=2, return_index=True)
        self.assertEqual((values.tolist(), index.tolist()), ([3, 2], [0, 2]))
        loss, each = asc.cross_entropy(np.zeros((2, 4)), [1, 2], return_token_loss=True)
        np.testing.assert_allclose(each, [np.log(4)] * 2)
        self.assertAlmostEqual(loss.item(), np.log(4))

    def test_structs_of_attributes(self):
        rng = np.random.default_rng(0)
        q, k, v = rng.normal(size=(3, 2, 6, 8))
        y = asc.attention(q, k, v, heads=2, causal=True)
        np.testing.assert_allclose(y.numpy()[:, 0], v[:, 0])
        g = asc.grassmann(q, rng.normal(size=(5, 28)), offsets=[1, 2])
        self.assertEqual(g.shape, (2, 6, 5))
        s = asc.subspace(q, rng.normal(size=(5, 56)), k=3, tuples=[[1, 2], [1, 4]])
        self.assertEqual(s.shape, (2, 6, 5))
        scalars = {
            name: np.ones(2)
            for name in (
                "lambda_align",
                "lambda_sep",
                "lambda_coh",
                "tau_sep",
                "tau_coh",
                "kappa",
                "delta",
                "alpha_align",
                "alpha_coh",
                "omega_align",
                "omega_sep",
                "omega_coh",
                "tau_score",
            )
        }
        y, losses = ascender(q, k, v, scalars)
        self.assertEqual((y.shape, losses.shape), ((2, 6, 8), ()))
        same, _ = ascender(q, k, v, scalars, k_of=[3, 3])
        np.testing.assert_array_equal(y, same)

    def test_give_back(self):
        x = asc.tensor([1.0])
        for y in (asc.contiguous(x), asc.cast(x, "f64"), asc.dropout(x, 0.0)):
            del y
        self.assertEqual(x.tolist(), [1.0])
        y = asc.contiguous(x)
        del x
        self.assertEqual(y.tolist(), [1.0])


def ascender(q, k, v, scalars, **more):
    more = more or {"neighbor_count": 3}
    y, *losses = asc.ascender(q, k, v, q, k, heads=2, causal=True, return_losses=True, **scalars, **more)
    return y, losses[0]


class Errors(unittest.TestCase):
    def test_what_they_carry(self):
        with self.assertRaises(asc.Error) as caught:
            asc.linear(np.zeros((2, 3)), np.zeros((4, 5)))
        self.assertIsInstance(caught.exception, ValueError)
        self.assertEqual(caught.exception.status, asc.Status.ARG)
        self.assertEqual(caught.exception.op, "linear")
        self.assertIn("weight is f64 (4, 5)", str(caught.exception))
        with self.assertRaises(OSError) as caught:
            asc.Run("/nowhere/at/all")
        self.assertEqual(caught.exception.status, asc.Status.IO)
        with self.assertRaises(MemoryError):
            asc.zeros((2**40, 2**10))
        with self.assertRaises(asc.Error) as caught:
            asc.Layer("transformer", 8, heads=3)
        self.assertEqual(caught.exception.argument, "heads")
        self.assertEqual(asc.tanh(np.zeros(1)).tolist(), [0])  # as before

    def test_those_of_the_package_itself(self):
        lm = asc.LM({"mix": "transformer", "d_model": 8, "d_ff": 8, "layers": 1, "heads": 2, "vocab": 9, "block": 8})
        for wrong, kind in (
            (lambda: asc.from_numpy(np.zeros(2, np.int32)), TypeError),
            (lambda: asc.from_numpy(np.zeros(2)[::-1]), ValueError),
            (lambda: asc.tensor([1j]), TypeError),
            (lambda: asc.tensor([1.0])[3], IndexError),
            (lambda: asc.sum(np.zeros(2), dims="a"), TypeError),
            (lambda: asc.gradcheck("nothing"), ValueError),
            (lambda: lm.generate("text"), ValueError),
            (lambda: asc.Dataset("builtin:1000").text("dev"), ValueError),
            (lambda: asc.AdamW([1]), TypeError),
        ):
            with self.assertRaises(asc.Error) as caught:
                wrong()
            self.assertIsInstance(caught.exception, kind)
            self.assertIsInstance(caught.exception, ValueError)
            self.assertEqual(caught.exception.status, asc.Status.ARG)

    def test_they_go_to_other_processes(self):
        for wrong in (lambda: asc.LM.load("/nowhere"), lambda: asc.Layer("transformer", 8, heads=3)):
            with self.assertRaises(asc.Error) as caught:
                wrong()
            error, copy = caught.exception, pickle.loads(pickle.dumps(caught.exception))
            self.assertIs(type(copy), type(error))
            self.assertEqual(str(copy), str(error))
            self.assertEqual((copy.status, copy.op, copy.argument), (error.status, error.op, error.argument))

    def test_attributes(self):
        for wrong, message in (
            (lambda: asc.conv1d(np.zeros((1, 2, 3)), np.zeros((1, 3, 1)), padding="much"), "causal"),
            (lambda: asc.softmax("text"), "softmax"),
            (lambda: asc.sum(np.zeros(2), dims=0.5), "dims"),
            (lambda: asc.nothing, "nothing"),
            (lambda: asc.zeros(2, "float16"), "float16"),
        ):
            with self.assertRaisesRegex((TypeError, ValueError, AttributeError), message):
                wrong()


    def test_tuples_of_another_size(self):
        z = np.ones((1, 5, 4))
        for k, tuples in ((3, [[1, 2, 3]]), (1, []), (3, [[1, 2], [1, 3], [4]])):
            with self.assertRaisesRegex(ValueError, "tuples has"):
                asc.subspace(z, np.ones((3, 8)), k=k, tuples=tuples)
        self.assertEqual(asc.subspace(z, np.ones((3, 4)), k=3, tuples=[[1, 2], [1, 3]]).shape, (1, 5, 3))

    def test_lists_have_their_length(self):
        x = np.ones((2, 3))
        self.assertEqual(asc.pad(x, [1, 0], [0, 2]).shape, (3, 5))
        with self.assertRaisesRegex(asc.ArgumentError, "after has 1 numbers, expected 2, as before has"):
            asc.pad(x, [1, 1], [1])
        names = ("lambda_align", "lambda_sep", "lambda_coh", "tau_sep", "tau_coh", "kappa", "delta", "alpha_align")
        names += ("alpha_coh", "omega_align", "omega_sep", "omega_coh", "tau_score")
        scalars = {name: np.full(2, 0.5) for name in names}
        q = np.ones((1, 4, 4))
        self.assertEqual(asc.ascender(q, q, q, q, q, **scalars, heads=2, k_of=[1, 2]).shape, (1, 4, 4))
        for k_of in ([2], [1, 2, 3]):
            with self.assertRaisesRegex(asc.ArgumentError, "k_of has . numbers, expected 2, one a head"):
                asc.ascender(q, q, q, q, q, **scalars, heads=2, k_of=k_of)

    def test_arrays_without_dimensions_are_numbers(self):
        x = asc.tensor(np.ones((2, 3)))
        for dim in (np.array(1), asc.tensor(np.array(1)), [np.array(1)]):
            self.assertEqual(x.sum(dim).tolist(), [3, 3])

    def test_numbers_of_numpys_beside_a_tensor(self):
        f = asc.tensor([1.0, 2.0], dtype="f32")
        for number in (np.float64(2), np.float16(2), 2.0):
            self.assertEqual(asc.add(f, number).tolist(), [3, 4])
            self.assertEqual(asc.where(f > 1, f, number).tolist(), [2, 2])
        self.assertEqual(asc.where(f > 1, np.float64(1.5), np.float64(0)).tolist(), [0, 1.5])
        self.assertEqual(asc.exp(np.float32(0)).dtype, np.float32)


INTERRUPTED = """
import signal
import numpy as np
import ascgrad as asc

signal.signal(signal.SIGALRM, signal.default_int_handler)
sine = asc.Op("sine", np.sin, lambda g, x: g * np.cos(x))
ended = 0

def again():
    while True:
        w = asc.tensor(np.ones((5, 5)), requires_grad=True)
        sine(w).sum().backward()

for i in range(60):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.003 + i * 2e-4, 0.05)
        again()
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0)
        ended += 1
    w = asc.tensor(np.ones(3), requires_grad=True)
    sine(w).sum().backward()
    assert np.array_equal(w.grad, np.cos(np.ones(3)))
print(ended)
"""


class Own(unittest.TestCase):
    def test_ctrl_c_within_its_functions(self):
        # What hits a __del__ is lost, and said, by Python.
        child = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
        self.assertEqual((child.returncode, child.stdout), (0, "60\n"), child.stderr)

    def test_an_interrupt_of_what_an_error_says(self):
        class Wordless(Exception):
            def __str__(self):
                raise KeyboardInterrupt

        def forward(x):
            if x[0] == 0:
                raise Wordless
            return np.sin(x)

        sine = asc.Op("sine", forward)
        with self.assertRaisesRegex(asc.Error, "sine: Wordless"):
            sine(np.zeros(2))
        self.assertEqual(sine(np.ones(2)).tolist(), np.sin(np.ones(2)).tolist())

    def test_no_grad_within_its_functions(self):
        def backward(g, x):
            with asc.no_grad():
                return g * (1 - asc.tanh(x).numpy() ** 2)

        w = asc.tensor(np.ones(3), requires_grad=True)
        op = asc.Op("hidden_tanh", np.tanh, backward)
        op(w).sum().backward()
        with asc.no_grad():
            self.assertFalse(asc.tanh(w).requires_grad)
        self.assertTrue(asc.tanh(w).requires_grad)

    def test_within_itself(self):
        def halved(x):
            return np.append(split(x[:-1]).numpy() * 2, x[-1:]) if x.size > 1 else x

        split = asc.Op("split", halved, lambda g, x: g)
        self.assertEqual(split(np.ones(5)).tolist(), [16, 8, 4, 2, 1])

    def test_the_dtype_of_an_op_whose_first_input_is_absent(self):
        op = asc.Op("second", lambda a, b: b, inputs="a? b")
        self.assertEqual(op(None, np.array([0.1])).item(), 0.1)

    def test_what_is_checked_alone_goes(self):
        sine = asc.Op("sine", np.sin, lambda g, x: g * np.cos(x), samples=[[(3,)]])
        asc.gradcheck(sine)
        alive = weakref.ref(sine)
        del sine
        gc.collect()
        self.assertIsNone(alive())

    def wave(self, factor=1.0):
        return asc.Op(
            "wave",
            lambda x: x * np.sin(x),
            lambda g, x: (factor * g * (np.sin(x) + x * np.cos(x)),),
            samples=[[(3, 5)], [()]],
            equation="y = x sin x",
        )

    def test_value_gradient_and_check(self):
        wave, x = self.wave(), asc.tensor([0.5, 2.0], requires_grad=True)
        y = wave(x)
        np.testing.assert_allclose(y, x.numpy() * np.sin(x.numpy()))
        y.sum().backward()
        np.testing.assert_allclose(x.grad, np.sin(x.numpy()) + x.numpy() * np.cos(x.numpy()))
        self.assertTrue(asc.gradcheck(wave)["passed"])

    def test_two_functions(self):
        found = asc.gradcheck(lambda a, b: a * b, lambda g, a, b: (g * b, g * a), [[(3,), (3,)]], inputs="a b")
        self.assertTrue(found["passed"])
        self.assertFalse(asc.gradcheck(np.square, lambda g, x: g * x, [[(3,)]], raises=False)["passed"])

    def test_a_wrong_gradient_fails(self):
        with self.assertRaisesRegex(AssertionError, "wave: x"):
            asc.gradcheck(self.wave(1.01))

    def test_the_librarys_own(self):
        self.assertGreater(asc.gradcheck("tanh")["digits"], 5)
        self.assertEqual(asc.gradcheck(asc.tanh)["elements"], asc.gradcheck("tanh")["elements"])
        with self.assertRaisesRegex(ValueError, "nothing"):
            asc.gradcheck("nothing")

    def test_a_backward_that_is_given_is_checked(self):
        for op in ("tanh", asc.Op("a", np.tanh, lambda g, x: g, samples=[[(3,)]])):
            with self.assertRaisesRegex(ValueError, "backward is given"):
                asc.gradcheck(op, lambda g, x: g)
        with self.assertRaises(AssertionError):
            asc.gradcheck(asc.tanh, lambda g, x: g, [[(3,)]])

    def test_an_optional_input(self):
        def plus(a, b):
            return a if b is None else a + b

        op = asc.Op("plus", plus, lambda g, a, b: (g, None if b is None else g), inputs="a b?")
        x = asc.tensor([1.0, 2.0], requires_grad=True)
        op(x, None).sum().backward()
        self.assertEqual((op(x, None).tolist(), op(x, x).tolist(), x.grad.tolist()), ([1, 2], [2, 4], [1, 1]))

    def test_what_functions_keep_outlives_a_check(self):
        kept = []

        def double(x):
            kept.append(asc.tensor([3.0]))
            return 2 * x

        asc.gradcheck(double, lambda g, x: 2 * g, [[(3,)]])
        self.assertEqual({t.item() for t in kept}, {3.0})

    def test_nothing_to_be_checked(self):
        with self.assertRaisesRegex(ValueError, "square has no samples"):
            asc.gradcheck(np.square, lambda g, x: 2 * g * x)
        with self.assertRaisesRegex(ValueError, "square has no backward"):
            asc.gradcheck(np.square, samples=[[(3,)]])

    def test_an_exception_goes_on(self):
        def refuse(x):
            raise KeyError("mine")

        with self.assertRaisesRegex(asc.Error, "mine") as caught:
            asc.Op("refuse", refuse)(np.zeros(2))
        self.assertIsInstance(caught.exception.__cause__, KeyError)

    def test_what_a_check_goes_on_behind_is_no_later_calls(self):
        def refuse_one(x, raised):
            if x.size < 2:
                raise raised
            return 2 * x

        w = asc.tensor(np.ones(2), requires_grad=True)
        optimizer = asc.SGD([w])
        for backward in (False, True):
            functions = [lambda x: 2 * x, lambda g, x: 2 * g]
            functions[backward] = lambda *given: refuse_one(given[0], KeyError("mine"))
            if backward:  # forward computes what backward refuses
                with self.assertRaisesRegex(asc.Error, "size 3 as 0.*mine") as caught:
                    asc.gradcheck(*functions, [[(3,)]])
                self.assertIsInstance(caught.exception.__cause__, KeyError)
            else:
                self.assertTrue(asc.gradcheck(*functions, [[(3,)]])["passed"])
            with self.assertRaises(asc.Error) as caught:
                asc.matmul(np.ones((2, 3)), np.ones((2, 3)))
            self.assertIsNone(caught.exception.__cause__)
            (w * w).sum().backward()
            optimizer.step()
            functions[backward] = lambda *given: refuse_one(given[0], KeyboardInterrupt())
            with self.assertRaises(KeyboardInterrupt):
                asc.gradcheck(*functions, [[(3,)]])
            asc.tanh(np.zeros(1))

    def test_sizes_that_a_check_passes_over(self):
        weights = np.arange(6.0).reshape(3, 2) / 7

        def forward(x):
            return np.tanh(x @ weights) @ weights.T

        def backward(g, x):
            return (g @ weights * (1 - np.tanh(x @ weights) ** 2)) @ weights.T

        self.assertTrue(asc.gradcheck(forward, backward, [[(5, 3)]])["passed"])
        with self.assertRaisesRegex(asc.Error, "size 3 as 0"):  # which the shape takes
            asc.gradcheck(forward, backward, [[(5, 3)]], shape=lambda x: x)

    def test_nor_of_the_calls_that_functions_make(self):
        causes = []

        def double(x):
            if x.size == 0:
                raise KeyError("mine")
            try:
                asc.matmul(np.ones((2, 3)), np.ones((2, 3)))
            except asc.Error as error:
                causes.append(error.__cause__)
            return 2 * x

        asc.gradcheck(double, lambda g, x: 2 * g, [[(3,)]])
        self.assertEqual(set(causes), {None})

    def test_functions_may_keep_and_write_to_what_they_are_given(self):
        kept = []

        def double(x):
            kept.append(x)
            return 2 * x

        def backward(g, x):
            kept.extend([g, x])
            g *= 2
            x[...] = 0
            return g

        op, x = asc.Op("double", double, backward), asc.tensor(np.ones(1000), requires_grad=True)
        y = op(asc.tanh(x))
        (3 * y + 0 * op(y)).sum().backward()
        np.testing.assert_allclose(x.grad, 6 * (1 - np.tanh(x.numpy()) ** 2))
        before = [values.copy() for values in kept]
        others = [asc.full(1000, 9.0, dtype="f64") for _ in range(20)]
        for values, value in zip(kept, before):
            np.testing.assert_array_equal(values, value)
        del others

    def test_two_inputs(self):
        outer = asc.Op(
            "outer_sum",
            lambda a, b: a[:, None] + b,
            lambda g, a, b: (g.sum(1), g.sum(0)),
            inputs="a b",
            shape=lambda a, b: (a[0], b[0]),
            samples=[[(3,), (4,)]],
        )
        self.assertEqual(outer(np.zeros(2), np.ones(3)).shape, (2, 3))
        self.assertTrue(asc.gradcheck(outer)["passed"])
        self.assertIs(copy.deepcopy(outer), outer)

    def test_a_gradient_of_another_shape_is_refused(self):
        x = asc.tensor(np.ones((2, 3)), requires_grad=True)
        y = asc.Op("mean_of_it", lambda x: 2 * x, lambda g, x: g[:1])(x).sum()
        with self.assertRaisesRegex(asc.Error, r"backward returned \(1, 3\) for input 0, expected \(2, 3\)"):
            y.backward()


if __name__ == "__main__":
    unittest.main()
