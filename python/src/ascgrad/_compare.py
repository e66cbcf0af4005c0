"""Which of several models is better: what `ascgrad compare` says, as tables."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Dict, Optional, Sequence, Union

from . import _c
from ._data import Dataset, Split
from ._given import letters, shown, struct
from ._library import ArgumentError, ArgumentTypeError, Owned, call, lib, log, no_grad, text
from ._lm import LM
from ._types import File

UNITS = {_c.ASC_UNIT_BLOCK: "block", _c.ASC_UNIT_TEXT: "text", _c.ASC_UNIT_PAIR: "pair"}


def _score(path, data, split, options):
    """The scores of one model, which is in memory for as long as that takes; with them its split stays."""
    lm = LM.load(path)
    if data is None and lm.data is None:
        raise ArgumentError(f"compare: {path} is in no run that names its data, expected data")
    own = Split(Dataset(lm.data if data is None else data), split, lm.tokenizer, lines=True)
    features = lm.features(own)
    how = struct(_c.asc_eval_options, batch=lm.batch, **options)
    how.features = features.pointer if features is not None else None
    with no_grad():
        made = call(lib.asc_score, lm._model.pointer, own.pointer, ctypes.byref(how))
    return Owned(made, lambda pointer: call(lib.asc_scores_free, pointer))


def _fields(struct, *names, prefix=""):
    return {prefix + name: getattr(struct, name) for name in names}


def _rows(address, kind, n):
    return list((kind * n).from_address(address)) if n else []


def _system(name, scores, found):
    row = {"name": name, **_fields(found, "seeds", "parameters")}
    for key in ("loss", "ppl", "bits_per_byte", "tokens_per_s", "accuracy"):
        spread = getattr(found, key)
        row.update({key: spread.mean, key + "_std": spread.std})
    first = _c.asc_scores.from_address(scores.pointer)
    row.update(_fields(first.result, "tokens", "unknown"), **_fields(first, "block", "carry"))
    return {**row, "seed_pairs": found.seed_pairs, "seed_pairs_differing": found.differing}


def _warn_of_twins(system, paths, scores):
    """Of models that are no other seed than one before, as far as can be seen."""
    for i, path in enumerate(paths):
        for before in paths[:i]:
            one, other = (_c.asc_scores.from_address(scores[p].pointer) for p in (before, path))
            if one.model_checksum and one.model_checksum == other.model_checksum:
                log.warning("compare: %s: %s and %s are the same model, and count as two seeds", system, before, path)
            elif one.seed >= 0 and one.seed == other.seed:
                log.warning("compare: %s: %s and %s have the same seed, %d", system, before, path, one.seed)


def _over_seeds(table, found, unit, right):
    """The interval of a difference over seeds."""
    pair = [ctypes.addressof(table[i]) for i in (found.a, found.b)]
    interval = _c.asc_seed_interval()
    call(lib.asc_compare_seeds, *pair, unit, right, ctypes.byref(interval))
    return {"ci_low": interval.low, "ci_high": interval.high}


def _comparison(names, table, unit, found):
    sure = ("difference", "ci_low", "ci_high", "p_bootstrap", "p_randomization")
    row = {"a": names[found.a], "b": names[found.b], **_fields(found.items, *sure)}
    row.update(_fields(found, "p_holm", "p_holm_bootstrap"))
    row.update(_fields(found.items, "cohen_dz", "cohen_d", "cliff_delta"))
    row.update(seeds=found.seeds.n, **_fields(found.seeds, "difference", "p", "p_least", prefix="seeds_"))
    row.update({"seeds_" + key: value for key, value in _over_seeds(table, found, unit, False).items()})
    if found.classes:
        right = _c.asc_class_comparison.from_address(found.classes)
        row.update(_fields(right.items, *sure, prefix="accuracy_"), accuracy_p_holm=right.p_holm)
        row.update(_fields(right.seeds, "difference", "p", prefix="seeds_accuracy_"))
        row.update({"seeds_accuracy_" + key: value for key, value in _over_seeds(table, found, unit, True).items()})
        tests = _rows(right.mcnemar, _c.asc_mcnemar, right.n_mcnemar)
        row["mcnemar"] = [_fields(test, *(name for name, _ in test._fields_)) for test in tests]
    return row


def _columns(rows):
    return {key: [row[key] for row in rows] for key in (rows[0] if rows else ())}


def compare(
    systems: Dict[str, Union[File, Sequence[File]]],
    data: Optional[str] = None,
    split: str = "test",
    length: int = 0,
    carry: int = 0,
    resamples: int = 10000,
    seed: int = 1,
) -> Dict[str, Any]:
    """Evaluates models on a split, and says how each later system differs from the first, as `ascgrad compare` does.

    `systems`: a name for each, with its RUN or MODEL, or a list of them, one a seed; `data`: as `ascgrad train --data`,
    the runs' own by default; `length`, `carry` as LM.evaluate's. There are "unit" and "n", the items, "reason", why
    these are not blocks, or None, and two tables, "systems" and "comparisons" (a - b: below 0, a predicts better), as
    dictionaries of columns, which pandas.DataFrame takes. Their names are those of `ascgrad compare --json`."""
    if not isinstance(systems, dict):
        raise ArgumentTypeError(f"compare: systems is {shown(systems)}, expected a dictionary")
    if not systems:
        raise ArgumentError("compare: there are no systems, expected one or more")
    scores, given = {}, {}
    for name, paths in systems.items():
        letters("compare: name", name)
        paths = paths if isinstance(paths, (list, tuple)) else [paths]
        given[name] = [os.fsdecode(letters("compare: system", path)) for path in paths]
        seen = [os.path.realpath(path) for path in given[name]]
        for path, real in zip(given[name], seen):
            if seen.count(real) > 1:
                raise ArgumentError(f"compare: {path} is there twice in {name}: its seeds are runs of their own")
    for path in (path for paths in given.values() for path in paths):
        if path not in scores:
            scores[path] = _score(path, data, split, {"length": length, "carry": carry})
    for name, paths in given.items():
        _warn_of_twins(name, paths, scores)
    lists = [(ctypes.c_void_p * len(paths))(*(scores[path].pointer for path in paths)) for paths in given.values()]
    table = (_c.asc_system * len(given))(
        *((name.encode(), ctypes.addressof(own), len(own)) for name, own in zip(given, lists))
    )
    how = _c.asc_compare_options(resampling=struct(_c.asc_resampling, resamples=resamples, seed=seed))
    pointer = call(lib.asc_compare, ctypes.addressof(table), len(table), ctypes.byref(how))
    made = Owned(pointer, lambda p: call(lib.asc_compared_free, p))
    found, names = _c.asc_compared.from_address(made.pointer), list(given)
    results = _rows(found.system, _c.asc_system_result, found.n_systems)
    comparisons = _rows(found.comparison, _c.asc_comparison, found.n_comparisons)
    return {
        "unit": UNITS[found.unit],
        "n": found.n,
        "reason": text(found.reason),
        "systems": _columns([_system(name, scores[given[name][0]], row) for name, row in zip(names, results)]),
        "comparisons": _columns([_comparison(names, table, found.unit, one) for one in comparisons]),
    }
