"""tensor[…]: views by numbers, slices, None and …; rows by one list of whole numbers, or by one mask."""

import numpy

from . import _c
from ._library import ArgumentIndexError
from ._library import raw as lib
from ._tensor import Tensor, as_tensor, permute, result


def _expanded(key, ndim):
    """The key, a tuple, without …"""
    given = sum(part is not None and part is not Ellipsis for part in key)
    if given > ndim or sum(part is Ellipsis for part in key) > 1:
        raise ArgumentIndexError(f"{given} indices, expected at most {ndim}, and … once")
    if not any(part is Ellipsis for part in key):
        key += (Ellipsis,)
    at = next(i for i, part in enumerate(key) if part is Ellipsis)
    return key[:at] + (slice(None),) * (ndim - given) + key[at + 1 :]


def _is_number(part):
    return isinstance(part, int) or (hasattr(part, "__index__") and getattr(part, "ndim", 0) == 0)


def _is_list(part):
    return not (part is None or part is Ellipsis or isinstance(part, slice) or _is_number(part))


def _slice(x, dim, start, stop, step=1):
    return result(lib.asc_slice, x, dim, start, stop, step)


def _rows(part, size, axis):
    """The numbers of rows, from 0 on, of a list or a mask. Of a tensor's u8, which comparisons make, a mask."""
    if isinstance(part, (list, tuple)) and not part:
        part = numpy.zeros(0, numpy.int64)
    values = part.numpy() if isinstance(part, Tensor) else numpy.asarray(part)
    if values.dtype.kind not in "fiub":
        as_tensor("index", part)  # which says what it is
    mask = values.dtype.kind == "b" or (isinstance(part, Tensor) and values.dtype.kind == "u")
    if mask and values.shape == (size,):
        values = numpy.flatnonzero(values)
    elif mask or values.ndim != 1 or values.dtype.kind not in "iu":
        raise ArgumentIndexError(
            f"index of {values.dtype} {values.shape}, expected whole numbers (n), or a mask ({size})"
        )
    wrong = (values < -size) | (values >= size)
    if wrong.any():
        raise ArgumentIndexError(f"index {values[wrong][0]} of dimension {axis}, expected {-size} to {size - 1}")
    values = values.astype(numpy.int64)
    return as_tensor("index", numpy.where(values < 0, values + size, values))


def _part(x, dim, part, axis):
    """x with one index applied to dimension dim, `axis` of the tensor that is indexed, and the dimension that the next
    index is for."""
    if part is None:
        return result(lib.asc_unsqueeze, x, dim), dim + 1
    size = x.shape[dim]
    if isinstance(part, slice):
        start, stop, step = part.indices(size)
        if step < 1:
            raise ArgumentIndexError(f"step is {step}, expected at least 1")
        return (x if (start, stop, step) == (0, size, 1) else _slice(x, dim, start, max(start, stop), step)), dim + 1
    if _is_number(part):
        i = part.__index__()
        if not -size <= i < size:
            raise ArgumentIndexError(f"index {i} of dimension {axis}, expected {-size} to {size - 1}")
        i %= size
        return result(lib.asc_squeeze, _slice(x, dim, i, i + 1), dim), dim
    return result(lib.asc_index_select, x, dim, _rows(part, size, axis)), dim + 1


def _apart(key):
    """Whether numbers and a list, which NumPy takes together, have something between them."""
    at = [i for i, part in enumerate(key) if _is_list(part) or _is_number(part)]
    return at[-1] - at[0] >= len(at)


def item(x: Tensor, key):
    key = key if isinstance(key, tuple) else (key,)
    lists = sum(map(_is_list, key))
    if lists > 1:
        raise ArgumentIndexError(f"{lists} lists or masks, expected at most one: index by one after the other")
    dim, axis, t, front = 0, 0, x, None
    for part in _expanded(key, x.ndim):
        if isinstance(part, bool) or (isinstance(part, Tensor) and part.ndim == 0 and part.dtype.kind == "u"):
            raise ArgumentIndexError("True and False are no indices")
        if lists and _is_list(part):
            front = dim
        t, dim = _part(t, dim, part, axis)
        axis += part is not None
    if front and _apart(key):  # their dimension is then the first one
        t = permute(t, [front, *(i for i in range(t.ndim) if i != front)])
    if t is not x:
        return t
    if not x.requires_grad:
        return result(lib.asc_detach, x)
    return result(lib.asc_slice, x, 0, 0, _c.ASC_SLICE_END, 1) if x.ndim else result(lib.asc_reshape, x, 0, None)
