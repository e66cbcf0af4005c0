"""ascgrad: tensors with gradients, ops, layers and language models of libascgrad.

    import ascgrad as asc
    x = asc.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    asc.tanh(x).sum().backward()
    x.grad.numpy()

doc/python.md is the guide. ascgrad.torch has the mixing layers as modules of PyTorch's."""

from . import _library, _operators, ops
from ._check import Op, gradcheck
from ._compare import compare
from ._data import Dataset, Split, Tokenizer, learn_bpe
from ._layers import Layer, mixings
from ._library import Error, Status, info, memory, no_grad, set_step, set_threads, threads
from ._library import (
    ArgumentError,
    ArgumentIndexError,
    ArgumentTypeError,
    FileError,
    FormatError,
    InterruptedCall,
    NonFiniteError,
    OutOfMemoryError,
    StateError,
)
from ._lm import LM, Carried
from ._operators import arange, full, ones, split, zeros
from ._optim import SGD, AdamW, Muon, Optimizer, learning_rate
from ._params import Parameters, load_safetensors, manual_seed, save_safetensors
from ._runs import Run, experiment, paired, runs, train
from ._sentences import Encoder, Features
from ._tensor import Tensor, empty, from_dlpack, from_numpy, tensor
from .ops import *

__version__ = info()["version"]
__all__ = [
    "AdamW",
    "ArgumentError",
    "ArgumentIndexError",
    "ArgumentTypeError",
    "Carried",
    "Dataset",
    "Encoder",
    "Error",
    "Features",
    "FileError",
    "FormatError",
    "InterruptedCall",
    "LM",
    "Layer",
    "Muon",
    "NonFiniteError",
    "Op",
    "Optimizer",
    "OutOfMemoryError",
    "Parameters",
    "Run",
    "SGD",
    "Split",
    "StateError",
    "Status",
    "Tensor",
    "Tokenizer",
    "arange",
    "compare",
    "empty",
    "experiment",
    "from_dlpack",
    "from_numpy",
    "full",
    "gradcheck",
    "info",
    "learn_bpe",
    "learning_rate",
    "load_safetensors",
    "manual_seed",
    "memory",
    "mixings",
    "no_grad",
    "ones",
    "ops",
    "paired",
    "runs",
    "save_safetensors",
    "set_step",
    "set_threads",
    "split",
    "tensor",
    "threads",
    "train",
    "zeros",
]
__all__ += ops.__all__
