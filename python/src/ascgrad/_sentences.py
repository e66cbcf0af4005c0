"""Sentences: a frozen encoder of the BERT or DistilBERT family, and what it makes of texts."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Optional, Sequence, Tuple, Union

import numpy

from . import _c
from ._data import Tokenizer, encoded
from ._given import ABSENT, shown, struct, whole
from ._library import (
    ArgumentError,
    ArgumentIndexError,
    ArgumentTypeError,
    Owned,
    ask,
    call,
    hearing,
    lib,
    lock,
    log,
    text,
)
from ._tensor import NULL, Tensor, as_tensor, result_of
from ._types import Array, File, Input

Texts = Sequence[Union[str, Tuple[str, str]]]
TAKE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
SAY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


def _pooling(name, window, stride):
    names = [text(lib.asc_pooling_name(kind)) for kind in range(_c.ASC_POOLING_WINDOWS + 1)]
    if not isinstance(name, str) or name not in names:
        raise ArgumentError(f"pool is {name!r}, expected one of {', '.join(names)}")
    return struct(_c.asc_pooling_options, kind=names.index(name), window=window, stride=stride)


@SAY
def _say(_, line):
    log.warning("%s", text(line))


def features_options(pooling=None, cache=None):
    """`cache`: None, the user's; "", none, all of it is held in memory."""
    if cache is None:
        room = ctypes.create_string_buffer(4096)
        lib.asc_cache_home(room, len(room))
        cache = os.fsdecode(room.value)
    options = struct(_c.asc_features_options, cache=cache, say=ctypes.cast(_say, ctypes.c_void_p))
    if pooling is not None:
        options.pooling = pooling
    return options


class Features(Owned):
    """What an encoder made of a list of sentences, in memory or in a cache on disk; made by Encoder.features, or by
    LM.features."""

    def __init__(self, pointer):
        super().__init__(pointer, lib.asc_features_free)

    def __len__(self) -> int:
        return lib.asc_features_count(self.pointer)

    @property
    def dim(self) -> int:
        """The entries of a row."""
        return lib.asc_features_dim(self.pointer)

    def __getitem__(self, i: int) -> Array:
        """The rows (W, E) of sentence i."""
        i = whole("sentence", i)
        i += len(self) if i < 0 else 0
        if not 0 <= i < len(self):
            raise ArgumentIndexError(f"sentence {i}, of {len(self)}")
        rows = numpy.empty((lib.asc_features_rows(self.pointer, i), self.dim), numpy.float32)
        ask(lib.asc_features_read, self.pointer, i, rows.ctypes.data)
        return rows

    def __repr__(self) -> str:
        return f"Features({len(self)} sentences, {self.dim} wide)"


class Encoder(Owned):
    """A pretrained BERT or DistilBERT, as it is, in the files that Hugging Face's transformers writes to a folder:
    config.json, model.safetensors, and vocab.txt, or the file `vocab`. No gradient flows through it.

        encoder = asc.Encoder("all-MiniLM-L6-v2")
        vectors = encoder.encode(["A man plays the guitar.", "It is raining."])         # (2, E)
    """

    def __init__(self, folder: File, vocab: Optional[File] = None):
        vocab = ABSENT if vocab is None else vocab
        super().__init__(call(lib.asc_encoder_open, folder, vocab), lib.asc_encoder_free)

    @classmethod
    def _of(cls, pointer) -> Encoder:
        made = cls.__new__(cls)
        Owned.__init__(made, pointer, lib.asc_encoder_free)
        return made

    @property
    def type(self) -> str:
        """ "bert" or "distilbert"."""
        return text(lib.asc_encoder_type(self.pointer))

    @property
    def dim(self) -> int:
        """The entries of a state."""
        return lib.asc_encoder_dim(self.pointer)

    @property
    def layers(self) -> int:
        return lib.asc_encoder_layers(self.pointer)

    @property
    def longest(self) -> int:
        """The most tokens that a sentence may have."""
        return lib.asc_encoder_longest(self.pointer)

    @property
    def parameters(self) -> int:
        """How many there are."""
        return lib.asc_encoder_parameters(self.pointer)

    @property
    def fingerprint(self) -> str:
        """Digits that follow from all that its states depend on."""
        return text(lib.asc_encoder_fingerprint(self.pointer))

    @property
    def tokenizer(self) -> Tokenizer:
        return Tokenizer._of(lib.asc_encoder_tokenizer(self.pointer), self)

    def __repr__(self) -> str:
        return f"Encoder({self.type}, {self.layers} layers, {self.dim} wide)"

    def _sentences(self, texts, max_tokens):
        """The library's list of sentences, and pairs of them."""
        if isinstance(texts, (str, bytes)) or not hasattr(texts, "__len__"):
            raise ArgumentTypeError(f"texts is {shown(texts)}, expected a list of texts, or of pairs of texts")
        most = whole("max_tokens", max_tokens or self.longest)
        if most > self.longest:
            raise ArgumentError(f"max_tokens is {most}, expected at most {self.longest}, what the encoder takes")
        tokenizer = lib.asc_encoder_tokenizer(self.pointer)
        made = Owned(call(lib.asc_sentences_new, tokenizer, most), lib.asc_sentences_free, self)
        for item in texts:
            if isinstance(item, str):
                ask(lib.asc_sentences_add, made.pointer, *encoded(item))
            else:
                if not isinstance(item, (list, tuple)) or len(item) != 2:
                    raise ArgumentTypeError(f"texts has {shown(item)}, expected texts, or pairs of them")
                first, second = item
                ask(lib.asc_sentences_add_pair, made.pointer, *encoded(first), *encoded(second))
        cut = lib.asc_sentences_cut(made.pointer)
        if cut:
            log.warning("%d of %d sentences are longer than %d tokens, and cut", cut, len(texts), most)
        return made

    def tokens(self, texts: Texts, max_tokens: Optional[int] = None) -> Tuple[Array, Array, Array]:
        """The ids (n, T) of texts, or of pairs of texts, their types (n, T), and lengths (n), as states takes them."""
        sentences = self._sentences(texts, max_tokens)
        n = len(texts)
        longest = lib.asc_sentences_longest(sentences.pointer)
        ids, types = numpy.zeros((2, n, longest), numpy.int64)
        lengths, which = numpy.zeros(n, numpy.int64), numpy.arange(n)
        arrays = (a.ctypes.data for a in (ids, types, lengths))
        ask(lib.asc_sentences_fill, sentences.pointer, which.ctypes.data, n, longest, *arrays)
        return ids, types, lengths

    def states(self, tokens: Input, types: Optional[Input] = None, lengths: Optional[Input] = None) -> Tensor:
        """The last hidden states (B, N, E) of ids (B, N), of which `lengths` (B) count."""
        given = [as_tensor("states", t) if t is not None else NULL for t in (tokens, types, lengths)]
        return result_of(lib.asc_encoder_states, self.pointer, *given)

    def encode(
        self,
        texts: Union[str, Texts],
        pool: str = "mean",
        *,
        max_tokens: Optional[int] = None,
        window: int = 8,
        stride: int = 8,
    ) -> Any:
        """States of texts, or of pairs of texts, as `ascgrad encode` has them; of a single text its own alone.

        pool "mean" or "cls", the mean or the first of a text's states: an array (n, E). "none", all of them, or
        "windows", means over `window` tokens from every `stride`-th on: (n, T, E), 0 behind the end, and lengths
        (n)."""
        if isinstance(texts, str):
            states = self.encode([texts], pool, max_tokens=max_tokens, window=window, stride=stride)
            return states[0] if isinstance(states, numpy.ndarray) else states[0][0]
        pooling, sentences = _pooling(pool, window, stride), self._sentences(texts, max_tokens)
        lengths, count = numpy.zeros(len(texts), numpy.int64), ctypes.c_int64()
        for i in range(len(texts)):
            lib.asc_sentences_at(sentences.pointer, i, ctypes.byref(count), None)
            lengths[i] = lib.asc_pooling_rows(ctypes.byref(pooling), count)
        states = numpy.zeros((len(texts), int(lengths.max(initial=0)), self.dim), numpy.float32)

        def take(_, i, n, rows):
            ctypes.memmove(states.ctypes.data + i * states.strides[0], rows, n * states.strides[1])
            return _c.ASC_ERR_INTERRUPTED if heard.raised else _c.ASC_OK

        with lock, hearing(take) as heard:
            ask(lib.asc_encoder_encode, self.pointer, sentences.pointer, ctypes.byref(pooling), TAKE(take), None)
        return states.reshape(len(texts), self.dim) if pool in ("mean", "cls") else (states, lengths)

    def features(
        self,
        texts: Texts,
        pool: str = "mean",
        *,
        max_tokens: Optional[int] = None,
        window: int = 8,
        stride: int = 8,
        cache: Optional[File] = None,
    ) -> Features:
        """The same, computed once and kept in the folder `cache` (None: the user's; "": in memory), from which any
        sentence's rows are read."""
        options = features_options(_pooling(pool, window, stride), cache)
        sentences = self._sentences(texts, max_tokens)
        return Features(ask(lib.asc_features_open, self.pointer, sentences.pointer, ctypes.byref(options)))


def model_encoder(model, folder: Optional[File] = None, vocab: Optional[File] = None) -> Encoder:
    """The encoder of a model's run, or the one in `folder`."""
    paths = (ABSENT if path is None else path for path in (folder, vocab))
    return Encoder._of(call(lib.asc_model_encoder, model, *paths))


def together(pairs):
    """The rows of pairs, a pair's one after the other and 0 behind both, and how many they are (n, 2)."""
    lengths = numpy.array([[len(a), len(b)] for a, b in pairs], numpy.int64)
    x = numpy.zeros((len(pairs), max(int(lengths.sum(1).max()), 1), *pairs[0][0].shape[1:]), pairs[0][0].dtype)
    for room, (a, b) in zip(x, pairs):
        room[: len(a)], room[len(a) : len(a) + len(b)] = a, b
    return x, lengths
