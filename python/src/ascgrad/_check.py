"""Ops of one's own, written in Python, and the check of gradients."""

from __future__ import annotations

import ctypes
import difflib
from array import array
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

import numpy

from . import _c, ops
from ._call import inputs
from ._given import letters, shown, struct, whole
from ._library import (
    ArgumentError,
    ArgumentTypeError,
    call,
    catch_up,
    ctx,
    fail,
    forget,
    lib,
    lock,
    new_context,
    quick,
    state,
    text,
)
from ._tensor import DTYPES, Handle, Tensor, dtype_number, made
from ._types import Input

Samples = Sequence[Sequence[Tuple[int, ...]]]
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_c.asc_call))


def view(a):
    """The array of a call's, as NumPy's: memory that is used again when the call is over."""
    if a.ndim < 0 or (not a.data and a.numel):
        return None
    dtype, shape = DTYPES[a.dtype], tuple(a.shape[: a.ndim])
    if a.numel == 0:
        return numpy.empty(shape, dtype)
    memory = (ctypes.c_char * (a.numel * dtype.itemsize)).from_address(a.data)
    return numpy.frombuffer(memory, dtype).reshape(shape)


def _broadcast(*shapes):
    """What they broadcast to; None is an absent input's."""
    return numpy.broadcast_shapes(*(shape for shape in shapes if shape is not None))


def copy(a):
    """The same for functions of others, who may keep it."""
    values = view(a)
    return None if values is None else values.copy()


class Op:
    """An op with forward and backward written in Python, on arrays of NumPy's; called, it makes a tensor.

    forward(*inputs) returns the result; backward(gradient, *inputs) returns the gradient of each input, None for one
    that has none; both of the inputs' dtype. shape(*shapes) is that of the result, by default what the inputs'
    broadcast to. The arrays that functions are given are copies, theirs to keep and to write to.
    `samples`, for asc.gradcheck, are lists of shapes, one an input. An op that was called stays until the program ends,
    with what its functions hold: make it once.

        wave = asc.Op("wave", lambda x: x * np.sin(x), lambda g, x: g * (np.sin(x) + x * np.cos(x)), samples=[[(3, 5)]])
        y = wave(x)
    """

    _checked: Optional[Op] = None  # by gradcheck, just now

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        backward: Optional[Callable[..., Any]] = None,
        *,
        inputs: str = "x",
        shape: Optional[Callable[..., Tuple[int, ...]]] = None,
        samples: Samples = (),
        equation: str = "",
    ):
        given = letters("Op: inputs", inputs)
        for name_of, function in (("forward", forward), ("backward", backward), ("shape", shape)):
            if not (callable(function) or (function is None and name_of != "forward")):
                raise ArgumentTypeError(f"Op: {name_of} is {shown(function)}, expected a function")
        self.name, self._forward, self._backward = name, forward, backward
        self._shape, self._broadcasts = shape or _broadcast, shape is None
        if not hasattr(samples, "__iter__"):
            raise ArgumentTypeError(f"samples is {shown(samples)}, expected a list of lists of shapes")
        self.inputs, self.samples = inputs.split(), list(samples)
        self._samples = self._sample_rows(self.samples)
        self.descriptor = _c.asc_op(
            abi=_c.ASC_OP_ABI,
            name=letters("Op: name", name),
            equation=letters("Op: equation", equation),
            inputs=given,
            n_out=1,
            saves_in=(1 << len(self.inputs)) - 1,
            samples=ctypes.addressof(self._samples),
            n_samples=len(self.samples),
        )
        self._callbacks = {"infer": [], "forward": [], "backward": []}
        for role in self._callbacks if backward else ("infer", "forward"):
            self._enter(role, 0)

    def __deepcopy__(self, _):  # as of a function: modules that hold one are copied
        return self

    @staticmethod
    def _sample_rows(samples):
        rows = (_c.asc_sample * max(len(samples), 1))()
        for row, shapes in zip(rows, samples):
            room = getattr(row, "in")
            for shape in shapes if isinstance(shapes, (list, tuple)) else (None,):
                if not isinstance(shape, (list, tuple)) or len(shape) > _c.ASC_MAX_DIMS or len(shapes) > len(room):
                    raise ArgumentTypeError(f"samples has {shown(shapes)}, expected a list of shapes, one an input")
            for item, shape in zip(room, shapes):
                item.kind, item.ndim = b"f", len(shape)
                for i, size in enumerate(shape):
                    item.shape[i] = whole("samples", size)
        return rows

    def _enter(self, role, depth):
        """Has the next call of infer, forward or backward be that within so many others of the op's own."""
        levels = self._callbacks[role]
        if depth == len(levels) or levels[depth][0].gi_frame is None:  # ended by an interrupt of what follows another
            run = {"infer": self._infer, "forward": self._run, "backward": self._run_backward}[role]
            calls = self._calls(role, run, depth)
            next(calls)
            levels[depth:] = [(calls, FUNCTION(calls.send))]
        setattr(self.descriptor, role, ctypes.cast(levels[depth][1], ctypes.c_void_p))

    def _calls(self, role, run, depth):
        """Takes the library's calls and yields their statuses: the interpreter looks for signals when this goes on,
        within `try`. At the entry of a function they would be raised into the library."""
        pointer, status = None, _c.ASC_OK
        while True:
            try:
                while True:
                    pointer = yield status
                    forget()  # what the library went on behind
                    self._enter(role, depth + 1)
                    run(pointer.contents)
                    self._enter(role, depth)
                    state.off = None  # the library goes on with what it had set
                    pointer, status = None, _c.ASC_OK
            except GeneratorExit:
                raise
            except BaseException as raised:  # goes on behind the library
                status = _c.ASC_ERR_INTERRUPTED  # by a signal's handler, outside of the op's functions
                if pointer is not None:
                    quick.asc_call_fail(pointer, b"%s", _described_error(raised))
                    status = _c.ASC_ERR_ARG
                state.raised = state.raised or raised
                state.off = None
                self._enter(role, depth)
                pointer = None

    def _infer(self, c):
        given = [getattr(c, "in")[i] for i in range(c.n_in)]
        shapes = [tuple(a.shape[: a.ndim]) if a.ndim >= 0 else None for a in given]
        shape = tuple(self._shape(*shapes))
        if Op._checked is self and self._broadcasts:  # then forward alone knows the sizes that it takes
            self._forward(*(s if s is None else numpy.ones(s, DTYPES[a.dtype]) for s, a in zip(shapes, given)))
        room = array("q", shape)
        dtype = next((a.dtype for a in given if a.ndim >= 0), dtype_number("f64"))
        lib.asc_call_output(ctypes.byref(c), 0, dtype, len(shape), room.buffer_info()[0])

    def _values(self, c):
        return [copy(getattr(c, "in")[i]) for i in range(c.n_in)]

    def _run(self, c):
        out = view(c.out[0])
        value = numpy.asarray(self._forward(*self._values(c)))
        if value.shape != out.shape:
            raise ValueError(f"forward returned {value.shape}, expected {out.shape}")
        numpy.copyto(out, value, casting="same_kind")  # NumPy drops what is imaginary with a warning alone

    def _run_backward(self, c):
        gradients = self._backward(copy(c.grad_out[0]), *self._values(c))
        gradients = gradients if isinstance(gradients, (tuple, list)) else [gradients]
        if len(gradients) != c.n_in:
            raise ValueError(f"backward returned {len(gradients)} gradients, expected {c.n_in}")
        for i, gradient in enumerate(gradients):
            to = c.grad_in[i]
            if to.data and gradient is not None:
                room = view(to)
                if numpy.shape(gradient) != room.shape:
                    raise ValueError(f"backward returned {numpy.shape(gradient)} for input {i}, expected {room.shape}")
                room += gradient

    def __call__(self, *values: Input) -> Tensor:
        tensors = inputs(self.name, *values)
        handles, out = (_c.asc_tensor * len(tensors))(*(t._as_parameter_ for t in tensors)), Handle()
        KEPT.add(self)  # graphs that outlive the op's last user call its functions
        for role, levels in self._callbacks.items():
            if levels and levels[0][0].gi_frame is None:
                self._enter(role, 0)
        with lock:
            catch_up()
            if lib.asc_apply(ctx, ctypes.byref(self.descriptor), handles, len(tensors), None, ctypes.byref(out)):
                fail()
        return made(out)


KEPT = set()


def _described_error(raised):
    """What an exception says, in bytes, whatever its text is."""
    try:
        said = f"{type(raised).__name__}: {raised}"
    except BaseException:  # its own __str__'s, or an interrupt
        said = type(raised).__name__
    return said.encode("utf-8", "backslashreplace").replace(b"\0", b"?")


def _described(op):
    """The address of an op's descriptor: the library's, by name or as the function of ops, or of one of one's own."""
    if isinstance(op, Op):
        if not op.samples or op._backward is None:
            raise ArgumentError(
                f"gradcheck: {op.name} has no {'backward' if op.samples else 'samples'} to be checked"
            )
        return ctypes.addressof(op.descriptor)
    pointer = call(lib.asc_op_find, str(op))
    if not pointer:
        near = difflib.get_close_matches(str(op), ops.__all__, 1)
        raise ArgumentError(f"gradcheck: there is no op {op!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    return pointer


def gradcheck(
    op: Union[str, Op, Callable[..., Any]],
    backward: Optional[Callable[..., Any]] = None,
    samples: Samples = (),
    *,
    inputs: str = "x",
    shape: Optional[Callable[..., Tuple[int, ...]]] = None,
    seed: int = 0,
    raises: bool = True,
) -> Dict[str, Any]:
    """Compares the gradient of an op with differences, on its samples: the library's, by name or function, or an Op; or
    that of two functions, forward and backward, as of an Op with these samples, inputs and shape. Other sizes than the
    samples' are tried, too, but for those that `shape` refuses or, where none is given, forward does.

    The report is a dictionary: "passed", "cases", "elements", "digits", "worst_error". One that does not pass raises
    AssertionError with the first element that fails, unless `raises` is False."""
    if callable(op) and not isinstance(op, Op):
        name = getattr(op, "__name__", "op")
        known = getattr(ops, name, None) is op
        if not known or backward is not None:
            op, backward = Op(name, op, backward, inputs=inputs, shape=shape, samples=samples), None
        else:
            op = name
    if backward is not None:
        raise ArgumentError("gradcheck: backward is given beside an op, which has its own; expected two functions")
    pointer = _described(op)
    options, report = struct(_c.asc_gradcheck_options, seed=seed), _c.asc_gradcheck_report()
    with lock:
        catch_up()
        Op._checked = op if isinstance(op, Op) else None
        own = new_context()  # the check's scopes end what is made in them, tensors of Op's functions else
        try:
            lib.asc_set_threads(own, lib.asc_threads(ctx))
            if lib.asc_gradcheck(own, pointer, ctypes.byref(options), ctypes.byref(report)):
                fail(own)
        finally:
            Op._checked = None
            lib.asc_ctx_free(own)
        forget()  # by functions on shapes that they refuse
    found = {
        name: getattr(report, name)
        for name in ("passed", "cases", "elements", "failures", "digits", "worst_ratio", "worst_error")
    }
    found["op"] = text(report.op)
    if not report.passed:
        first = report.first
        found["first"] = {
            "tensor": text(first.tensor),
            "part": text(first.part),
            "index": tuple(first.index[: max(first.ndim, 0)]),
            "analytic": first.analytic,
            "numeric": first.numeric,
            "bound": first.bound,
        }
        if raises:
            raise AssertionError(
                "{op}: {tensor}{index}: analytic {analytic:.9g}, numeric {numeric:.9g}".format(
                    op=found["op"], **found["first"]
                )
            )
    return found
