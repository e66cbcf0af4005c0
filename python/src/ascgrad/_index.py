"""tensor[…]: views by numbers, slices, None and …; rows by a list of whole numbers, or by a mask."""

import numpy

from . import _c
from ._library import ArgumentIndexError
from ._library import raw as lib
from ._tensor import Tensor, as_tensor, result


def _expanded(key, ndim):
    """The key as a tuple without …"""
    key = key if isinstance(key, tuple) else (key,)
    given = sum(part is not None and part is not Ellipsis for part in key)
    if given > ndim or sum(part is Ellipsis for part in key) > 1:
        raise ArgumentIndexError(f"{given} indices, expected at most {ndim}, and … once")
    if not any(part is Ellipsis for part in key):
        key += (Ellipsis,)
    at = next(i for i, part in enumerate(key) if part is Ellipsis)
    return key[:at] + (slice(None),) * (ndim - given) + key[at + 1 :]


def _slice(x, dim, start, stop, step=1):
    return result(lib.asc_slice, x, dim, start, stop, step)


def _part(x, dim, part):
    """x with one index applied to dimension dim, and the dimension that the next index is for."""
    if part is None:
        return result(lib.asc_unsqueeze, x, dim), dim + 1
    size = x.shape[dim]
    if isinstance(part, slice):
        start, stop, step = part.indices(size)
        if step < 1:
            raise ArgumentIndexError(f"step is {step}, expected at least 1")
        return (x if (start, stop, step) == (0, size, 1) else _slice(x, dim, start, max(start, stop), step)), dim + 1
    if isinstance(part, int) or (hasattr(part, "__index__") and getattr(part, "ndim", 0) == 0):
        i = part.__index__()
        if not -size <= i < size:
            raise ArgumentIndexError(f"index {i} of dimension {dim}, expected {-size} to {size - 1}")
        i %= size
        return result(lib.asc_squeeze, _slice(x, dim, i, i + 1), dim), dim
    rows = as_tensor("index", part)
    if rows.dtype.kind == "u" and rows.shape == (size,):  # what comparisons make, and bool
        rows = as_tensor("index", numpy.flatnonzero(rows.numpy()))
    if rows.ndim != 1 or rows.dtype.kind != "i":
        raise ArgumentIndexError(
            f"index of {rows.dtype} {rows.shape}, expected whole numbers (n), or a mask ({size})"
        )
    return result(lib.asc_index_select, x, dim, wrapped(rows, size)), dim + 1


def wrapped(rows, size):
    """Rows counted from the start, those below 0 being counted from the end."""
    values = rows.numpy()
    return as_tensor("index", values % size) if size and ((values < 0) & (values >= -size)).any() else rows


def item(x: Tensor, key):
    dim, t = 0, x
    for part in _expanded(key, x.ndim):
        if isinstance(part, bool):
            raise ArgumentIndexError("True and False are no indices")
        t, dim = _part(t, dim, part)
    return (
        t
        if t is not x
        else result(
            lib.asc_detach if not x.requires_grad else lib.asc_slice,
            x,
            *(() if not x.requires_grad else (0, 0, _c.ASC_SLICE_END, 1)),
        )
    )
