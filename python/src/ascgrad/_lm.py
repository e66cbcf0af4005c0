"""Language models, classifiers, models of pairs of sentences."""

from __future__ import annotations

import ctypes
import json
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy

from . import _c
from ._data import Split, Tokenizer
from ._given import ABSENT, instance, letters, real, shown, struct, whole
from ._given import settings as as_json
from ._library import ArgumentError, ArgumentTypeError, Owned, ask, call, hearing, lib, lock, no_grad, quick, text
from ._params import ParameterList, Parameters, listed, next_seed, save_safetensors
from ._sentences import Encoder, Features, features_options, model_encoder, together
from ._tensor import NULL, Handle, Tensor, as_tensor, made, real_dtype_number, result_of, scoped
from ._types import Array, DType, File, Input

RECOMPUTED = set()
TOKENS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


def _copied(address, count, dtype):
    """An array of the library's that is gone when the call returns."""
    return numpy.frombuffer(ctypes.string_at(address, count * numpy.dtype(dtype).itemsize), dtype)


class Carried(Owned):
    """What a model's layers keep of `tokens` tokens from one block to the next, as doc/carry.md has it; made by
    LM.carried.

        with lm.carried(64) as carried:
            for x, y in split.streams(length=32, rows=8):
                lm.objective(x, y).backward()
                carried.advance()
    """

    def __init__(self, lm: LM, tokens: int):
        super().__init__(ask(lib.asc_lm_carried_new, lm.pointer, tokens), lib.asc_lm_carried_free, lm)
        self._lm, self._before = lm, []

    def __enter__(self) -> Carried:
        ask(lib.asc_lm_set_carried, self._lm.pointer, self.pointer)
        self._before.append(self._lm._carried)
        self._lm._carried = self
        return self

    def __exit__(self, *_: Any) -> None:
        self._lm._carried = before = self._before.pop()
        ask(lib.asc_lm_set_carried, self._lm.pointer, None if before is None else before.pointer)

    def advance(self) -> None:
        """Goes on behind the last pass, whose gradients have been computed."""
        ask(lib.asc_lm_carried_advance, self.pointer)

    def reset(self) -> None:
        """The streams begin anew."""
        with lock:
            lib.asc_lm_carried_reset(self.pointer)

    def __len__(self) -> int:
        """The tokens that each stream has had."""
        return lib.asc_lm_carried_length(self.pointer)

    def __bool__(self) -> bool:
        return True


def _has_no_tokenizer(path):
    """Whether it is the file of a model of ids alone."""
    if not isinstance(path, (str, bytes, os.PathLike)) or not os.path.isfile(path):
        return False
    file = Owned(call(lib.asc_safetensors_open, path), quick.asc_safetensors_close)
    has = {key: lib.asc_safetensors_metadata(file.pointer, key) is not None for key in ("config", "tokenizer")}
    return has["config"] and not has["tokenizer"]


if TYPE_CHECKING:
    _of_the_class = classmethod
else:

    class _of_the_class(classmethod):
        """A class method that lm.NAME does not reach, which would read as if it changed lm."""

        def __get__(self, instance, owner=None):
            if instance is not None:
                raise TypeError("LM.load makes another model, and changes none: lm = LM.load(FILE)")
            return super().__get__(instance, owner)


class LM(Owned):
    """A language model of a configuration, a dictionary with the keys of doc/settings.md, or those as keywords; with
    "head" "classifier" or "pairs" in it a classifier of sequences, or of pairs of sentences. layers, d_model, block,
    vocab and a mixing's heads have no defaults here.

    LM.load(RUN) opens a trained one, with its tokenizer."""

    _model = _classes = None  # of a file's: the library's struct, and the names of its classes as text
    batch, data = 32, None  # of a run's: as many sequences at a time, and what it was trained on
    _encoder = None
    _dropout, _carried = 0.0, None  # what passes are told of, and evaluations are not

    def __init__(
        self,
        config: Optional[Dict[str, Any]] = None,
        *,
        dtype: DType = "f32",
        seed: Optional[int] = None,
        **settings: Any,
    ):
        config = {} if config is None else config
        if not isinstance(config, dict):
            raise ArgumentTypeError(
                f"config is {config!r}, expected a dictionary; LM.load(RUN) opens a trained model"
            )
        if isinstance(config.get("model"), dict):  # a RUN's config.json
            config = config["model"]
        config = as_json({**config, **settings})
        seed = next_seed() if seed is None else seed
        super().__init__(call(lib.asc_lm_new, config, real_dtype_number(dtype), seed), lib.asc_lm_free)
        self.tokenizer = None

    @_of_the_class
    def load(cls, path: File, tokenizer: Optional[str] = None) -> LM:
        """A new model: the best one of a RUN, or a model file's; `tokenizer`, such as "word", in place of its own. Of a
        file that was saved without a tokenizer the model has none."""
        lm = cls.__new__(cls)
        if tokenizer is None and _has_no_tokenizer(path):
            Owned.__init__(lm, call(lib.asc_lm_load, path), lib.asc_lm_free)
            lm.tokenizer = None
            return lm
        model = call(lib.asc_model_open, path, ABSENT if tokenizer is None else tokenizer, None)
        opened = _c.asc_model.from_address(model)
        owner = Owned(model, lambda pointer: call(lib.asc_model_free, pointer))
        Owned.__init__(lm, opened.lm, lambda _: None, owner)
        lm.tokenizer = Tokenizer._of(opened.tokenizer, owner) if opened.tokenizer else None
        lm.batch, lm.data = opened.batch, ctypes.string_at(opened.data).decode() if opened.data else None
        lm._model, lm._classes = owner, ctypes.string_at(opened.classes).decode() if opened.classes else None
        return lm

    def __repr__(self):
        config = self.config
        sizes = ", ".join(f"{key}={config[key]!r}" for key in ("mix", "layers", "d_model", "head"))
        return f"LM({sizes}, {self.parameters().size:,} parameters)"

    def save(self, path: File, tokenizer: Optional[Tokenizer] = None) -> None:
        """Writes a model's file, which LM.load opens, and with a tokenizer, this one or the model's own, `ascgrad`."""
        tokenizer = self.tokenizer if tokenizer is None else tokenizer
        if tokenizer is None:
            call(lib.asc_lm_save, self.pointer, path)
            return
        instance("save: tokenizer", tokenizer, Tokenizer)
        metadata = {"format": "pt", "config": json.dumps(self.config), "tokenizer": tokenizer.name}
        metadata.update(vocab=tokenizer.vocabulary, step="0", valid_loss="nan")
        if self._classes:
            metadata["classes"] = self._classes
        save_safetensors(path, self.parameters(), metadata)

    @property
    def config(self) -> Dict[str, Any]:
        return json.loads(text(lib.asc_lm_config(self.pointer)))

    @property
    def block(self) -> int:
        return lib.asc_lm_block(self.pointer)

    @property
    def vocab(self) -> int:
        return lib.asc_lm_vocab(self.pointer)

    @property
    def classes(self) -> List[str]:
        """The names of a classifier's classes, numbers where they have none; nothing of a language model."""
        return json.loads(self._classes) if self._classes else list(map(str, range(lib.asc_lm_classes(self.pointer))))

    def parameters(self) -> Parameters:
        """Its tensors by name."""
        return listed(lib.asc_lm_params(self.pointer))

    def set_dropout(self, p: float) -> None:
        """The dropout of the calls from here on; 0 at first."""
        if not 0 <= real("set_dropout: p", p) < 1:
            raise ArgumentError(f"set_dropout: p is {p}, expected at least 0 and less than 1")
        with lock:
            lib.asc_lm_set_dropout(self.pointer, p)
            self._dropout = p

    def _as_evaluated(self, function, *args):
        """function(*args) without dropout and what is carried, which the library's evaluations leave off; both are back
        behind it. No context manager of Python's: an interrupt at the entry of its end would leave the lock taken."""
        with lock, no_grad():
            try:
                quick.asc_lm_set_dropout(self.pointer, 0.0)
                return function(*args)
            finally:
                try:
                    quick.asc_lm_set_dropout(self.pointer, self._dropout)
                finally:
                    quick.asc_lm_set_carried(self.pointer, None if self._carried is None else self._carried.pointer)

    def set_recompute(self, recompute: bool) -> None:
        """Whether the backward pass computes the blocks again, for less memory. A model that ever does stays until the
        process ends, as a pass may outlive its last user; what it carries goes on behind that pass."""
        with lock:
            lib.asc_lm_set_recompute(self.pointer, recompute)
            if recompute:
                RECOMPUTED.add(self)

    def project(self) -> None:
        """Brings parameters back to where they have a meaning; after each step of an optimiser."""
        with lock:
            lib.asc_lm_project(self.pointer)

    # ---- passes ----

    def logits(self, x: Input) -> Tensor:
        """Logits (B, N, V) of ids (B, N)."""
        return result_of(lib.asc_lm_logits, self.pointer, as_tensor("logits", x))

    def loss(self, x: Input, y: Input, token_losses: bool = False) -> Any:
        """The mean cross-entropy in nats of ids x with the next ones y, (B, N), -1 where none counts.

        With token_losses also each token's, (B, N), through which no gradient flows."""
        x, y, each = as_tensor("loss", x), as_tensor("loss", y), Handle()
        loss = result_of(
            lib.asc_lm_loss, self.pointer, x, y, ctypes.byref(each) if token_losses else None, also=[each]
        )
        return (loss, made(each)) if token_losses else loss

    def objective(self, x: Input, y: Input) -> Tensor:
        """What training minimises: that, and the layers' auxiliary losses."""
        x, y = as_tensor("objective", x), as_tensor("objective", y)
        return result_of(lib.asc_lm_objective, self.pointer, x, y, None)

    def states(self, x: Input, lengths: Optional[Input] = None) -> Tensor:
        """The states (B, N, D) after the last block."""
        x, lengths = as_tensor("states", x), as_tensor("states", lengths) if lengths is not None else None
        return result_of(lib.asc_lm_states, self.pointer, x, lengths if lengths is not None else NULL)

    def inspect(self, tokens: Input, layer: int) -> Dict[str, Tensor]:
        """What a layer computes on the way for ids (B, N), by name (doc/inspect.md)."""
        parts = ParameterList()
        scoped(lib.asc_lm_inspect, self.pointer, as_tensor("inspect", tokens), layer, parts.pointer)
        return dict(listed(parts.pointer).items())

    def evaluate(
        self,
        split: Split,
        batch: int = 32,
        length: int = 0,
        carry: int = 0,
        features: Optional[Features] = None,
        losses: bool = False,
    ) -> Dict[str, Any]:
        """Loss, perplexity and the like on a split, each token but the first predicted once: a dictionary.

        `length`: the tokens of a block, 0 for the model's; `carry`: those that each block looks back at. With `losses`
        there are also "ids" and "losses" of the predicted tokens, in the order of the text, or of a classifier's
        sequences. Of a classifier there is "confusion", a row for each class, a column for what it was taken for, and
        `features` are those of LM.features."""
        instance("evaluate: split", split, Split)
        if features is not None:
            instance("evaluate: features", features, Features)
        options, found = struct(_c.asc_eval_options, batch=batch, length=length, carry=carry), _c.asc_eval_result()
        n, taken = lib.asc_lm_classes(self.pointer), []
        confusion = numpy.zeros((n, n), numpy.int64)
        if n:
            options.confusion = confusion.ctypes.data
            features = features if features is not None else self.features(split)
            options.features = features.pointer if features is not None else None

        def take(_, ids, values, count):
            taken.append([_copied(ids, count, numpy.int64), _copied(values, count, numpy.float64)])
            return _c.ASC_ERR_INTERRUPTED if heard.raised else _c.ASC_OK

        taking = TOKENS(take)
        if losses:
            options.tokens = ctypes.cast(taking, ctypes.c_void_p)
        with lock, hearing(take) as heard:
            self._as_evaluated(
                call, lib.asc_evaluate, self.pointer, split.pointer, ctypes.byref(options), ctypes.byref(found)
            )
        values = {name: getattr(found, name) for name, _ in found._fields_}
        if losses:
            ids, each = (numpy.concatenate(column) for column in zip(*taken))
            values.update(ids=ids[ids >= 0], losses=each[ids >= 0])
        return {**values, "confusion": confusion} if n else values

    def carried(self, tokens: int) -> Carried:
        """Room for what passes leave to the next ones, of so many tokens, which need not be the model's own setting."""
        return Carried(self, tokens)

    # ---- classes ----

    def classify(self, x: Input, lengths: Optional[Input] = None) -> Tensor:
        """Logits (B, C) of a classifier: of ids (B, N), of which `lengths` (B) count. Of a model of pairs x has both
        sentences one behind the other, lengths (B, 2); class_batches makes them."""
        x, lengths = as_tensor("classify", x), as_tensor("classify", lengths) if lengths is not None else NULL
        return result_of(lib.asc_lm_classify, self.pointer, x, lengths)

    def class_objective(self, x: Input, labels: Input, lengths: Optional[Input] = None) -> Tensor:
        """What the training of a classifier minimises, for labels (B), -1 for none."""
        x, labels = as_tensor("class_objective", x), as_tensor("class_objective", labels)
        lengths = as_tensor("class_objective", lengths) if lengths is not None else NULL
        return result_of(lib.asc_lm_class_objective, self.pointer, x, lengths, labels, None)

    def set_class_weights(self, weights: Optional[Sequence[float]]) -> None:
        """The weight of each class in the objective from here on; None: all alike."""
        n = lib.asc_lm_classes(self.pointer)
        if weights is not None:
            weights = numpy.ascontiguousarray(weights, numpy.float64)
            if weights.shape != (n,):
                raise ArgumentError(f"set_class_weights: weights are {weights.shape}, expected ({n},)")
        ask(lib.asc_lm_set_class_weights, self.pointer, weights.ctypes.data if weights is not None else None)

    def class_batches(
        self, split: Split, batch: int, seed: int = 1, epoch: int = 0, features: Optional[Features] = None
    ) -> Iterator[Tuple[Array, Array, Array]]:
        """An epoch of batches for class_objective: x, labels and lengths. A model of pairs that takes an encoder's
        states has them of `features`, those of LM.features."""
        instance("class_batches: split", split, Split)
        if whole("class_batches: batch", batch) < 1:
            raise ArgumentError(f"class_batches: batch is {batch}, expected at least 1")
        takes = lib.asc_lm_pair_inputs(self.pointer)
        if takes.states and features is None:
            features = self.features(split)
        order = split.order(max(self.block, 1), seed, epoch)
        for first in range(0, len(order), batch):
            which = order[first : first + batch]
            yield self._pairs(split, which, features, takes) if takes.pairs else split.class_batch(which)

    def _pairs(self, split, which, features, takes):
        """A batch of pairs, less what the model is not to see."""
        if takes.states:
            dtype = self.parameters()[0].dtype
            rows = [[features[2 * int(i) + side].astype(dtype) for side in (0, 1)] for i in which]
            labels = split.labels[which].astype(numpy.int64)
        else:
            inputs, labels, lengths = split.pair_batch(which, self.block)
            rows = [[x[:a], x[a : a + b]] for x, (a, b) in zip(inputs, lengths)]
        seen = [[side[:0] if out else side for side, out in zip(pair, takes.left_out)] for pair in rows]
        x, lengths = together(seen)
        return x, labels, lengths

    def encoder(self, folder: Optional[File] = None, vocab: Optional[File] = None) -> Encoder:
        """The encoder of the model's run, or the one in `folder` if that has the same weights."""
        if self._model is None:
            raise ArgumentError("encoder: the model was not loaded from a run, open it by ascgrad.Encoder")
        if folder is not None or vocab is not None or self._encoder is None:
            self._encoder = model_encoder(self._model.pointer, folder, vocab)
        return self._encoder

    def features(
        self, split: Split, encoder: Optional[Encoder] = None, cache: Optional[File] = None
    ) -> Optional[Features]:
        """What the model takes of an encoder, the run's by default, for a split of pairs: computed once, and kept in
        the folder `cache` (None: the user's; "": in memory). None of a model that takes no states."""
        if not lib.asc_lm_pair_inputs(self.pointer).states:
            return None
        instance("features: split", split, Split)
        encoder, options = encoder or self.encoder(), features_options(cache=cache)
        given = (encoder.pointer, split.dataset.pointer, split.kind, split.tokenizer.pointer, ctypes.byref(options))
        return Features(ask(lib.asc_pair_features, self.pointer, *given))

    def predict(self, pairs: Sequence[Tuple[str, str]], encoder: Optional[Encoder] = None) -> Array:
        """The probabilities (n, C) of the classes of pairs of texts (premise, hypothesis), of a model that was loaded;
        `encoder` in place of the run's."""
        if self._model is None:
            raise ArgumentError("predict: the model was not loaded from a file, expected one of LM.load")
        if lib.asc_lm_pair_inputs(self.pointer).states and encoder is None:
            encoder = self.encoder()
        for item in pairs:
            if isinstance(item, (str, bytes)) or not hasattr(item, "__len__") or len(item) != 2:
                raise ArgumentTypeError(f"predict: pairs has {shown(item)}, expected pairs of texts")
        rows = (_c.asc_text_pair * len(pairs))(
            *((letters("predict: premise", a), letters("predict: hypothesis", b)) for a, b in pairs)
        )
        found = numpy.empty((len(pairs), lib.asc_lm_classes(self.pointer)))
        pointer = instance("predict: encoder", encoder, Encoder).pointer if encoder is not None else None
        given = (pointer, rows, len(pairs), found.ctypes.data)
        self._as_evaluated(call, lib.asc_pair_predict, self._model.pointer, *given)
        return found

    # ---- generation ----

    def generate(
        self,
        prompt: Union[str, Sequence[int], Array] = "",
        count: int = 100,
        *,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repeat_penalty: float = 1.0,
        seed: int = 1,
        nth: int = 0,
    ) -> Iterator[Any]:
        """Continues a prompt, one token at a time, as `ascgrad generate` does: yields pieces of text if the prompt is
        text, else ids."""
        if whole("generate: count", count) < 0:
            raise ArgumentError(f"generate: count is {count}, expected 0 or more")
        if not isinstance(prompt, str):
            try:
                ids = [whole("prompt", i) for i in prompt]
            except TypeError:
                raise ArgumentTypeError(f"generate: prompt is {shown(prompt)}, expected text or ids") from None
        elif self.tokenizer is not None:
            ids = [int(i) for i in self.tokenizer.encode(prompt)]
        else:
            raise ArgumentError("generate: the model has no tokenizer, expected a prompt of ids")
        sampling = struct(
            _c.asc_sampling,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            seed=seed,
            nth=nth,
            repeat_penalty=repeat_penalty,
        )
        drawn = self._draw(ids, count, sampling)
        return self.tokenizer.pieces(drawn, after=ids) if isinstance(prompt, str) else drawn

    def _draw(self, prompt, count, sampling):
        """The tokens that follow the prompt."""
        streams = lib.asc_lm_streams(self.pointer)
        block = self.block
        room = max(len(prompt), 1) if streams else block
        cache = Owned(
            ask(lib.asc_lm_cache_new, self.pointer, _c.ASC_LM_ENDLESS if streams else block),
            quick.asc_lm_cache_free,
            self,
        )
        before = dict.fromkeys(prompt)
        held = prompt[-room:] if prompt else [self._line_end()]
        fresh = held
        for i in range(count):
            token = self._next(cache, fresh, block, before, sampling, i)
            yield token
            before[token] = None
            fresh = [token]
            if not streams:
                if len(held) == block:  # the newest half stays
                    kept = min((block + 1) // 2, block - 1)
                    held = fresh = held[block - kept :] + [token]
                    lib.asc_lm_cache_reset(cache.pointer)
                else:
                    held = held + [token]

    def _line_end(self):
        """What a text without a prompt goes on from: the end of a line, where the tokenizer has one."""
        if self.tokenizer is None:
            return 0
        eos = quick.asc_tokenizer_eos(self.tokenizer.pointer)
        return max(eos if eos >= 0 else quick.asc_vocabulary_find(self.tokenizer.pointer, b"\n", 1), 0)

    def _next(self, cache, tokens, block, before, sampling, i):
        """Gives the model the tokens, at most a block at a time, and draws the next one."""
        return self._as_evaluated(self._drawn, cache, tokens, block, before, sampling, i)

    @staticmethod
    def _drawn(cache, tokens, block, before, sampling, i):
        for first in range(0, len(tokens), block):
            part = numpy.array(tokens[first : first + block], numpy.int64)
            logits = made(ask(lib.asc_lm_next, cache.pointer, part.ctypes.data, len(part)))  # the cache stays
        penalised = numpy.array(list(before) if sampling.repeat_penalty not in (0, 1) else [], numpy.int32)
        return call(
            lib.asc_sample_after, logits, penalised.ctypes.data, len(penalised), ctypes.byref(sampling), i
        )
