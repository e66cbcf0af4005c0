"""Operators and methods of tensors, and what makes tensors of numbers."""

from __future__ import annotations

from typing import List, Optional, Sequence, Union

import numpy

from . import _c, ops
from ._given import real, whole
from ._library import ArgumentError, ArgumentIndexError, call, lib
from ._tensor import DTYPES, Tensor, as_tensor, dtype_number, made, result, sizes, tensor
from ._types import DType, Input, Shape

PLAIN = ((bool, numpy.bool_), (int, numpy.integer), (float, numpy.floating))
NUMBERS = (int, float, numpy.integer, numpy.floating)


def _is_number(value):
    return isinstance(value, NUMBERS) and not isinstance(value, bool)


def _floating(t):
    return t.dtype.kind == "f"


def _affine(t, a, b):
    """a t + b."""
    return ops.scale_shift(t, float(a), float(b))


def _add(t, other):
    return _affine(t, 1, other) if _is_number(other) and _floating(t) else ops.add(t, other)


def _sub(t, other):
    return _affine(t, 1, -other) if _is_number(other) and _floating(t) else ops.sub(t, other)


def _rsub(t, other):
    return _affine(t, -1, other) if _is_number(other) and _floating(t) else ops.sub(other, t)


def _mul(t, other):
    return _affine(t, other, 0) if _is_number(other) and _floating(t) else ops.mul(t, other)


def _pow(t, other):
    return ops.pow_scalar(t, float(other)) if _is_number(other) else ops.pow(t, other)


def _reshape(t, *shape):
    return ops.reshape(t, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)


def _permute(t, *order):
    return ops.permute(t, order[0] if len(order) == 1 and not isinstance(order[0], int) else order)


# Each operator with its op, and the function for operands that are no tensors.
BINARY = {
    "add": (ops.add, _add, _add),
    "sub": (ops.sub, _sub, _rsub),
    "mul": (ops.mul, _mul, _mul),
    "truediv": (ops.div, ops.div, lambda t, other: ops.div(other, t)),
    "pow": (ops.pow, _pow, lambda t, other: ops.pow(other, t)),
    "matmul": (ops.matmul, ops.matmul, lambda t, other: ops.matmul(other, t)),
}
COMPARISONS = {
    "eq": (ops.equal, numpy.equal),
    "ne": (ops.not_equal, numpy.not_equal),
    "lt": (ops.less, numpy.less),
    "le": (ops.less_equal, numpy.less_equal),
    "gt": (lambda t, other: ops.less(other, t), numpy.greater),
    "ge": (lambda t, other: ops.less_equal(other, t), numpy.greater_equal),
}


def _operator(op, general):
    """A method of two operands, that leaves what is no tensor, array or number to the other one."""

    def method(t, other):
        if type(other) is Tensor:
            return op(t, other)
        if other is None:
            return NotImplemented
        if isinstance(other, numpy.generic):  # has the tensor's dtype, as Python's numbers
            other = next((kind(other) for kind, theirs in PLAIN if isinstance(other, theirs)), other)
        if isinstance(other, (list, tuple)) and _floating(t):
            values = numpy.asarray(other)
            other = values.astype(t.dtype) if values.dtype.kind in "iub" else other
        try:
            return general(t, other)
        except TypeError:
            # An array would take the tensor as one, without a gradient; why a number is refused is known here alone.
            if isinstance(other, (numpy.ndarray, bool, int, float)):
                raise
            return NotImplemented

    return method


def _comparison(op, ufunc):
    """With what is no tensor. A number that is none of whole numbers' dtype is compared as it is."""

    def compare(t, other):
        if _is_number(other) and not _floating(t):
            return tensor(ufunc(t.numpy(), other))
        return op(t, other)

    return compare


for _name in ops.METHODS:
    if not hasattr(Tensor, _name):
        setattr(Tensor, _name, getattr(ops, _name))
for _name, (_op, _function, _reverse) in BINARY.items():
    setattr(Tensor, f"__{_name}__", _operator(_op, _function))
    setattr(Tensor, f"__r{_name}__", _operator(lambda t, other, op=_op: op(other, t), _reverse))
for _name, (_op, _ufunc) in COMPARISONS.items():
    setattr(Tensor, f"__{_name}__", _operator(_op, _comparison(_op, _ufunc)))
Tensor.__neg__, Tensor.__abs__ = ops.neg, ops.abs
Tensor.reshape, Tensor.permute = _reshape, _permute


# ---- making tensors ----


def full(shape: Shape, value: float, dtype: DType = "f32") -> Tensor:
    """A tensor of that shape, each element `value`."""
    return _filled("full", shape, value, dtype)


def zeros(shape: Shape, dtype: DType = "f32") -> Tensor:
    return _filled("zeros", shape, 0, dtype)


def ones(shape: Shape, dtype: DType = "f32") -> Tensor:
    return _filled("ones", shape, 1, dtype)


def _filled(name, shape, value, dtype):
    shape = sizes(shape, f"{name}: shape")
    if DTYPES[dtype_number(dtype)].kind == "f":
        value = real(f"{name}: value", value)
        make = lib.asc_full, dtype_number(dtype), value
    else:
        value = tensor(value, dtype=dtype).item()
        make = lib.asc_empty, dtype_number(dtype)
    try:
        t = result(*make, len(shape), shape.buffer_info()[0])
    except ArgumentError as error:  # which has the name of what makes it
        raise ArgumentError(f"{name}:{str(error).partition(':')[2]}") from None
    if t.dtype.kind != "f":
        t.numpy()[...] = value
    return t


def arange(start: float, stop: Optional[float] = None, step: float = 1, dtype: DType = "i64") -> Tensor:
    """start, start + step, … up to but without stop; with one number those from 0 up to it."""
    start, stop = (0, start) if stop is None else (start, stop)
    whole_numbers = DTYPES[dtype_number(dtype)].kind != "f"
    for name, value in (("start", start), ("step", step)) if whole_numbers else ():
        if not real(f"arange: {name}", value).is_integer():
            raise ArgumentError(f"arange: {name} is {value}, expected a whole number, or dtype f32 or f64")
    t = result(lib.asc_arange, dtype_number(dtype), start, stop, step)
    last = start + (t.size - 1) * step
    if whole_numbers and max(abs(start), abs(last)) > 2**53:  # computed in doubles
        raise ArgumentError(f"arange: {start} to {stop} goes to {last}, expected numbers up to 2^53, which are exact")
    return t


def split(x: Input, parts: Union[int, Sequence[int]], dim: int = -1) -> List[Tensor]:
    """Views that x is cut into along dim: of the sizes in `parts`, or `parts` of equal size."""
    x = as_tensor("split", x)
    if not -x.ndim <= whole("split: dim", dim) < x.ndim:
        raise ArgumentIndexError(f"split: dim is {dim}, expected {-x.ndim} to {x.ndim - 1}")
    if hasattr(parts, "__index__") and not getattr(parts, "ndim", 0):
        parts = parts.__index__()
        size = x.shape[dim]
        if parts < 1 or size % parts:
            raise ArgumentError(f"split: parts is {parts}, expected a divisor of dimension {dim}, {size}")
        parts = [size // parts] * parts
    room = sizes(parts, "split: parts")
    out = (_c.asc_tensor * len(room))()
    call(lib.asc_tensor_split, x, dim, len(room), room.buffer_info()[0], out)
    return [made(_c.asc_tensor(h.tag, h.generation)) for h in out]
