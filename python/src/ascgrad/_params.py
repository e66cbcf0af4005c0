"""Lists of named tensors: parameters of layers and models, what optimisers work on, safetensors files."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from . import _c
from ._given import letters, whole
from ._library import ArgumentTypeError, Owned, ask, call, lib, lock, quick, set_step, text
from ._tensor import Tensor, as_tensor, made, result
from ._types import Array, File, Input, Params

_seeds = itertools.count(1)


def _same(key, tensor):
    """Whether both stand for one tensor of the library's."""
    if not isinstance(key, Tensor):
        return False
    a, b = key._as_parameter_, tensor._as_parameter_
    return (a.tag, a.generation) == (b.tag, b.generation)


def manual_seed(seed: int) -> None:
    """Sets what initial values without a seed of their own, and random ops, draw from."""
    global _seeds
    seed = whole("manual_seed: seed", seed, ctypes.c_uint64)
    set_step(seed)
    _seeds = itertools.count((seed << 20) + 1)


def next_seed() -> int:
    """Another seed each time, in an order that manual_seed sets."""
    return next(_seeds) % 2**64


class Parameters(List[Tensor]):
    """Named tensors, in order: a list of tensors, whose elements can also be had by name; items() has pairs. To add to
    it makes a plain list."""

    def __init__(self, pairs: Union[Dict[str, Tensor], Iterable[Tuple[str, Tensor]]] = ()):
        pairs = list(pairs.items() if isinstance(pairs, dict) else pairs)
        super().__init__(tensor for _, tensor in pairs)
        self.names = [name for name, _ in pairs]

    def __reduce__(self) -> Any:
        return Parameters, (self.items(),)

    def __iadd__(self, other: Any) -> Any:
        return [*self, *other]

    def _fixed(self, *_: Any, **__: Any) -> Any:
        raise ArgumentTypeError("parameters can't be changed, but list(parameters) can, which has no names")

    append = extend = insert = pop = remove = clear = sort = reverse = _fixed
    __setitem__ = __delitem__ = __imul__ = _fixed

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(key)
            key = self.names.index(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        return key in self.names if isinstance(key, str) else any(_same(key, tensor) for tensor in self)

    def __repr__(self):
        rows = "".join(f"\n  {name} {tensor.dtype} {tensor.shape}" for name, tensor in self.items())
        return f"Parameters({self.size:,} numbers:{rows})"

    def keys(self) -> List[str]:
        return list(self.names)

    def values(self) -> List[Tensor]:
        return list(self)

    def items(self) -> List[Tuple[str, Tensor]]:
        return list(zip(self.names, self))

    def zero_grad(self) -> None:
        for tensor in self:
            tensor.grad = None

    @property
    def size(self) -> int:
        """The number of elements of all."""
        return sum(tensor.size for tensor in self)


def named(params: Params) -> Parameters:
    """Parameters of a list, a dictionary, pairs, or Parameters."""
    if isinstance(params, Parameters):
        return params
    if isinstance(params, Tensor) or not hasattr(params, "__iter__"):
        raise ArgumentTypeError(f"params is {type(params).__name__}, expected a list or dictionary of tensors")
    if isinstance(params, dict):
        pairs = list(params.items())
    else:
        pairs = [p if isinstance(p, tuple) else (str(i), p) for i, p in enumerate(params)]
    for pair in pairs:
        name, tensor = pair if len(pair) == 2 else (pair, None)
        if not isinstance(tensor, Tensor):
            raise ArgumentTypeError(f"parameter {name} is {type(tensor).__name__}, expected a tensor")
    return Parameters(pairs)


class ParameterList(Owned):
    """The library's list of some parameters."""

    def __init__(self, params=(), decay=None):
        super().__init__(call(lib.asc_params_new), quick.asc_params_free)
        for name, tensor in named(params).items():
            decays = tensor.ndim > 1 if decay is None else decay(name, tensor)
            ask(lib.asc_params_add, self.pointer, name, tensor, decays)


def listed(pointer):
    """The tensors of a list of the library's, each held by Python, too."""
    with lock:
        count = quick.asc_params_count(pointer)
        return Parameters(
            (text(quick.asc_params_name(pointer, i)), made(quick.asc_keep(quick.asc_params_at(pointer, i))))
            for i in range(count)
        )


def load_safetensors(path: File) -> Tuple[Dict[str, Array], Dict[str, str]]:
    """The tensors of a safetensors file as arrays, by name, and its metadata."""
    pointer = call(lib.asc_safetensors_open, path)
    file = Owned(pointer, quick.asc_safetensors_close)
    tensors, metadata = {}, {}
    for i in range(lib.asc_safetensors_count(pointer)):
        entry = _c.asc_safetensors_entry.from_address(lib.asc_safetensors_at(pointer, i))
        t = result(lib.asc_safetensors_read, pointer, entry.name, _c.ASC_SAFETENSORS_STORED)
        tensors[text(entry.name)] = t.numpy()
    i = 0
    while at := lib.asc_safetensors_metadata_at(pointer, i):
        pair = _c.asc_safetensors_pair.from_address(at)
        metadata[text(pair.key)] = text(pair.value)
        i += 1
    del file
    return tensors, metadata


def save_safetensors(
    path: File, tensors: Union[Parameters, Mapping[str, Input]], metadata: Optional[Mapping[str, str]] = None
) -> None:
    """Writes tensors or arrays, by name, to a safetensors file, with checksums."""
    if not hasattr(tensors, "keys"):
        raise ArgumentTypeError(f"save_safetensors: tensors is {type(tensors).__name__}, expected a dictionary")
    held = {name: as_tensor("save_safetensors", value) for name, value in dict(tensors).items()}
    names = [letters("save_safetensors: name", name) for name in held]
    rows = (_c.asc_named_tensor * len(held))(*zip(names, (t._as_parameter_ for t in held.values())))
    pairs = {key: value for key, value in (metadata or {}).items() if not str(key).startswith("asc_crc32")}
    pairs["asc_crc32"] = ""
    given = (_c.asc_safetensors_pair * len(pairs))(
        *(tuple(letters("save_safetensors: metadata", part) for part in pair) for pair in pairs.items())
    )
    call(lib.asc_safetensors_write, path, rows, len(held), given, len(pairs))
