"""Mixing layers alone."""

from __future__ import annotations

import ctypes
import json
from typing import Any, Dict, List, Optional

from . import _c
from ._given import settings as as_json
from ._library import Owned, ask, call, iter_texts, lib, lock, text
from ._params import ParameterList, Parameters, listed, next_seed
from ._tensor import NULL, Handle, Tensor, as_tensor, made, real_dtype_number, result_of, scoped
from ._types import DType, File, Input


def mixings() -> List[str]:
    """The names of the mixings."""
    return list(iter_texts(lib.asc_mixing_at, None))


def setting_rows(mixing):
    """The rows of a mixing's settings, by key."""
    i, schema = 0, lib.asc_lm_schema(None, 0)
    while schema.owner and text(schema.owner) != mixing:
        i += 1
        schema = lib.asc_lm_schema(None, i)
    rows, at = {}, schema.settings
    while at and (row := _c.asc_setting.from_address(at)).key:
        rows[text(row.key)] = row
        at += ctypes.sizeof(row)
    return rows


def _with_defaults(mixing, settings):
    """Settings with what a layer has to be told, and the program tells where its user does not, such as 4 heads."""
    needed = {
        key: json.loads(row.fallback)
        for key, row in setting_rows(mixing).items()
        if row.flags & _c.ASC_SETTING_REQUIRED and row.fallback
    }
    return {**needed, **settings}


class Layer(Owned):
    """A mixing layer on width d_model: "transformer", "ascender", "grassmann", "linear", "conv", "recurrent", …

    The settings are those of doc/settings.md, as keywords; `config` has those in effect. Initial values are drawn from
    `seed`, or one after another from manual_seed's."""

    def __init__(
        self, mixing: str, d_model: int, *, dtype: DType = "f32", seed: Optional[int] = None, **settings: Any
    ):
        seed = next_seed() if seed is None else seed
        config = as_json(_with_defaults(mixing, settings))
        pointer = call(lib.asc_layer_new, mixing, d_model, config, real_dtype_number(dtype), seed)
        super().__init__(pointer, lib.asc_layer_free)
        self.mixing, self.d_model, self._given = mixing, d_model, settings

    def __repr__(self):
        settings = "".join(f", {key}={value!r}" for key, value in self._given.items())
        return f"Layer({self.mixing!r}, {self.d_model}{settings})"

    @property
    def config(self) -> Dict[str, Any]:
        return json.loads(text(lib.asc_layer_config(self.pointer)))

    def parameters(self) -> Parameters:
        """The layer's tensors by name, those that are not trained among them."""
        return listed(lib.asc_layer_params(self.pointer))

    def __call__(
        self,
        x: Input,
        lengths: Optional[Input] = None,
        context: Optional[Input] = None,
        bias: Optional[Input] = None,
        mask: Optional[Input] = None,
        neighbors: Optional[Input] = None,
        return_aux: bool = False,
    ) -> Any:
        """x (B, N, D) to (B, N, D).

        lengths (B): so many tokens of each sequence count, with a context its. context (B, M, D): what x looks at in
        place of itself. bias (N, M), (1 or H, N, M) or (1 or B, 1 or H, N, M) is added to the scores, and mask, of
        such a shape, says where they count; neighbors (1 or B, 1 or H, N, m) are an ASCender layer's. return_aux has
        the auxiliary loss follow, None where the settings ask for none."""
        given = [
            as_tensor("layer", value) if value is not None else None
            for value in (x, lengths, context, bias, mask, neighbors)
        ]
        x, lengths, context, bias, mask, neighbors = (t if t is not None else NULL for t in given)
        aux = Handle()
        with lock:
            try:
                if given[3] is not None:
                    ask(lib.asc_layer_set_bias, self.pointer, bias)
                if given[4] is not None or given[5] is not None:
                    ask(lib.asc_layer_restrict, self.pointer, mask, neighbors)
                if given[2] is not None:
                    y = result_of(lib.asc_layer_cross, self.pointer, x, context, lengths)
                else:
                    y = result_of(
                        lib.asc_layer_forward_aux,
                        self.pointer,
                        x,
                        lengths,
                        ctypes.byref(aux) if return_aux else None,
                        also=[aux],
                    )
            finally:
                lib.asc_layer_set_bias(self.pointer, NULL)
                lib.asc_layer_restrict(self.pointer, NULL, NULL)
        return (y, made(aux) if aux.tag else None) if return_aux else y

    def inspect(
        self, x: Input, lengths: Optional[Input] = None, context: Optional[Input] = None
    ) -> Dict[str, Tensor]:
        """What the layer computes on the way, by name: scores, attention, coordinates (doc/inspect.md)."""
        x, lengths, context = (as_tensor("inspect", t) if t is not None else None for t in (x, lengths, context))
        h = lengths if lengths is not None else NULL
        parts = ParameterList()
        if context is not None:
            scoped(lib.asc_layer_inspect_cross, self.pointer, x, context, h, parts.pointer)
        else:
            scoped(lib.asc_layer_inspect, self.pointer, x, h, parts.pointer)
        return dict(listed(parts.pointer).items())

    def project(self) -> None:
        """Brings parameters back to where they have a meaning; after each step of an optimiser."""
        with lock:
            lib.asc_layer_project(self.pointer)

    def save(self, path: File) -> None:
        """Writes the parameters to a safetensors file."""
        call(lib.asc_params_save, lib.asc_layer_params(self.pointer), path)

    def load(self, path: File) -> None:
        """Reads them from one."""
        call(lib.asc_params_load, lib.asc_layer_params(self.pointer), path)
