"""Tensors: handles of the library's, which share their memory with NumPy and everything that speaks DLPack."""

from __future__ import annotations

import ctypes
from array import array
from collections import deque
from typing import TYPE_CHECKING, Any, Iterator, Optional, Tuple

import numpy

from . import _c
from ._given import shown, whole
from ._library import (
    ArgumentError,
    ArgumentTypeError,
    ask,
    catch_up,
    ctx,
    fail,
    let_go,
    lib,
    lock,
    mode,
    pending,
    quick,
    raw,
    state,
)
from ._types import Array, DType, Input, Shape

if TYPE_CHECKING:
    from ._methods import Methods  # ops and operators
else:
    Methods = object  # _operators.py gives the class its methods

DTYPES = (numpy.dtype("float32"), numpy.dtype("float64"), numpy.dtype("int64"), numpy.dtype("uint8"))  # as asc_dtype
NAMES = {"f32": 0, "f64": 1, "i64": 2, "u8": 3}
NULL = _c.asc_tensor()


def _dtype_number(dtype):
    if isinstance(dtype, str) and dtype in NAMES:
        return NAMES[dtype]
    try:
        given = None if dtype is None else numpy.dtype(dtype)
    except TypeError:
        given = None
    if given == numpy.bool_:
        return 3
    return DTYPES.index(given) if given is not None and given in DTYPES else None  # float64 is equal to None


def dtype_number(dtype):
    """The library's number of a dtype of NumPy's, or of the names f32, f64, i64 and u8."""
    number = _dtype_number(dtype)
    if number is None:
        raise ArgumentTypeError(f"dtype is {shown(dtype)}, expected float32, float64, int64 or uint8")
    return number


def real_dtype_number(dtype):
    """The same of a dtype that parameters may have."""
    number = _dtype_number(dtype)
    if number is None or DTYPES[number].kind != "f":
        raise ArgumentTypeError(f"dtype is {shown(dtype)}, expected float32 or float64")
    return number


def sizes(values, name="shape"):
    """A list of 64-bit numbers; its address is .buffer_info()[0]."""
    if hasattr(values, "__index__") and getattr(values, "ndim", 0) == 0:
        values = (values,)
    try:
        if not isinstance(values, (str, bytes)):
            return array("q", values)
    except (TypeError, OverflowError):
        pass
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ArgumentTypeError(f"{name} is {shown(values)}, expected whole numbers")
    return array("q", [whole(name, value) for value in values])


class Handle(_c.asc_tensor):
    """A handle that is Python's to let go, which ctypes makes within the call: a signal's handler may raise behind it,
    before there is a Tensor."""

    __slots__ = ()

    def __del__(self, let_go=let_go, release=quick.asc_release):
        if self.tag:
            let_go(release, self)


for _name, (_result, _, _params) in _c.FUNCTIONS.items():
    if _result is _c.asc_tensor and _params[0] == "ctx":
        getattr(raw, _name).restype = Handle


class Tensor(Methods):
    """An array of f32, f64, i64 or u8 with its gradient: made by tensor, from_numpy, from_dlpack, and by ops.

    It shares its memory with numpy(), numpy.asarray, memoryview and __dlpack__. The memory of a result that gradients
    flow to is for reading there; so is what was made of a read-only array, unless that is a view of a tensor's."""

    __slots__ = (
        "_as_parameter_",
        "__weakref__",
    )  # the first is the handle, which ctypes passes in the tensor's place
    __array_priority__ = 1000  # array + tensor is the tensor's

    def __new__(cls, *_: Any) -> Tensor:
        raise TypeError("make tensors by ascgrad.tensor, from_numpy or from_dlpack")

    def __reduce__(self):
        return tensor, (numpy.array(self.numpy()), self.requires_grad)

    # ---- what it is ----

    @property
    def _array(self):
        return quick.asc_array_of(self)

    @property
    def shape(self) -> Tuple[int, ...]:
        a = self._array
        return tuple(a.shape[: a.ndim])

    @property
    def ndim(self) -> int:
        return quick.asc_ndim(self)

    @property
    def size(self) -> int:
        """The number of elements."""
        return quick.asc_numel(self)

    @property
    def dtype(self) -> numpy.dtype:
        return DTYPES[quick.asc_dtype_of(self)]

    @property
    def T(self) -> Tensor:
        return permute(self, range(self.ndim)[::-1])

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of a scalar")
        return self.shape[0]

    def __repr__(self):
        needs = quick.asc_format(self, None, 0) + 1
        buffer = ctypes.create_string_buffer(needs)
        quick.asc_format(self, buffer, needs)
        return f"tensor({buffer.value.decode()})"

    def item(self) -> Any:
        """The value of a tensor of one element."""
        if self.size != 1:
            raise ArgumentError(f"item: the tensor has {self.size} elements, expected 1")
        return self.numpy().reshape(()).item()

    def tolist(self) -> Any:
        return self.numpy().tolist()

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise TypeError(f"a tensor of {self.dtype} is no index")
        return int(self.item())

    # ---- its memory, shared ----

    @property
    def __array_interface__(self):
        a = self._array
        size = DTYPES[a.dtype].itemsize
        return {
            "version": 3,
            "shape": tuple(a.shape[: a.ndim]),
            "typestr": DTYPES[a.dtype].str,
            "data": (a.data or 0, self._reads_only(a.data)),
            "strides": tuple(size * step for step in a.stride[: a.ndim]),
        }

    def _reads_only(self, data):
        if any(first <= data < end for first, end in list(READ_ONLY.values())):
            owners = [values for values in list(OWNERS.values()) if values.flags.writeable]
            if not any(first <= data < end for first, end in map(_span, owners)):  # it was shared for writing, too
                return True
        return self.requires_grad and not self.is_leaf

    def numpy(self) -> Array:
        """Its values as an array that shares their memory and keeps the tensor."""
        if self.size == 0:
            return numpy.empty(self.shape, self.dtype)
        return numpy.asarray(_Memory(self.__array_interface__, self))

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Array:
        values = self.numpy()
        if dtype is not None and numpy.dtype(dtype) != values.dtype:
            if copy is False:
                raise ValueError(f"a tensor of {values.dtype} can't be had as {numpy.dtype(dtype)} without a copy")
            return values.astype(dtype)
        return values.copy() if copy else values

    def __array_function__(self, function, types, args, kwargs):
        """Functions of NumPy's, as numpy.mean, are given the array."""
        return function(*_arrays(args), **_arrays(kwargs))

    def __dlpack__(self, *, stream=None, **options):
        values = self.numpy()
        if not values.flags.writeable:  # PyTorch writes all the same where NumPy says so
            ways = "detach() it, or copy it" if self.requires_grad else "copy it"
            raise BufferError(f"the memory is for reading alone, which can't be said here: {ways} by ascgrad.tensor")
        try:
            return values.__dlpack__(**options)
        except TypeError:  # NumPy before 2.1 knows no options
            return values.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)  # the processor

    def __buffer__(self, flags):
        return memoryview(self.numpy())  # from Python 3.12 on: memoryview(tensor)

    # ---- gradients ----

    @property
    def requires_grad(self) -> bool:
        return quick.asc_requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, require: bool) -> None:
        ask(quick.asc_require_grad, self, bool(require))

    @property
    def is_leaf(self) -> bool:
        """Whether no op that gradients flow through made it."""
        return quick.asc_is_leaf(self)

    @property
    def grad(self) -> Optional[Tensor]:
        """What backward passes have collected, later ones too; None before the first. To set it to None begins another
        one: what is kept stays as it is, unless it is of grad_into."""
        with lock:
            gradient = quick.asc_keep(quick.asc_grad(self))
        return made(gradient) if gradient.tag else None

    @grad.setter
    def grad(self, value: None) -> None:
        if value is not None:
            raise ArgumentError("grad can be set to None alone; grad_into has a gradient collected in other memory")
        with lock:
            quick.asc_zero_grad(self)

    def grad_into(self, where: Optional[Input], holds: bool = False) -> None:
        """Has the gradient collected in `where`, an array or tensor, without a copy; None: the library's memory.

        `holds`: it holds a gradient already, which passes add to; else the first pass overwrites what is there."""
        to = where if where is None or isinstance(where, Tensor) else from_numpy(where)
        for_reading = isinstance(where, numpy.ndarray) and not where.flags.writeable
        if for_reading or (to is not None and to._reads_only(to._array.data)):
            raise ArgumentError("grad_into: where is read-only")
        ask(lib.asc_grad_into, self, to if to is not None else NULL, holds)

    def backward(self, cotangent: Optional[Input] = None, retain_graph: bool = False) -> None:
        """Adds the gradients of this tensor to those of the leaves; `cotangent`, of its shape, is 1 for one element."""
        g = cotangent
        if g is not None and not isinstance(g, Tensor):
            values = numpy.asarray(g)
            g = as_tensor("backward", values.astype(self.dtype) if values.dtype.kind in "iub" else values, self)
            if g.dtype != self.dtype and self.dtype.kind == "f":
                g = tensor(g, dtype=self.dtype)
        with lock:
            catch_up()
            if lib.asc_backward(ctx, self, g if g is not None else NULL, bool(retain_graph)):
                fail()

    def detach(self) -> Tensor:
        """The same memory without a gradient."""
        return result(raw.asc_detach, self)

    # ---- parts ----

    def __getitem__(self, key: Any) -> Tensor:
        from ._index import item

        return item(self, key)

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool((self.numpy() == value).any())

    __hash__ = object.__hash__


def _arrays(value):
    """Arguments with arrays in the places of tensors."""
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, dict):
        return {key: _arrays(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, deque)):
        return (tuple if isinstance(value, tuple) else list)(map(_arrays, value))
    return value


class _Memory:
    """What NumPy makes an array of; the array keeps it, and it the tensor."""

    __slots__ = ("__array_interface__", "tensor")

    def __init__(self, interface, tensor):
        self.__array_interface__, self.tensor = interface, tensor


new = object.__new__


def made(handle):
    """The Tensor of a handle that is Python's to let go."""
    t = new(Tensor)
    t._as_parameter_ = handle if type(handle) is Handle else Handle(handle.tag, handle.generation)
    return t


def result(function, *args):
    """function(context, *args), which makes a tensor."""
    with lock:
        if pending or mode.off._is_owned() is not state.off:
            catch_up()
        handle = function(ctx, *args)
        if not handle.tag:
            fail()
        t = new(Tensor)
        t._as_parameter_ = handle
        return t


def scoped(function, *args, also=()):
    """function(*args), composed of ops: what they made goes, but for its result, `also`, handles of further ones, and
    what a backward pass needs."""
    with lock:
        catch_up()
        quick.asc_scope_begin(ctx)
        try:
            found = ask(function, *args)
            for t in (found, *also):
                if isinstance(t, _c.asc_tensor):
                    quick.asc_keep(t)
            return found
        finally:
            quick.asc_scope_end(ctx)


def result_of(function, *args, also=()):
    """The tensor that it makes."""
    return made(scoped(function, *args, also=also))


def permute(x, order):
    order = array("i", order)
    return result(raw.asc_permute, x, len(order), order.buffer_info()[0])


# ---- making them ----

OWNERS = {}  # the arrays whose memory tensors have, by number
READ_ONLY = {}  # of these, first and last address of those that are not to be written


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
def _released(number, _):
    READ_ONLY.pop(number, None)
    OWNERS.pop(number, None)


_next = iter(range(1, 2**62))


def _may_be_written(values):
    """Whether a read-only array is a view of a tensor's memory that itself is not."""
    while isinstance(values, numpy.ndarray):
        values = values.base
    return isinstance(values, _Memory) and not values.__array_interface__["data"][1]


def _span(values):
    """An array's first address, and the one behind its last element; of strides that are not below 0."""
    first = values.ctypes.data
    return first, first + sum((n - 1) * step for n, step in zip(values.shape, values.strides)) + values.itemsize


def fits(values):
    """Whether the library can read an array as it lies in memory."""
    steps = all(step >= 0 and step % values.itemsize == 0 for step in values.strides)
    return steps and values.flags.aligned and values.ndim <= _c.ASC_MAX_DIMS


def from_numpy(values: Any) -> Tensor:
    """A tensor with the memory of an array, or of anything with the buffer protocol; kept as long as it is used.

    float32, float64, int64, uint8 and bool, of any strides that are not below 0."""
    if isinstance(values, (list, tuple, int, float, complex, numpy.generic)):
        raise ArgumentTypeError(
            f"from_numpy: got {shown(values)}, expected an array, whose memory can be shared; ascgrad.tensor copies it"
        )
    values = numpy.asarray(values)
    if values.dtype not in DTYPES and values.dtype != numpy.bool_:
        raise ArgumentTypeError(
            f"from_numpy: the array is {values.dtype}, expected float32, float64, int64, uint8 or bool, in this "
            "machine's byte order; ascgrad.tensor copies what can be converted"
        )
    dtype = dtype_number(values.dtype)
    size = values.itemsize
    if not fits(values):
        raise ArgumentError(
            f"from_numpy: the array has {values.ndim} dimensions and strides {values.strides}, expected at "
            f"most {_c.ASC_MAX_DIMS}, strides that are multiples of {size} and not below 0, and such an address; "
            "ascgrad.tensor copies it"
        )
    if values.size == 0:
        return empty(values.shape, values.dtype)
    shape, steps, number = sizes(values.shape), sizes([step // size for step in values.strides]), next(_next)
    data = values.ctypes.data
    OWNERS[number] = values
    if not values.flags.writeable and not _may_be_written(values):
        READ_ONLY[number] = _span(values)
    try:
        return result(
            raw.asc_wrap, dtype, data, values.ndim, shape.buffer_info()[0], steps.buffer_info()[0], _released, number
        )
    except BaseException:
        READ_ONLY.pop(number, None)
        OWNERS.pop(number, None)
        raise


def empty(shape: Shape, dtype: DType = "f32") -> Tensor:
    """A tensor of that shape, its values not set."""
    shape = sizes(shape)
    return result(raw.asc_empty, dtype_number(dtype), len(shape), shape.buffer_info()[0])


def from_dlpack(x: Any) -> Tensor:
    """A tensor with the memory of what has __dlpack__, on the processor: a tensor of PyTorch's, an array of JAX'."""
    return x.detach() if isinstance(x, Tensor) else from_numpy(_imported(x))


def _imported(x):
    """The array that shares the memory of what has __dlpack__."""
    if hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] not in (1, 3):
        raise ArgumentTypeError("from_dlpack: the memory is another device's, expected the processor's")
    if not hasattr(x, "__dlpack__"):
        raise ArgumentTypeError(f"from_dlpack: got {type(x).__name__}, expected what has __dlpack__")
    try:
        return numpy.from_dlpack(x)
    except RuntimeError as error:  # of a dtype that NumPy does not know, such as bfloat16
        raise ArgumentTypeError(f"from_dlpack: {error}") from error


def tensor(values: Any, requires_grad: bool = False, dtype: Optional[DType] = None) -> Tensor:
    """A tensor with a copy of the values: an array, a tensor, a list, a number.

    Without dtype theirs, as NumPy has it, float16 as float32 and all integers as int64: of a list with fractions
    float64, where zeros, layers and models are float32."""
    values = numpy.asarray(values)
    if dtype is None:
        wanted = ordinary(values.dtype)
    else:
        wanted = DTYPES[dtype_number(dtype)]
        ordinary(values.dtype)
        if dtype not in NAMES and numpy.dtype(dtype) == numpy.bool_:
            values = values != 0
    values = numpy.array(fitting(values, wanted), wanted, order="C", copy=True)
    shape = sizes(values.shape)
    t = result(raw.asc_from, dtype_number(wanted), values.ctypes.data, values.ndim, shape.buffer_info()[0])
    if requires_grad:
        t.requires_grad = True
    return t


def fitting(values, wanted):
    """An array, unless it has numbers that a dtype of whole numbers can't hold, which NumPy would wrap."""
    if wanted.kind in "iu" and values.dtype != wanted and values.dtype.kind != "b" and values.size:
        low, high, room = values.min().item(), values.max().item(), numpy.iinfo(wanted)
        if not (room.min <= low and high <= room.max):  # nor NaN
            raise ArgumentError(
                f"the values go from {low} to {high}, expected {room.min} to {room.max}, which {wanted} holds"
            )
    return values


def ordinary(dtype):
    """The dtype of the library's that one of NumPy's is copied to."""
    dtype = dtype.newbyteorder("=")
    if dtype in DTYPES:
        return dtype
    if dtype.kind == "b":
        return DTYPES[3]
    if dtype.kind in "iu":
        return DTYPES[2]
    if dtype == numpy.float16:
        return DTYPES[0]
    raise ArgumentTypeError(f"the values are {dtype}, expected float64, float32, float16 or whole numbers")


def as_tensor(op, value, like=None):
    """An input of an op: a tensor, or an array's memory where it can be shared, or a copy. A number, or numbers in a
    list, have the dtype of `like`."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, numpy.floating) and like is not None and like.dtype.kind != "f":
        like = None  # it has a dtype of its own
    if isinstance(value, (bool, int, float, numpy.floating)) and like is not None:
        if like.dtype.kind != "f" and isinstance(value, float) and not value.is_integer():
            raise ArgumentTypeError(f"{op}: got {value} beside {like.dtype}, expected a whole number")
        return tensor(value, dtype=like.dtype)
    if isinstance(value, (list, tuple)):
        value = numpy.asarray(value)
        if like is not None and value.dtype.kind == "f" and like.dtype.kind == "f":
            value = value.astype(like.dtype)
    elif not isinstance(value, numpy.ndarray) and hasattr(value, "__dlpack__"):
        value = _imported(value)
    values = numpy.asarray(value)
    if values.dtype.kind not in "fiub":
        raise ArgumentTypeError(
            f"{op}: got {type(value).__name__} of {values.dtype}, expected a tensor or an array of numbers"
        )
    kind = ordinary(values.dtype)
    shared = (values.dtype == kind or values.dtype == numpy.bool_) and values.dtype.isnative and fits(values)
    return from_numpy(values) if shared else tensor(values)
