"""The library, loaded; the context that all of the package computes in, its lock; errors.

There is one context. Whoever calls the library holds `lock`, so that threads take turns, and the interpreter's own lock
is free while the library computes. Objects may go at any time, in any thread, within a call of another one: what they
held is then put on `pending`, and let go by whoever next holds the lock.
"""

from __future__ import annotations

import _thread
import collections
import ctypes
import functools
import logging
import os
import sys
import threading
import types
from pathlib import Path
from typing import Any, Callable, Dict, TypeVar, cast

from . import _c
from ._errors import (  # noqa: F401, which others have from here
    CLASSES,
    ArgumentError,
    ArgumentIndexError,
    ArgumentTypeError,
    Error,
    FileError,
    FormatError,
    InterruptedCall,
    NonFiniteError,
    OutOfMemoryError,
    StateError,
    Status,
)
from ._given import CALLED, checked

NAME = "libascgrad.so.1"


def _find():
    """Where the library is: named by the environment, beside this file, or where the system has it."""
    given = os.environ.get("ASCGRAD_LIBRARY")
    beside = Path(__file__).with_name(NAME)
    return given or (str(beside) if beside.exists() else NAME)


def _bind(loaded):
    for name, (result, params, _) in _c.FUNCTIONS.items():
        function = getattr(loaded, name)  # AttributeError names what an older library lacks
        function.restype = result
        function.argtypes = params
    return loaded


raw = _bind(ctypes.CDLL(_find()))
lib = types.SimpleNamespace(
    **{name: checked(getattr(raw, name), name, *row[1:]) for name, row in _c.FUNCTIONS.items()}
)
quick = _bind(ctypes.PyDLL(_find()))  # the same, keeping the interpreter's lock: for what takes no time
log = logging.getLogger("ascgrad")


def text(value):
    """A string of the library's."""
    return value.decode("utf-8", "replace") if value is not None else None


def iter_texts(function, owner):
    """The strings function(owner, 0), function(owner, 1), … up to the first NULL."""
    i = 0
    while (value := function(owner, i)) is not None:
        yield text(value)
        i += 1


def fail(at=None):
    """Raises the context's error, which is then cleared; or what a function of Python's raised inside of the call."""
    at = ctx if at is None else at
    status, message = quick.asc_error(at), text(quick.asc_error_message(at))
    argument = text(quick.asc_error_subject(at))
    quick.asc_error_clear(at)
    status = Status(status)
    place, colon, what = message.partition(":")
    message = CALLED.get(place, place) + colon + what
    if status == Status.INTERRUPTED:
        watch()
    raised = state.raised
    state.raised = None
    if raised is not None and (status == Status.INTERRUPTED or not isinstance(raised, Exception)):
        raise raised
    raise CLASSES.get(status, Error)(message, status, argument=argument) from raised


def forget():
    """After a call that goes on behind what functions of Python's raise: what ends the program goes on here, too, and
    the rest is forgotten, which a later call would take for its own."""
    raised, state.raised = state.raised, None
    if raised is not None and not isinstance(raised, Exception):
        raise raised


# ---- the context ----


class State:
    """What the context was last told, and what came of it."""

    off = False  # whether it records nothing; None: not known
    raised = None  # by a function of Python's within a call
    whole = False  # what runs must not be interrupted


class Mode(threading.local):
    """What each thread has asked for."""

    def __init__(self):
        self.off = threading.RLock()  # held where nothing is recorded


state, mode = State(), Mode()
lock = threading.RLock()
pending = collections.deque()  # functions that let go of something


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
def _message(_, line):
    log.warning("%s", text(line))


def _watching():
    """Lets Ctrl-C end a long call: the interpreter looks for signals when this goes on, within `try`."""
    go_on = True
    while True:
        try:
            while True:
                yield go_on
                go_on = True
        except GeneratorExit:
            raise
        except BaseException as raised:  # of a signal's handler
            state.raised = state.raised or raised.with_traceback(None)  # which would hold this frame
            go_on = state.whole


_watcher = _watching()
next(_watcher)
_go_on = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(_watcher.send)


def is_entry(unraisable, functions):
    """Whether sys.unraisablehook is told of what a signal's handler raised as ctypes entered one of the functions."""
    if unraisable.object is None:  # of newer Pythons the message alone has it
        return any(repr(function) in (unraisable.err_msg or "") for function in functions)
    return any(unraisable.object is function for function in functions)


class hearing:
    """with lock, hearing(function) as heard: calls of a callback of several arguments, as which ctypes enters
    `function`.

    A signal's handler may raise at that entry, of which ctypes tells sys.unraisablehook alone; here it is raised behind
    the call. A callback asks `heard.raised` whether it is to go on."""

    def __init__(self, function):
        self.function, self.raised, self._was = function, None, sys.unraisablehook

    def __enter__(self):
        sys.unraisablehook = self._hear
        return self

    def _hear(self, unraisable):
        """Also once it is over, where a handler has kept __exit__ from its end."""
        if is_entry(unraisable, [self.function]):
            self.raised = self.raised or unraisable.exc_value.with_traceback(None)
        else:
            self._was(unraisable)

    def __exit__(self, *_):
        sys.unraisablehook = self._was
        if self.raised:
            raise self.raised from None


def new_context():
    options = _c.asc_options(message=ctypes.cast(_message, ctypes.c_void_p))
    made = lib.asc_ctx_new(ctypes.byref(options))
    if not made:
        raise MemoryError("ascgrad: no context")
    lib.asc_set_interrupt(made, _go_on, None)
    return made


ctx = new_context()


def watch():
    """Has the next calls ask whether they go on."""
    with lock:
        quick.asc_set_interrupt(ctx, _go_on, None)


def catch_up():
    """Before a call, with the lock held: lets go of what waits, and tells the context of this thread's mode."""
    while pending:
        pending.popleft()()
    off = mode.off._is_owned()
    if off is not state.off:
        state.off = None  # until it is told whole
        quick.asc_set_recording(ctx, not off)
        state.off = off


def _raise(raised):
    """What a signal's handler raised in a __del__: of the main thread's, which alone has signals."""
    if threading.current_thread() is threading.main_thread():
        raise raised
    _thread.interrupt_main()


def let_go(drop, *args, owned=lock._is_owned, acquire=lock.acquire, release=lock.release):
    """Calls drop(*args), now or, while another thread is within a call, later.

    A signal's handler may raise behind any call in here, the lock's own among them: whether it was taken is then to be
    asked, as one that stays taken has all other threads wait for ever."""
    within, begun = True, False
    try:
        within = owned()
        if within or acquire(False):
            begun = True
            drop(*args)
            if not within:
                release()
        else:
            later = functools.partial(drop, *args)
            begun = True
            pending.append(later)
    except BaseException as raised:
        if not within and owned():
            release()
        if not begun:
            pending.append(functools.partial(drop, *args))
        pending.append(functools.partial(_raise, raised.with_traceback(None)))  # which Python would drop here


def call(function, *args):
    """function(context, *args), of the library's: a status or a pointer. Raises its error."""
    with lock:
        if pending or mode.off._is_owned() is not state.off:
            catch_up()
        result = function(ctx, *args)
        if quick.asc_error(ctx):
            fail()
        return result


def ask(function, *args):
    """The same of a function that takes no context first."""
    with lock:
        catch_up()
        result = function(*args)
        if quick.asc_error(ctx):
            fail()
        return result


# A process forks between calls, never within one: its child then has a context in order, and a lock that is free.
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


class Owned:
    """An object of the library's that is freed with the one that holds it, by free(pointer), and before those that it
    was made of, `holds`, in whatever order they become garbage."""

    _users = None  # nothing was made

    def __init__(self, pointer, free, *holds):
        self.pointer = pointer
        self._users = _Users(lambda: free(pointer), [held._users for held in holds])

    def __reduce_ex__(self, _):  # else copy would make a second owner
        raise TypeError(f"{type(self).__name__}: can be neither copied nor pickled; its values can be saved and loaded")

    def __del__(self):
        if self._users is not None:
            let_go(self._users.leave)


class _Users:
    """How many use an object of the library's, the one who owns it among them; without one it is freed."""

    def __init__(self, free, holds):
        self.free, self.holds, self.users = free, holds, 1
        for held in holds:
            held.users += 1

    def leave(self):
        self.users -= 1
        if self.users == 0:
            self.free()
            for held in self.holds:
                held.leave()


class recorded:
    """with recorded(): ops of this thread are recorded, also within no_grad."""

    def __enter__(self):
        self._was, mode.off = mode.off, threading.RLock()

    def __exit__(self, *_):
        mode.off = self._was


# ---- what concerns all ----


def set_threads(threads: int) -> None:
    """The threads that compute, the caller's included; 0: one per processor. Results do not depend on it."""
    call(lib.asc_set_threads, threads)


def threads() -> int:
    """How many threads compute."""
    return lib.asc_threads(ctx)


def set_step(seed: int, step: int = 0) -> None:
    """What random ops (dropout) draw from: once a training step."""
    with lock:
        lib.asc_set_step(ctx, seed, step)


def memory() -> Dict[str, int]:
    """Bytes that the library holds now ("bytes"), at most held ("peak_bytes"), and calls of its allocator."""
    with lock:
        stats = lib.asc_memory(ctx)
    return {name: getattr(stats, name) for name, _ in stats._fields_}


def info() -> Dict[str, Any]:
    """The machine and the library, as `ascgrad info` has them."""
    with lock:
        machine = lib.asc_machine_info()
    values = {name: getattr(machine, name) for name, _ in machine._fields_}
    return {name: text(value) if isinstance(value, bytes) else value for name, value in values.items()}


Function = TypeVar("Function", bound=Callable[..., Any])


class _OfTheThread:
    """A method of this thread's `mode.off`."""

    def __init__(self, name):
        self.name = name

    def __get__(self, instance, owner=None):
        if instance is None:  # contextlib.ExitStack's
            return lambda given, *args: getattr(mode.off, self.name)(*args)
        return getattr(mode.off, self.name)


class no_grad:
    """with asc.no_grad(): ops of this thread record nothing for a backward pass. Also a decorator."""

    # Not functions of Python's: what a signal's handler raises at the entry of one would leave out the end of `with`.

    __enter__, __exit__ = _OfTheThread("__enter__"), _OfTheThread("__exit__")

    def __call__(self, function: Function) -> Function:
        import inspect

        kinds = inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction
        if any(is_kind(function) for is_kind in kinds):
            raise ArgumentTypeError(
                "no_grad: the function is a generator or a coroutine, whose steps it does not reach: use with"
            )

        @functools.wraps(function)
        def inner(*args, **kwargs):
            with no_grad():
                return function(*args, **kwargs)

        return cast(Function, inner)
