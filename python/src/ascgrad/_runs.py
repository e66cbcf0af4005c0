"""Trainings: making runs, and reading what they have written as tables."""

from __future__ import annotations

import contextlib
import csv
import ctypes
import json
import math
import os
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

import numpy

from . import _c
from ._given import letters, setting, shown, struct
from ._library import (
    ArgumentError,
    ArgumentTypeError,
    Owned,
    ask,
    call,
    hearing,
    is_entry,
    lib,
    lock,
    log,
    quick,
    recorded,
    state,
    text,
    watch,
)
from ._types import Array, File


FOUND = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_char_p)
HEARD = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.POINTER(_c.asc_train_progress))
SAID = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


def _hooks(progress):
    """The library's hooks that call progress(step, steps, loss, valid_loss) after steps and evaluations, and let Ctrl-C
    end the training; as the library takes them, what keeps them, and the functions."""

    def working(_, now):
        return state.raised is None  # the interpreter looks for signals before that

    def step(_, now):
        p = now.contents
        if p.phase == _c.ASC_TRAIN_PHASE_EVALUATING:
            return True
        try:
            values = {name: getattr(p, name) for name, kind in p._fields_ if kind is not _c.asc_eval_result}
            values["valid_loss"] = p.valid.loss
            return progress(values) is not False
        except BaseException as raised:  # goes on behind the library
            state.raised = raised
            return False

    def message(_, line):
        log.info("%s", text(line))

    kept = HEARD(step), HEARD(working), SAID(message)
    at = [ctypes.cast(function, ctypes.c_void_p) for function in kept]
    hooks = _c.asc_train_hooks(progress=at[0] if progress else None, working=at[1], message=at[2])
    return hooks, kept, (step, working, message)


@contextlib.contextmanager
def _interruptible(hooks):
    """Keeps what a signal's handler raises as a hook begins, which ctypes would only print: the hook has then returned
    False. Afterwards Ctrl-C ends long calls again, which trainings have a function of their own for."""
    before = sys.unraisablehook

    def keep(what):
        if is_entry(what, hooks):
            state.raised = state.raised or what.exc_value
        else:
            before(what)

    sys.unraisablehook = keep
    try:
        yield
    finally:
        sys.unraisablehook = before
        watch()
    raised, state.raised = state.raised, None  # behind the last step
    if raised is not None:
        raise raised


def train(
    run: File,
    progress: Optional[Callable[[Dict[str, Any]], Any]] = None,
    resume: bool = False,
    preset: Optional[str] = None,
    **settings: Any,
) -> Run:
    """Trains a model into the new folder `run` as `ascgrad train` does, with its settings as keywords; the run.

    progress(values), if given, is called with a dictionary after each step and evaluation; False ends the training by
    an InterruptedCall, and train(run, resume=True) goes on."""
    if progress is not None and not callable(progress):
        raise ArgumentTypeError(f"train: progress is {shown(progress)}, expected a function")
    made = Owned(call(lib.asc_settings_new), quick.asc_settings_free)
    if preset is not None:
        ask(lib.asc_settings_preset, made.pointer, preset)
    for key, value in settings.items():
        value = value if isinstance(value, str) else setting(key, value)
        ask(lib.asc_settings_set, made.pointer, key, value)
    if resume:
        ask(lib.asc_settings_resume, made.pointer, run)
    hooks, kept, functions = _hooks(progress)
    result = _c.asc_train_result()
    with _interruptible(functions), recorded():
        call(lib.asc_train, made.pointer, run, resume, ctypes.byref(hooks), ctypes.byref(result))
    del kept
    return Run(run)


class Run(Owned):
    """What a training has written: `settings`, `info`, and metrics() as columns."""

    def __init__(self, folder: File):
        super().__init__(call(lib.asc_run_read, folder), quick.asc_run_free)
        self.folder = os.fsdecode(folder)

    def __repr__(self):
        return f"Run({self.folder!r}, {self.info['state']})"

    @property
    def settings(self) -> Dict[str, Any]:
        found, i = {}, 0
        while key := lib.asc_run_setting_at(self.pointer, i):
            found[text(key)] = json.loads(text(lib.asc_run_setting(self.pointer, key)))
            i += 1
        return found

    @property
    def info(self) -> Dict[str, Any]:
        """What is known of the run as a whole: state, steps, tokens, best evaluation; None where it is not known."""
        found = _c.asc_run_info.from_address(lib.asc_run_info_of(self.pointer))
        values = {name: getattr(found, name) for name, kind in found._fields_ if kind is not _c.asc_run_best}
        values.update(
            {name: getattr(found.best, name) for name, _ in found.best._fields_ if name.startswith("valid_")}
        )
        values["best_step"] = found.best.step
        values["state"] = text(lib.asc_run_state_name(found.state))
        return {name: text(v) if isinstance(v, bytes) else None if v != v else v for name, v in values.items()}

    def metrics(self) -> Dict[str, Array]:
        """Every number of metrics.jsonl: a dictionary of columns, NaN where a row has none, as pandas takes it."""
        rows, keys, i = lib.asc_run_rows(self.pointer), [], 0
        while key := lib.asc_run_key_at(self.pointer, i):
            keys.append(key)
            i += 1
        return {
            text(key): numpy.array([lib.asc_run_value(self.pointer, row, key) for row in range(rows)]) for key in keys
        }


def runs(folder: File) -> List[Run]:
    """All runs below a folder."""
    found = []

    def take(_, path):
        found.append(os.fsdecode(path))
        return True

    with lock, hearing(take):
        call(lib.asc_runs_find, folder, FOUND(take), None)
    return [Run(path) for path in found]


def paired(a: Sequence[float], b: Sequence[float], resamples: int = 10000, seed: int = 1) -> Dict[str, float]:
    """What two systems scored on the same items, compared: the difference of the means with its 95 % interval, both p
    values, effect sizes, as `ascgrad stats pair` has them."""
    a, b = (numpy.ascontiguousarray(scores, numpy.float64) for scores in (a, b))
    if a.ndim != 1 or a.shape != b.shape:
        raise ArgumentError(f"paired: scores are {a.shape} and {b.shape}, expected (n) and (n)")
    how, found = struct(_c.asc_resampling, resamples=resamples, seed=seed), _c.asc_pair_stats()
    call(lib.asc_stats_pair, a.ctypes.data, b.ctypes.data, len(a), ctypes.byref(how), ctypes.byref(found))
    return {name: getattr(found, name) for name, _ in found._fields_}


def _cell(value):
    try:
        return value if "_" in value else float(value)  # 10_20 is a name
    except ValueError:
        return value if value else math.nan


def experiment(folder: File) -> Dict[str, Dict[str, List[Any]]]:
    """An experiment's results: "runs", a row for each, and each table of its report, tables/NAME.csv, by name; all of
    them dictionaries of columns, as pandas.DataFrame takes them."""
    letters("experiment: folder", folder)
    found = sorted(runs(Path(folder) / "runs"), key=lambda run: run.folder)
    rows = [{"run": Path(run.folder).name, **run.info, **run.settings} for run in found]
    keys = list(dict.fromkeys(key for row in rows for key in row))
    tables = {"runs": {key: [row.get(key) for row in rows] for key in keys}}
    for path in sorted(Path(folder).glob("tables/*.csv")):
        with open(path, newline="", encoding="utf-8") as file:
            head, *lines = list(csv.reader(file)) or [[]]
        tables[path.stem] = {name: [_cell(line[i]) for line in lines] for i, name in enumerate(head)}
    return tables
