"""Text: tokenizers, data sets, splits of tokens."""

from __future__ import annotations

import ctypes
from typing import Iterable, Iterator, List, Optional, Sequence, Tuple, Union

import numpy

from . import _c
from ._given import instance, letters, shown, whole
from ._library import (
    ArgumentError,
    ArgumentIndexError,
    ArgumentTypeError,
    Owned,
    ask,
    call,
    iter_texts,
    lib,
    quick,
    raw,
)
from ._types import Array, File

Numbers = Union[Sequence[int], Array]
SPLITS = {"train": _c.ASC_SPLIT_TRAIN, "valid": _c.ASC_SPLIT_VALID, "test": _c.ASC_SPLIT_TEST}


def split_number(split: str) -> int:
    if not isinstance(split, str) or split not in SPLITS:
        raise ArgumentError(f"split is {shown(split)}, expected one of {', '.join(SPLITS)}")
    return SPLITS[split]


def encoded(given: str) -> Tuple[bytes, int]:
    """A text's bytes, and how many they are."""
    data = letters("text", given, nul=True)
    return data, len(data)


class Tokenizer(Owned):
    """ "word", "byte", "wordpiece:VOCAB_FILE" or "bpe:FILE". `word` learns its words from a data set
    (Dataset.collect) or from collect(text)."""

    def __init__(self, spec: str):
        super().__init__(call(lib.asc_tokenizer_new, spec), quick.asc_tokenizer_free)

    @classmethod
    def load(cls, name: str, path: File) -> Tokenizer:
        """The tokenizer of that name with the vocabulary that save wrote, such as a RUN's vocab.txt."""
        made = cls.__new__(cls)
        Owned.__init__(made, call(lib.asc_tokenizer_load, name, path), quick.asc_tokenizer_free)
        return made

    @classmethod
    def _of(cls, pointer, owner):
        """One that belongs to another object, which is kept."""
        made = cls.__new__(cls)
        Owned.__init__(made, pointer, lambda _: None, owner)
        return made

    def save(self, path: File) -> None:
        ask(lib.asc_tokenizer_save, self.pointer, path)

    def collect(self, text: str) -> None:
        """Takes the words of a text into the vocabulary."""
        ask(lib.asc_tokenizer_collect, self.pointer, *encoded(text))

    @property
    def vocabulary(self) -> str:
        """What save writes."""
        n, capacity = ctypes.c_size_t(), ctypes.c_size_t()
        at = ask(lib.asc_tokenizer_text, self.pointer, ctypes.byref(n), ctypes.byref(capacity))
        try:
            return ctypes.string_at(at, n.value).decode("utf-8", "surrogateescape")
        finally:
            call(lib.asc_free, at, capacity)

    @property
    def name(self) -> str:
        return lib.asc_tokenizer_name(self.pointer).decode()

    @property
    def size(self) -> int:
        """The number of ids."""
        return lib.asc_tokenizer_size(self.pointer)

    @property
    def unknown(self) -> Optional[int]:
        """The id of what is not known, None where there is none."""
        return _id(lib.asc_tokenizer_unknown(self.pointer))

    @property
    def eos(self) -> Optional[int]:
        """The id of the end of a line, None where there is none."""
        return _id(lib.asc_tokenizer_eos(self.pointer))

    def piece(self, i: int) -> str:
        """The vocabulary's entry of an id, such as "##ing"."""
        n = ctypes.c_size_t()
        at = ask(lib.asc_tokenizer_piece, self.pointer, i, ctypes.byref(n))
        if not at:
            raise ArgumentIndexError(f"piece: i is {i}, expected 0 to {self.size - 1}")
        return _string(at, n)

    def __repr__(self):
        return f"Tokenizer({self.name}, {self.size} ids)"

    def encode(self, text: str, corpus: bool = False) -> Array:
        """The ids of a text, int64. `corpus`: as a data set's, where "<unk>" is the unknown token."""
        ids = _c.asc_ids()
        try:
            ask(lib.asc_tokenizer_encode, self.pointer, *encoded(text), int(corpus), ctypes.byref(ids))
            return numpy.array((ctypes.c_int32 * ids.n).from_address(ids.data) if ids.n else [], numpy.int64)
        finally:
            call(lib.asc_ids_free, ctypes.byref(ids))

    def pieces(self, ids: Iterable[int], after: Iterable[int] = ()) -> Iterator[str]:
        """The text of each id, as it comes, behind the text of the ids `after`: whether there is a space before the
        first word depends on them."""
        decoder = Owned(ask(lib.asc_decoder_new, self.pointer), quick.asc_decoder_free, self)
        n = ctypes.c_size_t()
        for i in after:
            ask(lib.asc_decoder_next, decoder.pointer, i, ctypes.byref(n))
        for i in ids:
            yield _string(ask(lib.asc_decoder_next, decoder.pointer, i, ctypes.byref(n)), n)
        yield _string(ask(lib.asc_decoder_end, decoder.pointer, ctypes.byref(n)), n)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids."""
        return "".join(self.pieces(ids))


for _function in (raw.asc_decoder_next, raw.asc_decoder_end, raw.asc_tokenizer_piece):
    _function.restype = ctypes.c_void_p  # bytes without an end of their own


def _id(number):
    return number if number >= 0 else None


def _string(address, n):
    return ctypes.string_at(address, n.value).decode("utf-8", "replace") if address else ""


class Dataset(Owned):
    """What `ascgrad train --data` takes: "builtin", "task:NAME", a text file, a folder with splits."""

    def __init__(self, spec: str):
        super().__init__(call(lib.asc_dataset_open, spec), quick.asc_dataset_free)
        self.spec = str(spec)

    def __repr__(self):
        return f"Dataset({self.spec!r})"

    @property
    def classes(self) -> List[str]:
        """The names of its sequences' classes; none of text."""
        return list(iter_texts(lib.asc_dataset_class, self.pointer))

    def collect(self, tokenizer: Tokenizer) -> Tokenizer:
        """Gives the tokenizer the words of the train split; the tokenizer."""
        ask(lib.asc_dataset_collect, self.pointer, instance("collect: tokenizer", tokenizer, Tokenizer).pointer)
        return tokenizer

    def stretch(self, length: int) -> None:
        """Has the sequences of a task be of that many inputs, in the splits that are loaded from here on."""
        ask(lib.asc_dataset_stretch, self.pointer, length)

    def text(self, split: str = "train") -> str:
        """A split's text."""
        data, n, capacity = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
        ask(
            lib.asc_dataset_text,
            self.pointer,
            split_number(split),
            ctypes.byref(data),
            ctypes.byref(n),
            ctypes.byref(capacity),
        )
        try:
            return ctypes.string_at(data, n.value).decode("utf-8", "replace")
        finally:
            call(lib.asc_free, data, capacity)

    def split(self, split: str, tokenizer: Tokenizer) -> Split:
        """A split's tokens."""
        return Split(self, split, tokenizer)

    def entropy(self, split: str = "valid") -> Optional[float]:
        """Nats a token that a perfect model of the source reaches; None where the source does not know."""
        found = _c.asc_entropy()
        known = ask(lib.asc_dataset_entropy, self.pointer, split_number(split), ctypes.byref(found))
        return found.nats / found.tokens if known else None


class Split(Owned):
    """A split's tokens: `tokens`, an array on the library's memory, and blocks of them for training; made by
    Dataset.split. With `lines` it knows which lines of the text they are, for comparisons."""

    def __init__(self, dataset: Dataset, split: str, tokenizer: Tokenizer, lines: bool = False):
        instance("split: dataset", dataset, Dataset)
        instance("split: tokenizer", tokenizer, Tokenizer)
        self.dataset, self.kind, self.tokenizer = dataset, split_number(split), tokenizer
        load = lib.asc_split_load_lines if lines else lib.asc_split_load
        pointer = ask(load, dataset.pointer, self.kind, tokenizer.pointer)
        super().__init__(pointer, lambda p: call(lib.asc_split_free, p), dataset)
        self._split = _c.asc_split.from_address(pointer)

    def __len__(self) -> int:
        return self._split.n_tokens

    def __repr__(self):
        n = self._split.n_sequences
        return f"Split({self.dataset.spec!r}, {len(self)} tokens{f' in {n} sequences' if n else ''})"

    @property
    def bytes(self) -> int:
        """Of its text."""
        return self._split.bytes

    def _view(self, address, count, kind):
        memory = (kind * count).from_address(address)
        memory.owner = self
        values = numpy.frombuffer(memory, numpy.dtype(kind))
        values.flags.writeable = False
        return values

    @property
    def tokens(self) -> Array:
        return self._view(self._split.tokens, self._split.n_tokens, ctypes.c_int32)

    @property
    def sequences(self) -> Optional[Array]:
        """Where each sequence of a task starts, and behind the last one the end; None of one stream of text."""
        n = self._split.n_sequences
        return self._view(self._split.starts, n + 1, ctypes.c_int64) if n else None

    @property
    def labels(self) -> Optional[Array]:
        """The class of each sequence; None where they have none."""
        return self._view(self._split.labels, self._split.n_sequences, ctypes.c_int32) if self._split.labels else None

    @property
    def skipped(self) -> int:
        """How many records are left out, as they have no class."""
        return self._split.skipped

    def blocks(self, length: int, partial: bool = False) -> int:
        """How many blocks of that many inputs there are, with `partial` the last, shorter one among them."""
        return lib.asc_split_blocks(self.pointer, _positive("length", length), partial)

    def order(self, length: int, seed: int = 1, epoch: int = 0) -> Array:
        """The order of an epoch: a permutation of the blocks' numbers."""
        order = numpy.empty(self.blocks(length), numpy.int32)
        call(lib.asc_block_order, len(order), seed, epoch, order.ctypes.data)
        return order

    def batch(self, which: Numbers, length: int) -> Tuple[Array, Array]:
        """Inputs and targets (n, W) of the blocks of these numbers, int64; a target that does not count is -1."""
        which = _numbers(which)
        width = lib.asc_split_width(self.pointer, length, which.ctypes.data, len(which))
        inputs, targets = numpy.zeros((2, len(which), max(width, 0)), numpy.int64)
        call(
            lib.asc_block_fill,
            self.pointer,
            length,
            which.ctypes.data,
            len(which),
            inputs.ctypes.data,
            targets.ctypes.data,
        )
        return inputs, targets

    def batches(self, length: int, batch: int, seed: int = 1, epoch: int = 0) -> Iterator[Tuple[Array, Array]]:
        """An epoch of batches: pairs of inputs and targets."""
        order, batch = self.order(length, seed, epoch), _positive("batch", batch)
        for first in range(0, len(order), batch):
            yield self.batch(order[first : first + batch], length)

    def streams(self, length: int, rows: int) -> Iterator[Tuple[Array, Array]]:
        """The same in order, for models that carry context: of so many rows, each reads a part of the text, block after
        block."""
        order = numpy.empty(self.blocks(length) // _positive("rows", rows) * rows, numpy.int32)
        call(lib.asc_block_streams, len(order), rows, order.ctypes.data)
        for first in range(0, len(order), rows):
            yield self.batch(order[first : first + rows], length)

    def class_batch(self, which: Numbers) -> Tuple[Array, Array, Array]:
        """Inputs (n, W) of the sequences of these numbers, 0 behind their ends, labels (n), lengths (n)."""
        which = _numbers(which)
        n = len(which)
        inputs = numpy.zeros((n, lib.asc_class_width(self.pointer, which.ctypes.data, n)), numpy.int64)
        lengths, labels = numpy.zeros((2, n), numpy.int64)
        arrays = (a.ctypes.data for a in (inputs, lengths, labels))
        call(lib.asc_class_fill, self.pointer, which.ctypes.data, n, *arrays)
        return inputs, labels, lengths

    def pair_batch(self, which: Numbers, most: int) -> Tuple[Array, Array, Array]:
        """The same of pairs of sentences, of at most `most` tokens each, one behind the other: lengths are (n, 2)."""
        which = _numbers(which)
        n = len(which)
        inputs = numpy.zeros((n, lib.asc_pair_width(self.pointer, which.ctypes.data, n, most)), numpy.int64)
        lengths, labels = numpy.zeros((n, 2), numpy.int64), numpy.zeros(n, numpy.int64)
        arrays = (a.ctypes.data for a in (inputs, lengths, labels))
        call(lib.asc_pair_fill, self.pointer, which.ctypes.data, n, most, *arrays)
        return inputs, labels, lengths


def _positive(name, given):
    if whole(name, given) < 1:
        raise ArgumentError(f"{name} is {given}, expected at least 1")
    return given


def _numbers(which):
    """The numbers of some blocks or sequences."""
    values = numpy.asarray(which)
    if values.ndim > 1 or (values.size and values.dtype.kind not in "iu"):
        raise ArgumentTypeError(f"which is {shown(which)}, expected a list of whole numbers")
    if values.size and not -(2**31) <= int(values.min()) <= int(values.max()) < 2**31:
        raise ArgumentIndexError(f"which is {shown(which)}, expected numbers of blocks")
    return numpy.ascontiguousarray(values, numpy.int32)


def learn_bpe(text: Union[str, Iterable[str]], vocab_size: int, path: File) -> int:
    """Learns a byte-pair encoding from a text, or from pieces of one, and writes it as a tokenizer.json; its size."""
    learner = Owned(call(lib.asc_bpe_learner_new), quick.asc_bpe_learner_free)
    for piece in [text] if isinstance(text, str) else text:
        ask(lib.asc_bpe_learner_add, learner.pointer, *encoded(piece))
    learned = ctypes.c_int64()
    ask(lib.asc_bpe_learner_save, learner.pointer, vocab_size, path, ctypes.byref(learned))
    return learned.value
