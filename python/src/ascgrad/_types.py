"""Types that annotations name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, Iterable, Sequence, Tuple, Union

import numpy

if TYPE_CHECKING:
    from ._tensor import Tensor

Array = numpy.ndarray
DType = Union[str, type, numpy.dtype]
Input = Union["Tensor", Array, Sequence[Any], float]  # what ops take
Shape = Union[int, Sequence[int]]
Params = Union[Dict[str, "Tensor"], Iterable["Tensor"], Iterable[Tuple[str, "Tensor"]]]
File = Union[str, "os.PathLike[str]"]
