"""Optimisers on lists of tensors."""

from __future__ import annotations

import ctypes
import math
import numbers
from typing import Any, Optional, Tuple

from . import _c
from ._given import real, struct, whole
from ._library import (
    ArgumentError,
    ArgumentTypeError,
    FormatError,
    NonFiniteError,
    Owned,
    Status,
    ask,
    call,
    lib,
    lock,
    quick,
    state,
)
from ._params import ParameterList, named
from ._types import File, Params


class Optimizer(Owned):
    """What AdamW, SGD and Muon have in common. A parameter of more than one dimension decays."""

    def __init__(self, params: Params, lr: float, **options: Any):
        self.params, self.lr = named(params), real("lr", lr)
        seen = {}
        for name, tensor in self.params.items():
            handle = tensor._as_parameter_
            first = seen.setdefault((handle.tag, handle.generation), name)
            if first is not name:
                raise ArgumentError(f"params: {name} is {first} once more, expected each tensor once")
            if tensor.is_leaf and not tensor.numpy().flags.writeable:
                raise ArgumentError(f"params: {name} is read-only, expected memory that a step may write to")
        self._list = ParameterList(self.params)
        given = struct(_c.asc_optim_options, **options)
        super().__init__(
            call(lib.asc_optim_new, self._list.pointer, ctypes.byref(given)), quick.asc_optim_free, self._list
        )

    def step(self, lr: Optional[float] = None, clip: float = 0.0) -> Optional[float]:
        """Changes the parameters by their gradients, scaled down where their norm is above `clip`; the norm, of which
        one that is not finite is a NonFiniteError, and changes nothing."""
        clip = real("step: clip", clip or 0.0)
        if not clip >= 0:
            raise ArgumentError(f"step: clip is {clip}, expected 0 (none) or more")
        with lock:
            norm = self.grad_norm() if clip else None
            if clip and not math.isfinite(norm):
                raise NonFiniteError(f"step: the norm of the gradients is {norm}", Status.NONFINITE)
            scale = lib.asc_clip_scale(norm, clip) if clip else 1.0
            state.whole = True
            try:
                ask(lib.asc_optim_step, self.pointer, self.lr if lr is None else lr, scale)
            finally:
                state.whole = False
                raised, state.raised = state.raised, None  # a signal's, meanwhile
            if raised is not None:
                raise raised
        return norm

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.params)} parameters, lr={self.lr!r})"

    def average(self) -> None:
        """Takes the parameters, after a step, into their running means, whose decay is the option `average`."""
        ask(lib.asc_optim_average, self.pointer)

    def swap_average(self) -> None:
        """Has parameters and their means change places; called again, back, which must be before the next step."""
        ask(lib.asc_optim_swap_average, self.pointer)

    def save(self, path: File) -> None:
        """Writes what the next step depends on, beside the parameters, to a safetensors file."""
        call(lib.asc_params_save, lib.asc_optim_state(self.pointer), path)

    def load(self, path: File) -> None:
        """Goes on from a state that save wrote, of the same parameters."""
        try:
            call(lib.asc_params_load, lib.asc_optim_state(self.pointer), path)
        except FormatError as error:
            wanted = f"load: expected the state of {type(self).__name__} of these parameters"
            raise FormatError(f"{wanted}: {error}", error.status) from None

    def grad_norm(self) -> float:
        """The Euclidean norm of all gradients together."""
        return call(lib.asc_grad_norm, self._list.pointer)

    def zero_grad(self) -> None:
        """Begins all gradients anew; what is kept of one stays as it is, unless it is of grad_into."""
        with lock:
            lib.asc_params_zero_grad(self._list.pointer)

    def group(self, names: str, lr_scale: float = -1.0, weight_decay: float = -1.0) -> int:
        """Gives the parameters of these names, * for any text, a rate lr_scale times the step's and a decay of their
        own; what is below 0 stays as it was. How many they are."""
        return ask(lib.asc_optim_group, self.pointer, names, lr_scale, weight_decay)


def _chosen(value):
    """An option's number as the library takes it, for which 0 stands for the default."""
    return 1e-300 if isinstance(value, numbers.Real) and value == 0 else value


def _betas(given):
    try:
        first, second = given
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"betas is {given!r}, expected two numbers") from None
    return {"beta1": _chosen(first), "beta2": _chosen(second)}


class AdamW(Optimizer):
    """AdamW (Loshchilov and Hutter 2019), in PyTorch's order of operations.

    Parameters of one dimension do not decay."""

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: Tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        average: float = 0.0,
    ):
        rule = {"rule": _c.ASC_RULE_ADAMW, "eps": _chosen(eps), **_betas(betas)}
        super().__init__(params, lr, **rule, weight_decay=weight_decay, average=average)


class SGD(Optimizer):
    """Gradient descent with momentum. Parameters of one dimension do not decay."""

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        average: float = 0.0,
    ):
        rule = {"rule": _c.ASC_RULE_SGD, "momentum": momentum}
        super().__init__(params, lr, **rule, weight_decay=weight_decay, average=average)


class Muon(Optimizer):
    """Muon for matrices, AdamW for the rest. Parameters of one dimension do not decay."""

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        momentum: float = 0.95,
        betas: Tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        average: float = 0.0,
    ):
        momenta = {"muon_momentum": _chosen(momentum), **_betas(betas)}
        rule = {"rule": _c.ASC_RULE_MUON, "eps": _chosen(eps), **momenta}
        super().__init__(params, lr, **rule, weight_decay=weight_decay, average=average)


def learning_rate(
    step: int,
    lr: float,
    *,
    decay: str = "cosine",
    min_lr: float = 0.0,
    warmup: int = 0,
    steps: int = 0,
    fall: int = 0,
) -> float:
    """The rate of step 0, 1, …: warm-up, then constant, or to min_lr along a line, a cosine, or at the end (wsd)."""
    kinds = {"constant": 0, "linear": 1, "cosine": 2, "wsd": 3}
    if not isinstance(decay, str) or decay not in kinds:
        raise ArgumentError(f"decay is {decay!r}, expected one of {', '.join(kinds)}")
    if whole("step", step) < 0:
        raise ArgumentError(f"step is {step}, expected 0 or more")
    if decay != "constant" and whole("steps", steps) < 1:
        raise ArgumentError(f"steps is {steps}, expected how many there are in all, which decay {decay!r} needs")
    schedule = struct(
        _c.asc_schedule, decay=kinds[decay], lr=lr, min_lr=min_lr, warmup=warmup, steps=steps, fall=fall
    )
    return lib.asc_lr_at(ctypes.byref(schedule), step)
