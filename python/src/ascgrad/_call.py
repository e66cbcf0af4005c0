"""What the functions in ops.py are made of: inputs and attributes as the library takes them."""

import ctypes
from array import array

import numpy

from . import _c
from ._given import shown, whole
from ._library import ArgumentError, Error, call, lock, quick
from ._tensor import NULL, Tensor, as_tensor, made, result

NONE = made(NULL)  # stands for an input that is absent


def inputs(op, *values):
    """The tensors of an op's inputs; those that are None are absent."""
    for value in values:
        if type(value) is not Tensor:
            break
    else:
        return values
    values = [as_tensor(op, v) if hasattr(v, "dtype") and not isinstance(v, numpy.floating) else v for v in values]
    known = [value for value in values if type(value) is Tensor]
    like = next((t for kind in "fiu" for t in known if t.dtype.kind == kind), None)  # a mask the last one
    return [NONE if value is None else as_tensor(op, value, like) for value in values]


def same(function, x, *args):
    """The same of an op that may give back its input: it is then held once more, from before the call on, behind which
    an interrupt would let go of it."""
    given = x._as_parameter_
    with lock:
        quick.asc_keep(given)
        try:
            y = result(function, x, *args)
        except Error:
            quick.asc_release(given)
            raise
        ours = y._as_parameter_
        if ours.tag != given.tag or ours.generation != given.generation:
            quick.asc_release(given)
        return y


def value(function, *args):
    """The same of a function whose result is a number."""
    return call(function, *args)


def several(y, handles):
    """y, or with further results a tuple of them."""
    return (y, *(made(h) if h.tag else None for h in handles)) if handles else y


def listed(op, values):
    """Any number of inputs, as tensors and as an array of handles."""
    if len(values) == 1 and isinstance(values[0], (list, tuple)):
        values = values[0]
    tensors = inputs(op, *values)
    return tensors, (_c.asc_tensor * len(tensors))(*(t._as_parameter_ for t in tensors))


def choice(name, given, numbers):
    """An attribute that is one of some names."""
    if not isinstance(given, str) or given not in numbers:
        raise ArgumentError(f"{name} is {shown(given)}, expected one of {', '.join(numbers)}")
    return numbers[given]


def last(op, x, dim):
    """Refuses another dimension than the last one, which the op is along."""
    if dim != x.ndim - 1:
        raise ArgumentError(f"{op}: dim is {dim!r}, expected -1, the last: transpose before and behind it")


def flat(name, given, kind):
    if given is None:
        return []
    given = [part for item in parts(given) for part in parts(item)]
    return [whole(name, item, kind) for item in given]


def parts(given):
    """The items of a list; a number is one of its own, an array without dimensions too."""
    return given if hasattr(given, "__iter__") and getattr(given, "ndim", 1) else [given]


def sized(name, given, n, why):
    """Refuses a list, but for none, of another length than n, which is all that the library goes by."""
    if len(given) not in (0, n):
        raise ArgumentError(f"{name} has {len(given)} numbers, expected {n}, {why}")


def ints(name, given):
    """A list of whole numbers; None is an empty one."""
    return array("i", flat(name, given, ctypes.c_int))


def tupled(k, tuples):
    """How many lists of k - 1 numbers there are."""
    if whole("k", k) < 2 or len(tuples) % (k - 1):
        raise ArgumentError(f"tuples has {len(tuples)} numbers, k is {k}: expected k - 1 numbers a tuple, k at least 2")
    return len(tuples) // (k - 1)


def longs(name, given):
    return array("q", flat(name, given, ctypes.c_int64))
