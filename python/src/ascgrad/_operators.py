"""Operators and methods of tensors, and what makes tensors of numbers."""

import numpy

from . import _c, ops
from ._library import call, lib
from ._tensor import Tensor, as_tensor, dtype_number, made, result, sizes

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


def _cast(t, dtype):
    """The same as f32 or f64."""
    return ops.cast(t, dtype)


def _reshape(t, *shape):
    return ops.reshape(t, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)


def _permute(t, *order):
    return ops.permute(t, order[0] if len(order) == 1 and not isinstance(order[0], int) else order)


OPERATORS = {
    "__add__": _add,
    "__radd__": _add,
    "__sub__": _sub,
    "__rsub__": _rsub,
    "__mul__": _mul,
    "__rmul__": _mul,
    "__truediv__": lambda t, other: ops.div(t, other),
    "__rtruediv__": lambda t, other: ops.div(other, t),
    "__pow__": _pow,
    "__rpow__": lambda t, other: ops.pow(other, t),
    "__matmul__": lambda t, other: ops.matmul(t, other),
    "__rmatmul__": lambda t, other: ops.matmul(other, t),
    "__neg__": ops.neg,
    "__abs__": ops.abs,
    "__eq__": lambda t, other: ops.equal(t, other),
    "__ne__": lambda t, other: ops.not_equal(t, other),
    "__lt__": lambda t, other: ops.less(t, other),
    "__le__": lambda t, other: ops.less_equal(t, other),
    "__gt__": lambda t, other: ops.less(other, t),
    "__ge__": lambda t, other: ops.less_equal(other, t),
    "reshape": _reshape,
    "permute": _permute,
    "cast": _cast,
}


def _refusing(function):
    """An operator leaves operands that are no tensors to them."""

    def operator(t, *others):
        try:
            return function(t, *others)
        except TypeError:
            return NotImplemented

    operator.__doc__ = function.__doc__
    return operator


for _name in ops.METHODS:
    if not hasattr(Tensor, _name):
        setattr(Tensor, _name, getattr(ops, _name))
for _name, _function in OPERATORS.items():
    setattr(Tensor, _name, _refusing(_function) if _name.startswith("__") else _function)


# ---- making tensors ----


def full(shape, value, dtype="f32"):
    """A tensor of that shape, each element `value`."""
    shape = sizes(shape)
    return result(lib.asc_full, dtype_number(dtype), float(value), len(shape), shape.buffer_info()[0])


def zeros(shape, dtype="f32"):
    return full(shape, 0, dtype)


def ones(shape, dtype="f32"):
    return full(shape, 1, dtype)


def arange(start, stop=None, step=1, dtype="i64"):
    """start, start + step, … up to but without stop; with one number those from 0 up to it."""
    start, stop = (0, start) if stop is None else (start, stop)
    return result(lib.asc_arange, dtype_number(dtype), start, stop, step)


def split(x, parts, dim=-1):
    """Views that x is cut into along dim: of the sizes in `parts`, or `parts` of equal size."""
    x = as_tensor("split", x)
    if isinstance(parts, int):
        size = x.shape[dim]
        if parts < 1 or size % parts:
            raise ValueError(f"split: dimension {dim} has {size} entries, expected a multiple of {parts}")
        parts = [size // parts] * parts
    room, out = sizes(parts), (_c.asc_tensor * len(parts))()
    call(lib.asc_tensor_split, x, dim, len(parts), room.buffer_info()[0], out)
    return [made(_c.asc_tensor(h.tag, h.generation)) for h in out]
