"""Operators and methods of tensors, and what makes tensors of numbers."""

from __future__ import annotations

from typing import List, Optional, Sequence, Union

import numpy

from . import _c, ops
from ._library import ArgumentError, call, lib
from ._tensor import Tensor, as_tensor, dtype_number, made, result, sizes
from ._types import DType, Input, Shape

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
    "eq": ops.equal,
    "ne": ops.not_equal,
    "lt": ops.less,
    "le": ops.less_equal,
    "gt": lambda t, other: ops.less(other, t),
    "ge": lambda t, other: ops.less_equal(other, t),
}


def _operator(op, general):
    """A method of two operands, that leaves what is no tensor, array or number to the other one."""

    def method(t, other):
        if type(other) is Tensor:
            return op(t, other)
        try:
            return general(t, other)
        except TypeError:
            return NotImplemented

    return method


for _name in ops.METHODS:
    if not hasattr(Tensor, _name):
        setattr(Tensor, _name, getattr(ops, _name))
for _name, (_op, _function, _reverse) in BINARY.items():
    setattr(Tensor, f"__{_name}__", _operator(_op, _function))
    setattr(Tensor, f"__r{_name}__", _operator(lambda t, other, op=_op: op(other, t), _reverse))
for _name, _op in COMPARISONS.items():
    setattr(Tensor, f"__{_name}__", _operator(_op, _op))
Tensor.__neg__, Tensor.__abs__ = ops.neg, ops.abs
Tensor.reshape, Tensor.permute = _reshape, _permute


# ---- making tensors ----


def full(shape: Shape, value: float, dtype: DType = "f32") -> Tensor:
    """A tensor of that shape, each element `value`."""
    shape = sizes(shape)
    return result(lib.asc_full, dtype_number(dtype), float(value), len(shape), shape.buffer_info()[0])


def zeros(shape: Shape, dtype: DType = "f32") -> Tensor:
    return full(shape, 0, dtype)


def ones(shape: Shape, dtype: DType = "f32") -> Tensor:
    return full(shape, 1, dtype)


def arange(start: float, stop: Optional[float] = None, step: float = 1, dtype: DType = "i64") -> Tensor:
    """start, start + step, … up to but without stop; with one number those from 0 up to it."""
    start, stop = (0, start) if stop is None else (start, stop)
    return result(lib.asc_arange, dtype_number(dtype), start, stop, step)


def split(x: Input, parts: Union[int, Sequence[int]], dim: int = -1) -> List[Tensor]:
    """Views that x is cut into along dim: of the sizes in `parts`, or `parts` of equal size."""
    x = as_tensor("split", x)
    if isinstance(parts, int):
        size = x.shape[dim]
        if parts < 1 or size % parts:
            raise ArgumentError(f"split: dimension {dim} has {size} entries, expected a multiple of {parts}")
        parts = [size // parts] * parts
    room, out = sizes(parts), (_c.asc_tensor * len(parts))()
    call(lib.asc_tensor_split, x, dim, len(parts), room.buffer_info()[0], out)
    return [made(_c.asc_tensor(h.tag, h.generation)) for h in out]
