/*
 * tests/fuzz/fuzz.h: the frame of the fuzzers. A target is a function that gives the library what a stranger may have
 * written; it is a file of its own and a line in FUZZ_TARGETS. libFuzzer calls it (fuzzer.c), and so does what replays
 * files without it (replay.c): no target crashes, hangs, leaks or takes more memory than the frame's context has.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <ascgrad/ascgrad.h>
#include <stddef.h>
#include <stdint.h>

#define FUZZ_TARGETS(_)                                                                                                \
    _(bpe)                                                                                                             \
    _(encoder)                                                                                                         \
    _(experiment)                                                                                                      \
    _(metrics)                                                                                                         \
    _(model)                                                                                                           \
    _(npz)                                                                                                             \
    _(parity)                                                                                                          \
    _(records)                                                                                                         \
    _(run)                                                                                                             \
    _(safetensors)                                                                                                     \
    _(settings)                                                                                                        \
    _(text)                                                                                                            \
    _(vocabulary)

typedef void fuzz_target(asc_ctx *ctx, const uint8_t *data, size_t n);

#define FUZZ_DECLARE(name) fuzz_target fuzz_##name;
FUZZ_TARGETS(FUZZ_DECLARE)
#undef FUZZ_DECLARE

/* Chooses the target by name and makes the frame's folder; ends the program where there is none. */
void fuzz_begin(const char *target);

/* Gives the target an input, with a context of its own that has at most 256 MiB; ends the program if memory of the
 * context is left. */
void fuzz_one(const uint8_t *data, size_t n);

/* A path in the frame's folder, one at a time. */
const char *fuzz_path(const char *name);

/* Writes a file into the frame's folder; its path. */
const char *fuzz_spill(const char *name, const void *bytes, size_t n);

/* The bytes of a file of the frame's folder, to be freed. */
uint8_t *fuzz_slurp(const char *name, size_t *n);

#endif
