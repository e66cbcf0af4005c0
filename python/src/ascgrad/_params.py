"""Lists of named tensors: parameters of layers and models, what optimisers work on, safetensors files."""

from __future__ import annotations

import itertools
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from . import _c
from ._library import ArgumentTypeError, Owned, ask, call, lib, lock, quick, set_step, text
from ._tensor import Tensor, as_tensor, made, result
from ._types import Array, File, Input, Params

_seeds = itertools.count(1)


def manual_seed(seed: int) -> None:
    """Sets what initial values without a seed of their own, and random ops, draw from."""
    global _seeds
    _seeds = itertools.count((seed << 20) + 1)
    set_step(seed)


def next_seed() -> int:
    """Another seed each time, in an order that manual_seed sets."""
    return next(_seeds) % 2**64


class Parameters(List[Tensor]):
    """Named tensors, in order: a list of tensors, whose elements can also be had by name; items() has pairs."""

    def __init__(self, pairs: Union[Dict[str, Tensor], Iterable[Tuple[str, Tensor]]] = ()):
        pairs = list(pairs.items() if isinstance(pairs, dict) else pairs)
        super().__init__(tensor for _, tensor in pairs)
        self.names = [name for name, _ in pairs]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(key)
            key = self.names.index(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        return key in self.names if isinstance(key, str) else any(key is tensor for tensor in self)

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
    if isinstance(params, dict):
        return Parameters(params)
    params = list(params)
    pairs = [p if isinstance(p, tuple) else (str(i), p) for i, p in enumerate(params)]
    for name, tensor in pairs:
        if not isinstance(tensor, Tensor):
            raise ArgumentTypeError(f"parameter {name} is {type(tensor).__name__}, expected a tensor")
    return Parameters(pairs)


class ParameterList(Owned):
    """The library's list of some parameters."""

    def __init__(self, params=(), decay=None):
        super().__init__(call(lib.asc_params_new), quick.asc_params_free)
        for name, tensor in named(params).items():
            decays = tensor.ndim > 1 if decay is None else decay(name, tensor)
            ask(lib.asc_params_add, self.pointer, name.encode(), tensor, decays)


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
    pointer = call(lib.asc_safetensors_open, str(path).encode())
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
    held = {name: as_tensor("save_safetensors", value) for name, value in dict(tensors).items()}
    rows = (_c.asc_named_tensor * len(held))(*((name.encode(), t._as_parameter_) for name, t in held.items()))
    pairs = {key: value for key, value in (metadata or {}).items() if not key.startswith("asc_crc32")}
    pairs["asc_crc32"] = ""
    given = (_c.asc_safetensors_pair * len(pairs))(*((k.encode(), v.encode()) for k, v in pairs.items()))
    call(lib.asc_safetensors_write, str(path).encode(), rows, len(held), given, len(pairs))
