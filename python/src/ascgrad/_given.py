"""What is given to the library: numbers that their C type holds, text, tensors. What is none is refused by its name:
ctypes would cut a whole number that is too large, and says no parameter's name."""

from __future__ import annotations

import ctypes
import json
import operator
import os

from ._errors import ArgumentError, ArgumentTypeError


# Functions of the library's that have another name here, for messages.
CALLED = {
    "dataset_open": "Dataset",
    "encoder_open": "Encoder",
    "from": "tensor",
    "layer_cross": "Layer",
    "layer_forward_aux": "Layer",
    "layer_new": "Layer",
    "lm_new": "LM",
    "optim_step": "step",
    "run_read": "Run",
    "runs_find": "runs",
    "safetensors_open": "load_safetensors",
    "safetensors_write": "save_safetensors",
    "stats_pair": "paired",
    "tensor_split": "split",
    "tokenizer_new": "Tokenizer",
    "wrap": "from_numpy",
}


def _range(kind):
    bits, low = 8 * ctypes.sizeof(kind), kind(-1).value
    return range(-(1 << bits - 1), 1 << bits - 1) if low < 0 else range(1 << bits)


WHOLE = ("c_int", "c_uint", "c_int32", "c_int64", "c_uint8", "c_uint32", "c_uint64", "c_size_t")
RANGES = {kind: _range(kind) for kind in (getattr(ctypes, name) for name in WHOLE)}
ABSENT = ctypes.c_char_p()  # in the place of text that may be missing


def shown(given):
    """What was given, for a message."""
    found = repr(given)
    return found if len(found) <= 100 else f"{found[:99]}…"


def whole(name, given, kind=ctypes.c_int64):
    """A whole number that a C type holds."""
    if type(given) is int and given in RANGES[kind]:
        return given
    if isinstance(given, kind):
        return given.value
    try:
        value = operator.index(given)
    except TypeError:
        raise ArgumentTypeError(f"{name} is {shown(given)}, expected a whole number, an int") from None
    room = RANGES[kind]
    if value not in room:
        raise ArgumentError(f"{name} is {shown(value)}, expected {room[0]} to {room[-1]}")
    return value


def real(name, given):
    """A number, NaN and infinity among them."""
    try:
        if not isinstance(given, (str, bytes)):
            return float(given)
    except OverflowError:
        raise ArgumentError(f"{name} is {shown(given)}, expected a number that a float holds") from None
    except (TypeError, ValueError):
        pass
    raise ArgumentTypeError(f"{name} is {shown(given)}, expected a number, a float")


def flag(name, given):
    """True or False, of NumPy's too, or 1 or 0."""
    if isinstance(given, (bool, ctypes.c_bool)) or (hasattr(given, "__index__") or hasattr(given, "dtype")):
        value = given.value if isinstance(given, ctypes.c_bool) else given
        if getattr(value, "ndim", 0) == 0 and value in (0, 1):
            return bool(value)
    raise ArgumentTypeError(f"{name} is {shown(given)}, expected True or False")


def letters(name, given, nul=False):
    """Text, or a path, as bytes; `nul`: of a length of its own, so that it may hold a 0."""
    if isinstance(given, str):
        try:
            data = given.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as raised:
            raise ArgumentError(f"{name} is {shown(given)}, which is no text: {raised.reason}") from None
    elif isinstance(given, bytes):
        data = given
    elif isinstance(given, os.PathLike):
        data = os.fsencode(given)
    else:
        raise ArgumentTypeError(f"{name} is {shown(given)}, expected text or a path, a str")
    if not nul and b"\0" in data:
        raise ArgumentError(f"{name} is {shown(given)}, expected text without the character 0")
    return data


def fitted(name, given, kind, nul=False):
    """The same for whatever a C type is of; pointers as they are."""
    if kind in RANGES:
        return whole(name, given, kind)
    if kind is ctypes.c_double:
        return real(name, given)
    if kind is ctypes.c_bool:
        return flag(name, given)
    if kind is ctypes.c_char_p:
        return given if given is ABSENT else letters(name, given, nul)
    if issubclass(kind, ctypes.Structure) and not isinstance(getattr(given, "_as_parameter_", given), kind):
        raise ArgumentTypeError(f"{name} is {shown(given)}, expected a tensor")
    return given


def struct(kind, /, **values):
    """A struct of the library's, of these values."""
    kinds = dict(kind._fields_)
    return kind(**{name: fitted(name, value, kinds[name]) for name, value in values.items()})


def instance(name, given, kind):
    """An object of a class of the package's."""
    if not isinstance(given, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise ArgumentTypeError(f"{name} is {shown(given)}, expected {article} {kind.__name__}")
    return given


def _plain(given):
    """What JSON has no type for: NumPy's numbers, paths."""
    if hasattr(given, "item") and getattr(given, "ndim", 1) == 0:
        return given.item()
    return os.fspath(given)  # or a TypeError


def setting(name, given):
    """A setting's value as JSON."""
    try:
        return json.dumps(given, default=_plain, allow_nan=False)
    except ValueError:
        raise ArgumentError(f"{name} is {shown(given)}, expected a finite number") from None
    except TypeError:
        raise ArgumentTypeError(
            f"{name} is {shown(given)}, expected a number, text, True or False, or a list or dictionary of these"
        ) from None


def settings(given):
    """A dictionary of them as JSON."""
    for key in given:
        letters("a setting's name", key)
    return "{" + ", ".join(f"{json.dumps(key)}: {setting(key, value)}" for key, value in given.items()) + "}"


def checked(function, name, kinds, names):
    """The library's function of that name, for arguments of any type: whole numbers and text are looked at before, the
    rest where ctypes refuses it."""
    name = CALLED.get(name[4:], name[4:])
    params = [(f"{name}: {param}", kind) for param, kind in zip(names, kinds)]
    rows = [
        (i, *param, kinds[i + 1 : i + 2] == [ctypes.c_size_t])
        for i, param in enumerate(params)
        if param[1] in RANGES or param[1] in (ctypes.c_bool, ctypes.c_char_p)
    ]

    def given(*args):
        if rows:
            args = list(args)
            for i, param, kind, nul in rows:
                args[i] = fitted(param, args[i], kind, nul)
        try:
            return function(*args)
        except ctypes.ArgumentError as raised:
            for (param, kind), value in zip(params, args):
                fitted(param, value, kind)
            raise ArgumentTypeError(f"{name}: {raised}") from None

    return given
