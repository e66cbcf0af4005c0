"""The mixing layers as modules of PyTorch's: forward and backward run in the library, on PyTorch's own memory.

    from ascgrad.torch import ASCender
    layer = ASCender(256, heads=4)
    y = layer(x)                      # (B, N, D), within torch.autograd

call(function, …) has any op of ascgrad.ops take part in the same way; attention is one with a bias of one's own."""

from __future__ import annotations

import functools
import itertools
import json
import weakref
from pathlib import Path
from typing import Any, Callable, Optional

import numpy
import torch
from torch import nn

from . import _c, ops
from ._layers import Layer, setting_rows
from ._library import (
    ArgumentError,
    ArgumentTypeError,
    FormatError,
    StateError,
    Status,
    ask,
    catch_up,
    ctx,
    fail,
    raw as lib,
    lock,
    no_grad,
    quick,
    recorded,
)
from ._params import load_safetensors, save_safetensors
from ._tensor import NULL, Tensor, result, sizes
from ._types import File

__all__ = [
    "ASCender",
    "Attention",
    "Conv",
    "Grassmann",
    "LinearAttention",
    "Mixing",
    "Recurrent",
    "attention",
    "call",
    "load_layer",
    "save_layer",
]

DTYPES = {torch.float32: 0, torch.float64: 1, torch.int64: 2, torch.uint8: 3, torch.bool: 3}
try:
    _uncompiled = torch.compiler.disable
except AttributeError:
    raise ImportError(f"ascgrad.torch needs PyTorch 2.1 or later, and this is {torch.__version__}") from None


def _check(name, t):
    """Refuses what the library can't take as it is."""
    if not isinstance(t, torch.Tensor):
        raise ArgumentTypeError(f"{name} is {type(t).__name__}, expected a torch.Tensor")
    if t.device.type != "cpu":
        raise ArgumentTypeError(
            f"{name} is on {t.device}, and the library computes on the processor: move it there, {name}.to('cpu')"
        )
    if t.layout is not torch.strided:
        raise ArgumentTypeError(f"{name} is {t.layout}, expected a dense tensor")
    if t.dtype in (torch.int8, torch.int16, torch.int32):
        raise ArgumentTypeError(f"{name} is {t.dtype}, expected torch.int64 or torch.uint8: convert by .long()")
    if t.dtype not in DTYPES:
        raise ArgumentTypeError(
            f"{name} is {t.dtype}, expected torch.float32 or torch.float64: convert by .float(), as layers do within "
            "torch.autocast"
        )


def _share(t):
    """PyTorch's tensor as one of the library's, with the same memory, which must be kept meanwhile."""
    shape, steps = sizes(t.shape), sizes(t.stride())
    if t.numel() == 0:
        return result(lib.asc_empty, DTYPES[t.dtype], t.dim(), shape.buffer_info()[0])
    return result(
        lib.asc_wrap,
        DTYPES[t.dtype],
        t.data_ptr(),
        t.dim(),
        shape.buffer_info()[0],
        steps.buffer_info()[0],
        None,
        None,
    )


def _give(t, inputs):
    """The library's result as a tensor of PyTorch's with the same memory, which it keeps; a copy where an input lies in
    that memory, of which PyTorch would know nothing."""
    given = torch.from_numpy(t.detach().numpy())
    first, stores = given.data_ptr(), [i.untyped_storage() for i in inputs if i is not None and given.numel()]
    return given.clone() if any(0 <= first - s.data_ptr() < s.nbytes() for s in stores) else given


# ---- a computation within torch.autograd ----

_graphs = weakref.WeakValueDictionary()  # by number
_numbers = itertools.count(1)


class _Graph:
    """What the library holds for a backward pass.

    Its owner is the memory of `token`, a tensor that PyTorch saves: so where checkpointing drops what was saved, or
    computes it again, the graph goes, and comes, with it."""

    def __init__(self, runner, tensors, needs):
        self.tensors, self.used = tensors, False
        with lock, recorded() if any(needs) else no_grad():
            self.leaves = runner.leaves(tensors)
            for leaf, need in zip(self.leaves, needs):
                if leaf is not None and leaf.dtype.kind == "f":
                    ask(quick.asc_require_grad, leaf, need)
            self.outputs = runner.run(self.leaves)
        self.number = next(_numbers)

    def token(self):
        values = numpy.asarray(_Word(self))
        _graphs[self.number] = self
        return torch.from_numpy(values)

    def backward(self, gradients, needs):
        """The gradient of each of the tensors, None where none is needed."""
        self.used = True
        found = [None] * len(self.tensors)
        with lock, recorded():
            for i, need in enumerate(needs):
                if need:
                    found[i] = torch.empty_like(self.tensors[i], memory_format=torch.contiguous_format)
                    ask(quick.asc_require_grad, self.leaves[i], True)
                    ask(lib.asc_grad_into, self.leaves[i], _share(found[i]), False)
            try:
                self._walk(gradients)
                for i, gradient in enumerate(found):
                    if gradient is not None and not quick.asc_grad(self.leaves[i]).tag:
                        gradient.zero_()
            finally:
                for i, need in enumerate(needs):
                    if need:
                        quick.asc_grad_into(self.leaves[i], NULL, False)
        return found

    def _walk(self, gradients):
        pairs = [(y, g) for y, g in zip(self.outputs, gradients) if g is not None and y.requires_grad]
        given = [(y, g.resolve_neg().contiguous()) for y, g in pairs]
        held = given  # the memory that the sum reads
        if len(given) > 1:  # one pass for all
            loss = functools.reduce(ops.add, [ops.sum(ops.mul(y, _share(g))) for y, g in held])
            given = [(loss, torch.ones((), dtype=held[0][1].dtype, device="cpu"))]
        catch_up()
        for y, g in given:
            if lib.asc_backward(ctx, y, _share(g), False):
                fail()


class _Word:
    """A number in memory that keeps a graph."""

    def __init__(self, graph):
        self.graph, self.word = graph, numpy.array([graph.number])
        self.__array_interface__ = self.word.__array_interface__


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(context, runner, *tensors):
        graph = _Graph(runner, [t.detach() if t is not None else None for t in tensors], context.needs_input_grad[1:])
        context.runner = runner
        context.present = [t is not None for t in tensors]
        outputs = tuple(_give(y, tensors) for y in graph.outputs)
        read = outputs if runner.reads_outputs else ()
        context.save_for_backward(graph.token(), *(t for t in tensors if t is not None), *read)
        context.mark_non_differentiable(*(t for t in outputs if not t.is_floating_point()))
        return outputs if len(outputs) > 1 else outputs[0]

    @staticmethod
    def backward(context, *gradients):
        token, *saved = context.saved_tensors
        with torch.no_grad():
            found = _Function._gradients(context, token, saved, gradients)
        if torch.is_grad_enabled():  # create_graph: what is computed from these has no gradients
            kept = [g for g in found if g is not None]
            given = [t for t in (*saved, *gradients) if t is not None and t.requires_grad]
            once = iter(_Once.apply(len(kept), *kept, *given)) if given else iter(kept)
            found = [next(once) if g is not None else None for g in found]
        return (None, *found)

    @staticmethod
    def _gradients(context, token, saved, gradients):
        needs = context.needs_input_grad[1:]
        graph = _graphs.get(int(token))
        if graph is None or graph.used:  # a second pass, or what was saved was copied: the same once more
            rest = iter(saved)
            tensors = [next(rest).detach() if there else None for there in context.present]
            graph = _Graph(context.runner, tensors, needs)
        return graph.backward(gradients, needs)


class _Once(torch.autograd.Function):
    """Gradients that follow from tensors in a way of which the library has no gradient."""

    @staticmethod
    def forward(context, n, *tensors):
        return tuple(t.clone() for t in tensors[:n])

    @staticmethod
    def backward(context, *_):
        raise StateError("ascgrad.torch: there are no gradients of gradients: expected a single backward pass")


def _apply(runner, tensors):
    """The runner's results for the tensors, recorded where one of them needs its gradient."""
    if torch.jit.is_tracing():
        raise StateError("ascgrad.torch: torch.jit.trace would keep this result as a constant")
    tensors = [t.resolve_neg() if t is not None else None for t in tensors]
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
        return _Function.apply(runner, *tensors)
    graph = _Graph(runner, [t.detach() if t is not None else None for t in tensors], [False] * len(tensors))
    outputs = tuple(_give(y, tensors) for y in graph.outputs)
    return outputs if len(outputs) > 1 else outputs[0]


# ---- ops ----

RANDOM = {ops.dropout, ops.add_dropout}


def _apart(y, leaves):
    """An op's result, or where the op has given back an input a tensor of its own for a gradient to begin at."""
    ours = y._as_parameter_
    given = (t._as_parameter_ for t in leaves if t is not None)
    same = any(ours.tag == t.tag and ours.generation == t.generation for t in given)
    return ops.scale_shift(y, 1.0, 0.0) if same and y.dtype.kind == "f" else y


class _Op:
    reads_outputs = True  # backward passes may: PyTorch refuses one behind a change in place

    def __init__(self, function, names, attributes):
        self.function, self.names, self.attributes = function, names, attributes
        drawn = function in RANDOM
        self.seed = int(torch.randint(2**62, (), device="cpu")) if drawn else None  # the same in every pass

    @staticmethod
    def leaves(tensors):
        return [_share(t) if t is not None else None for t in tensors]

    def run(self, leaves):
        if self.seed is not None:
            lib.asc_set_step(ctx, self.seed, 0)
        first = [t for t, name in zip(leaves, self.names) if name is None]
        named = {name: t for t, name in zip(leaves, self.names) if name is not None}
        y = self.function(*first, **named, **self.attributes)
        for each in y if isinstance(y, (tuple, list)) else [y]:
            if not isinstance(each, Tensor):
                name = getattr(self.function, "__name__", self.function)
                raise ArgumentTypeError(f"{name} gives {type(each).__name__}, expected an op whose results are tensors")
        return [_apart(each, leaves) for each in (y if isinstance(y, (tuple, list)) else [y])]


@_uncompiled
def call(function: Callable[..., Any], *tensors: Optional[torch.Tensor], **named: Any) -> Any:
    """function(…) of ascgrad.ops, or an ascgrad.Op, on tensors of PyTorch's, within its autograd.

    y = call(ascgrad.ops.attention, q, k, v, bias=bias, heads=4, causal=True)
    """
    attributes = {name: value for name, value in named.items() if not isinstance(value, torch.Tensor)}
    given = [(None, t) for t in tensors] + [(name, t) for name, t in named.items() if name not in attributes]
    for i, (name, t) in enumerate(given):
        if t is not None:
            _check(name or f"input {i}", t)
    return _apply(_Op(function, [name for name, _ in given], attributes), [t for _, t in given])


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    bias: Optional[torch.Tensor] = None,
    *,
    heads: int,
    **named: Any,
) -> torch.Tensor:
    """softmax(q·k/√d + bias) v per head: q (B, N, H d), k (B, M, H d), v (B, M, H d_v), bias (N, M), (1 or H, N, M) or
    (1 or B, 1 or H, N, M), whose gradient costs no memory beside itself; more as for ascgrad.ops.attention (causal,
    lengths, mask, window, alibi, cap …)."""
    return call(ops.attention, q, k, v, bias=bias, heads=heads, **named)


# ---- layers ----


class _Engine:
    """A layer of the library's whose parameters lie in a module's."""

    reads_outputs = False  # the last op of none does

    def __init__(self, module, dtype):
        self.layer = Layer(
            module.mixing, module.d_model, dtype=("f32", "f64")[DTYPES[dtype]], seed=0, **module.settings
        )
        self.parameters = self.layer.parameters()
        self.held = [None] * len(self.parameters)  # the memory that each lies in
        self.aux = module.has_aux

    def leaves(self, tensors):
        """x, lengths, context and bias, and the parameters."""
        given, params = tensors[:4], tensors[4:]
        for i, t in enumerate(params):
            held = self.held[i]
            if held is None or held.data_ptr() != t.data_ptr() or held.shape != t.shape or not t.is_contiguous():
                t = t.contiguous()
                ask(quick.asc_set_data, self.parameters[i], _share(t))
                self.held[i] = t
        lib.asc_layer_project(self.layer.pointer)  # any write may have led them out of their ranges
        return [_share(t) if t is not None else None for t in given] + list(self.parameters)

    def run(self, leaves):
        x, lengths, context, bias = leaves[:4]
        y = self.layer(x, lengths, context, bias, return_aux=self.aux)
        return [t for t in y if t is not None] if self.aux else [y]


class Mixing(nn.Module):
    """A mixing layer: layer(x, lengths=None, context=None, bias=None), x (B, N, D) to (B, N, D).

    lengths (B): so many tokens of each sequence count, with a context its. context (B, M, D): what x looks at in place
    of itself. bias (N, M), (1 or H, N, M) or (1 or B, 1 or H, N, M) is added to the scores, and may have a gradient.
    The settings are those of doc/settings.md. Where they give an auxiliary loss a weight, `aux` is that of the last
    call, to be added to one's own."""

    mixing = ""

    def __init__(self, d_model: int, *, dtype: Optional[torch.dtype] = None, device: Any = None, **settings: Any):
        super().__init__()
        if device is not None and torch.device(device).type != "cpu":
            raise ArgumentTypeError(f"device is {device}, and the library computes on the processor")
        dtype = dtype or torch.get_default_dtype()
        if dtype not in (torch.float32, torch.float64):
            raise ArgumentTypeError(f"dtype is {dtype}, expected torch.float32 or torch.float64")
        layer = Layer(
            self.mixing,
            d_model,
            dtype=("f32", "f64")[DTYPES[dtype]],
            seed=int(torch.randint(2**62, (), device="cpu")),
            **settings,
        )
        self.d_model, self.settings, self.config = d_model, settings, layer.config
        self.names = layer.parameters().names
        self._paths = [name.split(".") for name in self.names]
        for name, value in layer.parameters().items():
            self._add(name, nn.Parameter(torch.from_numpy(value.numpy().copy()), requires_grad=value.requires_grad))
        self._engine, self.aux = None, None

    def _add(self, name, parameter):
        owner, (*path, last) = self, name.split(".")
        for part in path:
            if part not in owner._modules:
                owner.add_module(part, nn.Module())
            owner = owner._modules[part]
        owner.register_parameter(last, parameter)

    def _tensors(self):
        """The parameters, or what stands in their places, such as torch.nn.utils.parametrize puts there."""
        return [functools.reduce(getattr, path, self) for path in self._paths]

    @property
    def has_aux(self) -> bool:
        return any(self.config.get(key) for key in ("aux_coh", "aux_sep", "aux_align"))

    def extra_repr(self):
        return ", ".join([str(self.d_model), *(f"{key}={value!r}" for key, value in self.settings.items())])

    def __getstate__(self):
        return {**self.__dict__, "_engine": None, "aux": None}

    @_uncompiled
    def forward(
        self,
        x: torch.Tensor,
        lengths: Any = None,
        context: Optional[torch.Tensor] = None,
        bias: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        params = self._tensors()
        dtype = params[0].dtype
        if dtype not in (torch.float32, torch.float64):
            raise ArgumentTypeError(
                f"the layer's parameters are {dtype}, expected torch.float32 or torch.float64: layer.float(), and x of "
                "any kind within torch.autocast"
            )
        if any(p.dtype != dtype or p.device.type != "cpu" for p in params):
            for name, p in zip(self.names, params):
                _cast("the layer's parameter " + name, p, dtype)
        x, context, bias = (_cast(name, t, dtype) for name, t in (("x", x), ("context", context), ("bias", bias)))
        if lengths is not None:
            lengths = lengths if isinstance(lengths, torch.Tensor) else torch.as_tensor(lengths, device="cpu")
            if lengths.numel() and (lengths.is_floating_point() or lengths.is_complex()):
                raise ArgumentTypeError(f"lengths are {lengths.dtype}, expected whole numbers")
            lengths = lengths.to(torch.int64)
            _check("lengths", lengths)
        if self._engine is None or self._engine.parameters[0].dtype != str(dtype).rpartition(".")[2]:
            self._engine = _Engine(self, dtype)
        y = _apply(self._engine, [x, lengths, context, bias, *params])
        if self.has_aux and isinstance(y, tuple):
            y, self.aux = y
        return y


def _autocasts():
    try:
        return torch.is_autocast_enabled("cpu")
    except TypeError:  # PyTorch before 2.4
        return torch.is_autocast_cpu_enabled()


def _cast(name, t, dtype):
    """An input of a layer, of its dtype: under autocast made so, else refused."""
    if t is None:
        return None
    if not isinstance(t, torch.Tensor):
        _check(name, t)
    if t.device.type == "cpu" and t.dtype != dtype and t.is_floating_point() and _autocasts():
        return t.to(dtype)
    if t.device.type == "cpu" and t.dtype != dtype:
        raise ArgumentTypeError(f"{name} is {t.dtype}, the layer's parameters are {dtype}: {name}.to({dtype})")
    _check(name, t)
    return t


class ASCender(Mixing):
    mixing = "ascender"


class Grassmann(Mixing):
    mixing = "grassmann"


class LinearAttention(Mixing):
    mixing = "linear"


class Attention(Mixing):
    mixing = "transformer"


class Conv(Mixing):
    mixing = "conv"


class Recurrent(Mixing):
    mixing = "recurrent"


for _class in (ASCender, Grassmann, LinearAttention, Attention, Conv, Recurrent):
    _class.__doc__ = f"The mixing {_class.mixing!r}. " + Mixing.__doc__


# ---- layers of models in files ----

CLASSES = {cls.mixing: cls for cls in (ASCender, Grassmann, LinearAttention, Attention, Conv, Recurrent)}


def _model_file(path):
    return Path(path) / "model.safetensors" if Path(path).is_dir() else Path(path)


def _of_layer(mixing, key, value, index):
    """A setting's value for layer number `index`, where the model has one for each."""
    row = setting_rows(mixing)[key]
    if not row.flags & _c.ASC_SETTING_PER_LAYER or not isinstance(value, list):
        return value
    lists = (_c.ASC_SETTING_INTS, _c.ASC_SETTING_SET, _c.ASC_SETTING_HEADS)
    depth = 2 if row.type == _c.ASC_SETTING_TUPLES else 1 if row.type in lists else 0
    inner = value
    for _ in range(depth):
        inner = inner[0] if inner else None
    return value[index] if isinstance(inner, list) else value


def load_layer(path: File, index: int = 0) -> Mixing:
    """Layer number `index` of a RUN, or of a model's file, as a module of its class, with its settings and values."""
    tensors, metadata = load_safetensors(_model_file(path))
    if "config" not in metadata:
        raise FormatError(f"{path}: is no model: its metadata has no config", Status.FORMAT)
    try:
        config = json.loads(metadata["config"])
        mix = config["mix"]
        if not isinstance(mix, str):
            mix = mix[index] if 0 <= index < len(mix) else None
        config["d_model"] = int(config["d_model"])
    except (ValueError, KeyError, TypeError) as wrong:
        raise FormatError(f"{path}: its config is no model's: {wrong!r}", Status.FORMAT) from None
    prefix = f"blocks.{index}.mix."
    state = {name[len(prefix) :]: torch.from_numpy(v) for name, v in tensors.items() if name.startswith(prefix)}
    if mix not in CLASSES or not state:
        raise ArgumentError(f"{path}: has no layer {index} of a mixing that is known here")
    settings = {
        key: _of_layer(mix, key, value, index)
        for key, value in config.items()
        if lib.asc_mixing_takes(None, mix.encode(), key.encode())
    }
    layer = CLASSES[mix](config["d_model"], dtype=next(iter(state.values())).dtype, **settings)
    layer.load_state_dict(state)
    return layer


def save_layer(layer: nn.Module, path: File, out: File, index: int = 0) -> None:
    """Writes the model of `path` to `out`, a file, with the module's values in its layer number `index`."""
    tensors, metadata = load_safetensors(_model_file(path))
    for name, value in layer.state_dict().items():
        name = f"blocks.{index}.mix.{name}"
        if name not in tensors or tensors[name].shape != tuple(value.shape):
            raise ArgumentError(f"{path}: has no {name} of shape {tuple(value.shape)}")
        if value.dtype not in DTYPES:
            raise ArgumentTypeError(f"{name} is {value.dtype}, expected torch.float32 or torch.float64")
        tensors[name] = value.detach().numpy()
    save_safetensors(out, tensors, metadata)
