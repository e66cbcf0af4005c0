"""Language models."""

import ctypes
import json

import numpy

from . import _c
from ._data import Tokenizer
from ._library import Owned, ask, call, lib, lock, no_grad, quick, text
from ._params import listed, next_seed, save_safetensors
from ._tensor import NULL, as_tensor, dtype_number, made, result_of


class LM(Owned):
    """A language model of a configuration, a dictionary with the keys of doc/model.md, or of those as keywords.

    LM.load(RUN) opens a trained one, with its tokenizer."""

    def __init__(self, config=None, *, dtype="f32", seed=None, **settings):
        config = json.dumps({**(config or {}), **settings})
        seed = next_seed() if seed is None else seed
        super().__init__(call(lib.asc_lm_new, config.encode(), dtype_number(dtype), seed), lib.asc_lm_free)
        self.tokenizer = None

    @classmethod
    def load(cls, path, tokenizer=None):
        """The best model of a RUN, or a model file's; `tokenizer`, such as "word", in place of its own."""
        model = call(lib.asc_model_open, str(path).encode(), tokenizer.encode() if tokenizer else None, None)
        opened = _c.asc_model.from_address(model)
        owner = Owned(model, lambda pointer: call(lib.asc_model_free, pointer))
        lm = cls.__new__(cls)
        Owned.__init__(lm, opened.lm, lambda _: None, owner)
        lm.tokenizer = Tokenizer._of(opened.tokenizer, owner) if opened.tokenizer else None
        return lm

    def save(self, path, tokenizer=None):
        """Writes a model's file, which LM.load and `ascgrad` open; with the tokenizer, where the model has none."""
        tokenizer = tokenizer or self.tokenizer
        if tokenizer is None:
            raise ValueError("save: a model's file has a tokenizer, expected one")
        metadata = {"format": "pt", "config": json.dumps(self.config), "tokenizer": tokenizer.name}
        metadata |= {"vocab": tokenizer.vocabulary, "step": "0", "valid_loss": "nan"}
        save_safetensors(path, self.parameters(), metadata)

    @property
    def config(self):
        return json.loads(text(lib.asc_lm_config(self.pointer)))

    @property
    def block(self):
        return lib.asc_lm_block(self.pointer)

    @property
    def vocab(self):
        return lib.asc_lm_vocab(self.pointer)

    def parameters(self):
        """Its tensors by name."""
        return listed(lib.asc_lm_params(self.pointer))

    def set_dropout(self, p):
        """The dropout of the calls from here on; 0 at first."""
        with lock:
            lib.asc_lm_set_dropout(self.pointer, p)

    def set_recompute(self, recompute):
        """Whether the backward pass computes the blocks again, for less memory."""
        with lock:
            lib.asc_lm_set_recompute(self.pointer, recompute)

    def project(self):
        """Brings parameters back to where they have a meaning; after each step of an optimiser."""
        with lock:
            lib.asc_lm_project(self.pointer)

    # ---- passes ----

    def logits(self, x):
        """Logits (B, N, V) of ids (B, N)."""
        return result_of(lib.asc_lm_logits, self.pointer, as_tensor("logits", x))

    def loss(self, x, y, token_losses=False):
        """The mean cross-entropy in nats of ids x with the next ones y, (B, N), -1 where none counts.

        With token_losses also each token's, (B, N), through which no gradient flows."""
        x, y, each = as_tensor("loss", x), as_tensor("loss", y), _c.asc_tensor()
        loss = result_of(lib.asc_lm_loss, self.pointer, x, y, ctypes.byref(each) if token_losses else None)
        return (loss, made(each)) if token_losses else loss

    def objective(self, x, y):
        """What training minimises: that, and the layers' auxiliary losses."""
        x, y = as_tensor("objective", x), as_tensor("objective", y)
        return result_of(lib.asc_lm_objective, self.pointer, x, y, None)

    def states(self, x, lengths=None):
        """The states (B, N, D) after the last block."""
        x, lengths = as_tensor("states", x), as_tensor("states", lengths) if lengths is not None else None
        return result_of(lib.asc_lm_states, self.pointer, x, lengths if lengths is not None else NULL)

    def inspect(self, tokens, layer):
        """What a layer computes on the way for ids (B, N), by name (doc/inspect.md)."""
        from ._params import ParameterList

        parts = ParameterList()
        ask(lib.asc_lm_inspect, self.pointer, as_tensor("inspect", tokens), layer, parts.pointer)
        return dict(listed(parts.pointer).items())

    def evaluate(self, split, batch=32, length=0):
        """Loss, perplexity and the like on a split, each token but the first predicted once: a dictionary."""
        options, found = _c.asc_eval_options(batch=batch, length=length), _c.asc_eval_result()
        with no_grad():
            call(lib.asc_evaluate, self.pointer, split.pointer, ctypes.byref(options), ctypes.byref(found))
        return {name: getattr(found, name) for name, _ in found._fields_}

    # ---- generation ----

    def generate(
        self,
        prompt="",
        count=100,
        *,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        min_p=0.0,
        repeat_penalty=1.0,
        seed=1,
        nth=0,
    ):
        """Continues a prompt, one token at a time, as `ascgrad generate` does: yields pieces of text if the prompt is
        text, else ids."""
        if not isinstance(prompt, str):
            ids = [int(i) for i in prompt]
        elif self.tokenizer is not None:
            ids = [int(i) for i in self.tokenizer.encode(prompt)]
        else:
            raise ValueError("generate: the model has no tokenizer, expected a prompt of ids")
        sampling = _c.asc_sampling(
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            seed=seed,
            nth=nth,
            repeat_penalty=repeat_penalty,
        )
        drawn = self._draw(ids, count, sampling)
        return self.tokenizer.pieces(drawn) if isinstance(prompt, str) else drawn

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
        eos = quick.asc_tokenizer_eos(self.tokenizer.pointer) if self.tokenizer else -1
        before = dict.fromkeys(prompt)
        held = prompt[-room:] if prompt else [max(eos, 0)]
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

    @staticmethod
    def _next(cache, tokens, block, before, sampling, i):
        """Gives the model the tokens, at most a block at a time, and draws the next one."""
        with lock, no_grad():
            for first in range(0, len(tokens), block):
                part = numpy.array(tokens[first : first + block], numpy.int64)
                logits = result_of(lib.asc_lm_next, cache.pointer, part.ctypes.data, len(part))
            penalised = numpy.array(list(before) if sampling.repeat_penalty not in (0, 1) else [], numpy.int32)
            return call(
                lib.asc_sample_after, logits, penalised.ctypes.data, len(penalised), ctypes.byref(sampling), i
            )
