"""The modules of ascgrad.torch within PyTorch. Values and gradients are also compared with the layers of another
implementation, where ASCGRAD_ORACLE names the folder of its models.py and mixings.py."""

import copy
import gc
import os
import pickle
import sys
import tempfile
import unittest

import numpy as np

import ascgrad as asc

try:
    import torch
    from torch.utils.checkpoint import checkpoint

    from ascgrad import torch as at
except ImportError:
    torch = None

ORACLE = os.environ.get("ASCGRAD_ORACLE")


def setUpModule():
    if torch is None:
        raise unittest.SkipTest("needs PyTorch")
    torch.manual_seed(1)


def all_layers(d_model=8, **more):
    kinds = {
        "Attention": {"heads": 2},
        "ASCender": {"heads": 2, "k": 3},
        "Grassmann": {"r": 4, "offsets": [1, 2]},
        "LinearAttention": {"heads": 2, "decay": "gated"},
        "Conv": {},
        "Recurrent": {},
    }
    return [getattr(at, name)(d_model, **settings, **more) for name, settings in kinds.items()]


def double(*shape, grad=True):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=grad)


def _half_within_autocast(layer, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return copy.deepcopy(layer).bfloat16()(x)


class Gradients(unittest.TestCase):
    def test_gradcheck(self):
        for layer in all_layers(4, dtype=torch.float64):
            names = [n for n, p in layer.named_parameters() if p.requires_grad]

            def run(x, *params):
                return torch.func.functional_call(layer, dict(zip(names, params)), (x,))

            params = tuple(p.detach().clone().requires_grad_() for n, p in layer.named_parameters() if n in names)
            self.assertTrue(torch.autograd.gradcheck(run, (double(1, 4, 4), *params)), layer.mixing)

    def test_bias_context_lengths(self):
        for layer in all_layers(dtype=torch.float64)[:2]:

            def cross(x, context, bias):
                return layer(x, lengths=[2, 4], context=context, bias=bias)

            self.assertTrue(
                torch.autograd.gradcheck(lambda x, bias: layer(x, bias=bias), (double(1, 4, 8), double(1, 2, 4, 4)))
            )
            self.assertTrue(torch.autograd.gradcheck(cross, (double(2, 3, 8), double(2, 4, 8), double(3, 4))))

    def test_attention_as_a_function(self):
        q, bias = double(2, 5, 8), double(2, 5, 5)
        self.assertTrue(
            torch.autograd.gradcheck(lambda q, b: at.attention(q, q, q, b, heads=2, causal=True), (q, bias))
        )
        y = at.attention(q, q, q, heads=2, causal=True)
        split = q.view(2, 5, 2, 4).transpose(1, 2)
        z = torch.nn.functional.scaled_dot_product_attention(split, split, split, is_causal=True)
        torch.testing.assert_close(y, z.transpose(1, 2).reshape(2, 5, 8))

    def test_any_op(self):
        x, index = double(3, 4), torch.tensor([1, 0])
        y = at.call(asc.ops.index_select, x, index, dim=0)
        y.sum().backward()
        torch.testing.assert_close(x.grad, torch.tensor([[1.0], [1], [0]], dtype=torch.float64).expand(3, 4))

    def test_several_passes(self):
        layer, x = all_layers(dtype=torch.float64)[1], double(2, 5, 8)
        layer(x).sum().backward()
        once = x.grad.clone()
        y = layer(x)
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        torch.testing.assert_close(x.grad, 3 * once, rtol=0, atol=1e-12)
        a, b = layer(x), layer(2 * x)  # a layer twice in a graph, backward in another order
        (b.sum() + a.sum()).backward()

    def test_auxiliary_loss(self):
        layer, x = at.ASCender(8, heads=2, k=3, aux_coh=0.5, dtype=torch.float64), double(2, 5, 8)
        self.assertTrue(torch.autograd.gradcheck(lambda x: (layer(x), layer.aux), (x,)))
        layer(x)
        layer.aux.backward()
        self.assertGreater(x.grad.abs().max(), 0)

    def test_cotangents_of_several_results_that_are_not_contiguous(self):
        layer, x = at.ASCender(16, heads=4, aux_coh=0.1), torch.randn(2, 40, 16, requires_grad=True)
        (layer(x).sum() + layer.aux).backward()
        found = x.grad.clone()
        x.grad = None
        ((layer(x) * torch.ones(2, 40, 16)).sum() + layer.aux).backward()
        torch.testing.assert_close(found, x.grad, rtol=0, atol=0)

    def test_ops_of_three_results_and_of_whole_numbers(self):
        x = double(6)
        values, index = at.call(asc.ops.topk, x, k=2, return_index=True)
        values.sum().backward()
        expected = torch.zeros(6, dtype=torch.float64)
        expected[index] = 1
        torch.testing.assert_close(x.grad, expected)
        x.grad = None
        sum((i + 1) * part.sum() for i, part in enumerate(at.call(asc.split, x, parts=3))).backward()
        torch.testing.assert_close(x.grad, torch.tensor([1, 1, 2, 2, 3, 3], dtype=torch.float64))

    def test_dropout_is_the_same_in_every_pass(self):
        for op, more in ((asc.ops.dropout, ()), (asc.ops.add_dropout, (torch.zeros(64),))):
            x = torch.ones(64, requires_grad=True)
            y = checkpoint(lambda z: at.call(op, *more, z, p=0.5), x, use_reentrant=False)
            y.sum().backward()
            torch.testing.assert_close(x.grad, y.detach())
            y = at.call(op, *more, x, p=0.5)
            first, second = (torch.autograd.grad(y.sum(), x, retain_graph=True)[0] for _ in range(2))
            torch.testing.assert_close(first, second)
            torch.manual_seed(5)
            y = at.call(op, *more, x, p=0.5)
            torch.manual_seed(5)
            torch.testing.assert_close(y, at.call(op, *more, x, p=0.5))

    def test_dtypes_that_are_none_of_ours_are_copied(self):
        w = np.eye(3)
        self.assertEqual(asc.embedding(w, torch.tensor([1, 2], dtype=torch.int32)).tolist(), w[[1, 2]].tolist())
        self.assertEqual(asc.tanh(torch.zeros(2, dtype=torch.float16)).dtype, np.float32)
        with self.assertRaisesRegex(TypeError, "int32"):
            asc.from_dlpack(torch.zeros(2, dtype=torch.int32))
        t = torch.zeros(2)
        self.assertEqual(asc.reshape(t, (2, 1)).numpy().ctypes.data, t.data_ptr())

    def test_what_an_op_gives_back(self):
        x = double(5)
        for same in (lambda x: at.call(asc.ops.dropout, x, p=0.0), lambda x: at.call(asc.ops.contiguous, x)):
            x.grad = None
            same(x).sum().backward()
            torch.testing.assert_close(x.grad, torch.ones_like(x))
        a = x * 1
        squares = a**2
        at.call(asc.ops.reshape, a, shape=(5, 1)).mul_(0)  # a copy: PyTorch knows of no view
        x.grad = None
        squares.sum().backward()
        torch.testing.assert_close(x.grad, 2 * x.detach())

    def test_memory_with_its_sign_turned(self):
        layer, z = all_layers()[0], torch.randn(2, 6, 8, dtype=torch.complex64).conj().imag
        torch.testing.assert_close(layer(z), layer(z.clone()))

    def test_a_value_overwritten_before_the_backward_pass(self):
        layer, x = all_layers()[0], torch.randn(1, 4, 8)
        y = layer(x.requires_grad_())
        with torch.no_grad():
            layer.q.weight.add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            y.sum().backward()

    def test_results_changed_in_place(self):
        layer, x = all_layers(dtype=torch.float64)[2], double(2, 5, 8)
        y = layer(x)
        y += x  # no backward pass needs it
        y.sum().backward()
        changed = x.grad.clone()
        x.grad = None
        (layer(x) + x).sum().backward()
        torch.testing.assert_close(changed, x.grad, rtol=0, atol=1e-12)
        y = at.call(asc.ops.tanh, x)
        y += 1
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            y.sum().backward()


class PyTorch(unittest.TestCase):
    def test_no_copy(self):
        layer, x = all_layers()[0], torch.randn(2, 4, 8)
        layer(x)
        leaf = layer._engine.parameters["q.weight"]
        self.assertEqual(leaf.numpy().ctypes.data, layer.q.weight.data_ptr())
        with torch.no_grad():
            before = layer(x)
            layer.q.weight.zero_()
            layer.k.weight.zero_()
            self.assertFalse(torch.equal(before, layer(x)))

    def test_no_gradients_of_gradients(self):
        for layer in all_layers():
            x = torch.randn(2, 5, 8, requires_grad=True)
            (g,) = torch.autograd.grad(layer(x).sum(), x, create_graph=True)
            (expected,) = torch.autograd.grad(layer(x).sum(), x)
            self.assertTrue(torch.equal(g, expected))
            with self.assertRaisesRegex(RuntimeError, "no gradients of gradients"):
                (layer(x).sum() + g.square().sum()).backward()

    def test_no_trace(self):
        layer, x = all_layers()[0], torch.randn(2, 5, 8)
        with torch.no_grad(), self.assertRaisesRegex(RuntimeError, "torch.jit.trace would keep"):
            torch.jit.trace(layer, x)

    def test_checkpoint(self):
        for layer in all_layers():
            x = torch.randn(2, 5, 8, requires_grad=True)
            layer(x).sum().backward()
            expected = x.grad.clone()
            for reentrant in (False, True):
                x.grad = None
                y = checkpoint(layer, x, use_reentrant=reentrant)
                gc.collect()
                self.assertEqual(len(at._graphs), 0)  # nothing is held for the backward pass
                y.sum().backward()
                self.assertTrue(torch.equal(x.grad, expected), layer.mixing)

    def test_saved_on_the_processor(self):
        layer, x = all_layers()[0], torch.randn(2, 5, 8, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            y = layer(x)
        y.sum().backward()
        copied = x.grad.clone()
        x.grad = None
        layer(x).sum().backward()
        self.assertTrue(torch.equal(x.grad, copied))

    def test_no_grad_and_eval(self):
        layer, x = all_layers()[0], torch.randn(2, 5, 8)
        with torch.no_grad():
            self.assertFalse(layer(x).requires_grad)
        self.assertEqual(len(at._graphs), 0)
        with torch.inference_mode():
            layer(x)

    def test_compile(self):
        model = torch.nn.Sequential(torch.nn.Linear(8, 8), at.Attention(8, heads=2), torch.nn.Linear(8, 3))
        x = torch.randn(2, 5, 8)
        try:
            compiled = torch.compile(model, backend="eager")
            y = compiled(x)
        except RuntimeError as error:
            if "not supported" in str(error):
                self.skipTest(str(error))
            raise
        torch.testing.assert_close(y, model(x))
        y.sum().backward()
        self.assertIsNotNone(model[1].q.weight.grad)

    def test_autocast(self):
        model, x = torch.nn.Sequential(torch.nn.Linear(8, 8), at.Attention(8, heads=2)), torch.randn(2, 5, 8)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = model(x)
        y.sum().backward()
        self.assertEqual(model[0].weight.grad.dtype, torch.float32)
        torch.testing.assert_close(y, model(x), rtol=0.05, atol=0.05)

    def test_copies_dtypes_state(self):
        for layer in all_layers():
            x = torch.randn(2, 5, 8)
            expected = layer(x)
            for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
                self.assertTrue(torch.equal(other(x), expected))
            torch.testing.assert_close(copy.deepcopy(layer).double()(x.double()).float(), expected)
            other = type(layer)(8, **layer.settings)
            other.load_state_dict(layer.state_dict())
            self.assertTrue(torch.equal(other(x), expected))

    def test_parametrized(self):
        layer, x = at.Attention(8, heads=2, dtype=torch.float64), double(2, 5, 8)
        expected = layer(x)
        torch.nn.utils.parametrizations.weight_norm(layer.q, "weight")
        torch.testing.assert_close(layer(x), expected)
        layer(x).square().sum().backward()
        self.assertGreater(layer.q.parametrizations.weight.original0.grad.abs().max(), 0)

    def test_made_within_a_device(self):
        with torch.device("meta"):
            layer = at.Conv(8)
        self.assertEqual(layer(torch.zeros(1, 2, 8)).shape, (1, 2, 8))

    def test_another_default_device(self):
        x, layer = torch.randn(1, 4, 8), at.Attention(8, heads=2)
        two = torch.tensor([2])
        whole = layer(x, lengths=two)
        with torch.device("meta"):
            self.assertTrue(torch.equal(layer(x, lengths=[2]), whole))
            self.assertTrue(torch.equal(layer(x, lengths=two), whole))
            self.assertEqual(at.call(asc.ops.dropout, x, p=0.5).shape, x.shape)

    def test_ops_whose_results_are_numbers(self):
        with self.assertRaisesRegex(TypeError, "accuracy gives float, expected an op whose results are tensors"):
            at.call(asc.ops.accuracy, torch.randn(3, 4), torch.tensor([0, 1, 2]))

    def test_a_parameter_of_another_shape(self):
        layer = at.Attention(8, heads=2)
        layer(torch.randn(1, 4, 8))
        layer.q.weight.data = layer.q.weight.data[:4]
        with self.assertRaises(asc.Error):
            layer(torch.randn(1, 4, 8))

    def test_strided_inputs(self):
        layer, x = all_layers()[0], torch.randn(5, 2, 8)
        self.assertTrue(torch.equal(layer(x.transpose(0, 1)), layer(x.transpose(0, 1).contiguous())))

    def test_parameters_of_other_memory(self):
        layer, x = all_layers()[0], torch.randn(2, 5, 8)
        layer(x)
        other = copy.deepcopy(layer)
        layer.q.weight.data = layer.q.weight.data.t()
        other.q.weight.data = other.q.weight.data.t().contiguous()
        self.assertTrue(torch.equal(layer(x), other(x)))
        layer(x).sum().backward()
        self.assertEqual(layer.q.weight.grad.shape, (8, 8))
        layer.k.weight = torch.nn.Parameter(layer.k.weight.detach().to("meta"))
        with self.assertRaisesRegex(TypeError, "k.weight is on meta"):
            layer(x)
        other.v.weight.data = other.v.weight.data.double()
        with self.assertRaisesRegex(TypeError, "v.weight is torch.float64"):
            other(x)

    def test_an_optimizer_trains_it(self):
        for layer in all_layers():
            x, goal = torch.randn(4, 6, 8), torch.randn(4, 6, 8)
            optimizer, losses = torch.optim.AdamW(layer.parameters(), lr=1e-2), []
            for _ in range(25):
                optimizer.zero_grad()
                loss = (layer(x) - goal).square().mean()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            self.assertLess(losses[-1], losses[0], layer.mixing)

    def test_a_scalar_out_of_range_comes_back(self):
        layer = at.ASCender(8, heads=2, k=3)
        with torch.no_grad():
            layer.tau_score.fill_(-1)
        self.assertTrue(torch.isfinite(layer(torch.randn(1, 4, 8))).all())
        self.assertGreater(layer.tau_score.min().item(), 0)
        layer.tau_score.data.fill_(-5)  # a write that PyTorch does not count
        layer(torch.randn(1, 4, 8))
        self.assertGreater(layer.tau_score.min().item(), 0)
        with torch.inference_mode():
            self.assertTrue(torch.isfinite(at.ASCender(8, heads=2, k=3)(torch.randn(1, 4, 8))).all())

    def test_mistakes(self):
        layer, x = all_layers()[0], torch.randn(2, 5, 8)
        for wrong, kind, message in (
            (lambda: layer(x.to("meta")), TypeError, "x is on meta.*to\\('cpu'\\)"),
            (lambda: layer(x.double()), TypeError, "x is torch.float64, .* torch.float32: x.to\\(torch.float32\\)"),
            (lambda: layer(x[0]), ValueError, "expected f32 \\(B, N, 8\\)"),
            (lambda: at.Conv(8)(x, bias=torch.zeros(5, 5)), ValueError, "conv has no scores"),
            (lambda: at.Conv(8)(x, context=x), ValueError, "conv has no cross-attention"),
            (lambda: at.Attention(8, heads=3), ValueError, "heads is 3"),
            (lambda: at.Attention(8, haeds=2), ValueError, "haeds"),
            (lambda: at.Attention(8, device="cuda"), TypeError, "processor"),
            (lambda: copy.deepcopy(layer).to("meta")(x), TypeError, "on meta"),
            (lambda: copy.deepcopy(layer).half()(x.half()), TypeError, "float16.*\\.float\\(\\).*autocast"),
            (lambda: _half_within_autocast(layer, x), TypeError, "parameters are torch.bfloat16, .*layer.float"),
            (lambda: at.Attention(8)(x, torch.tensor([2.7, 3.0])), TypeError, "lengths are torch.float32"),
            (lambda: asc.from_dlpack(x.bfloat16()), TypeError, "from_dlpack: "),
            (lambda: layer(x.numpy()), TypeError, "x is ndarray"),
            (lambda: at.call(asc.ops.tanh, x.numpy()), TypeError, "input 0 is ndarray"),
        ):
            with self.assertRaisesRegex(kind, message):
                wrong()

    def test_memory_stays(self):
        layer, x = at.ASCender(16, heads=2, k=3), torch.randn(2, 16, 16)

        def work(n):
            for _ in range(n):
                layer(x)
                layer(x).sum().backward()
            gc.collect()
            return asc.memory()["bytes"]

        work(50)
        self.assertEqual(work(50), work(300))

    def test_defaults_are_the_programs(self):
        self.assertEqual(at.ASCender(16).config["heads"], 4)
        self.assertEqual(repr(at.Conv(8, width=3)).splitlines()[1].strip(), "8, width=3")


class Files(unittest.TestCase):
    def test_a_layer_of_a_run_and_back(self):
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            asc.train(
                run, preset="tiny", data="builtin:2000", tokenizer="word", model="grassmann,transformer", steps=2
            )
            lm, tokens = asc.LM.load(run), np.arange(6)[None]
            layer = at.load_layer(run, 1)
            self.assertIsInstance(layer, at.Attention)
            np.testing.assert_array_equal(layer.q.weight.detach(), lm.parameters()["blocks.1.mix.q.weight"])
            with torch.no_grad():
                layer.q.weight.mul_(2)
            out = os.path.join(folder, "new.safetensors")
            at.save_layer(layer, run, out, 1)
            self.assertFalse(np.array_equal(asc.LM.load(out).logits(tokens), lm.logits(tokens)))
            with torch.no_grad():
                layer.q.weight.div_(2)
            at.save_layer(layer, run, out, 1)
            np.testing.assert_array_equal(asc.LM.load(out).logits(tokens), lm.logits(tokens))
            self.assertIsInstance(at.load_layer(run, 0), at.Grassmann)
            with self.assertRaisesRegex(ValueError, "layer"):
                at.load_layer(run, 9)


@unittest.skipUnless(ORACLE, "needs ASCGRAD_ORACLE")
class Oracle(unittest.TestCase):
    """Values, and the gradients of all inputs and parameters, to 1e-9 in float64."""

    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, ORACLE)
        import mixings
        import models

        cls.models, cls.mixings = models, mixings

    def compare(self, layer, oracle, params, *inputs, **named):
        layer.load_state_dict(params)
        theirs = {name: p.clone().requires_grad_() for name, p in params.items()}
        ours = [x.clone().requires_grad_() for x in inputs]
        inputs = [x.clone().requires_grad_() for x in inputs]
        y, z = layer(*ours, **named), oracle(*inputs, theirs)
        self.close(y, z, "y")
        g = torch.randn_like(z)
        y.backward(g)
        z.backward(g)
        for i, (a, b) in enumerate(zip(ours, inputs)):
            self.close(a.grad, b.grad, f"input {i}")
        for name, p in layer.named_parameters():
            if p.requires_grad:
                wanted = theirs[name].grad
                self.close(p.grad, torch.zeros_like(p) if wanted is None else wanted, name)

    def close(self, a, b, what):
        scale = max(b.detach().abs().max().item(), 1e-4)  # some gradients are 0 but for rounding
        self.assertLess((a.detach() - b.detach()).abs().max().item() / scale, 1e-9, what)

    def test_attention(self):
        for more in ({}, {"window": 4, "globals": 1}, {"positions": "rotary"}, {"mask": "full"}):
            cfg = {"heads": 2, **more}
            self.compare(
                at.Attention(16, dtype=torch.float64, **cfg),
                lambda x, p: self.models.attention(x, p, cfg),
                self.models.attention_params(16, torch.float64),
                double(2, 11, 16, grad=False),
            )

    def test_cross(self):
        x, context = double(2, 5, 16, grad=False), double(2, 7, 16, grad=False)
        layer = at.Attention(16, heads=2, dtype=torch.float64)
        cfg = {"heads": 2, "context_lengths": [3, 7]}
        layer.load_state_dict(params := self.models.attention_params(16, torch.float64))
        self.close(
            layer(x, lengths=[3, 7], context=context), self.mixings.cross(x, context, params, cfg, "attention"), "y"
        )

    def test_bias(self):
        x, bias = double(2, 7, 16, grad=False), double(1, 2, 7, 7)
        layer, params = (
            at.Attention(16, heads=2, dtype=torch.float64),
            self.models.attention_params(16, torch.float64),
        )
        layer.load_state_dict(params)
        y = layer(x, bias=bias)
        q, k, v = (
            (x @ params[f"{n}.weight"].t() + params[f"{n}.bias"]).view(2, 7, 2, 8).transpose(1, 2) for n in "qkv"
        )
        other = bias.detach().clone().requires_grad_()
        scores = (q @ k.transpose(-2, -1) / 8**0.5 + other).masked_fill(torch.ones(7, 7).triu(1).bool(), -torch.inf)
        z = (scores.softmax(-1) @ v).transpose(1, 2).reshape(2, 7, 16) @ params["o.weight"].t() + params["o.bias"]
        self.close(y, z, "y")
        y.square().sum().backward()
        z.square().sum().backward()
        self.close(bias.grad, other.grad, "bias")

    def test_ascender(self):
        for more in ({}, {"gate": "after"}, {"mask": "full", "neighbors": "window"}, {"window": 5, "kernel": "tau2"}):
            cfg = {"heads": 2, "k": 4, "mask": "causal", **more}
            full = {**self.models.DEFAULTS, **cfg}
            self.compare(
                at.ASCender(16, dtype=torch.float64, freeze_inert=False, **cfg),
                lambda x, p: self.models.ascender(x, p, full)[0],
                self.models.ascender_params(16, 2, 8, 4, 4, torch.float64),
                double(2, 11, 16, grad=False),
            )

    def test_grassmann(self):
        for more in ({}, {"pair": "symmetric"}):
            cfg = {"r": 6, "offsets": [1, 2, 4], **more}
            self.compare(
                at.Grassmann(16, dtype=torch.float64, **cfg),
                lambda x, p: self.models.grassmann(x, p, cfg),
                self.models.grassmann_params(16, 6, torch.float64, pair=more.get("pair", "wedge")),
                double(2, 11, 16, grad=False),
            )

    def test_linear(self):
        for more in (
            {},
            {"decay": "gated"},
            {"decay": "fixed"},
            {"feature": "favor", "features": 8},
            {"mask": "full"},
        ):
            cfg = {"heads": 2, **more}
            self.compare(
                at.LinearAttention(16, dtype=torch.float64, **cfg),
                lambda x, p: self.mixings.linear_attention(x, p, cfg),
                self.mixings.linear_params(16, cfg, torch.float64),
                double(2, 11, 16, grad=False),
            )

    def test_conv_and_recurrent(self):
        for name, recurrence in (("Conv", False), ("Recurrent", True)):
            self.compare(
                getattr(at, name)(16, dtype=torch.float64),
                lambda x, p: getattr(self.mixings, name.lower())(x, p, {}),
                self.mixings.conv_params(16, 16, 4, torch.float64, recurrence),
                double(2, 11, 16, grad=False),
            )


if __name__ == "__main__":
    unittest.main()
