/* data/tokenizer.c: the kinds of tokenizers, and tokenizers of any kind. */
#include <stdio.h>
#include <string.h>

#include <ascgrad/corpus.h>
#include <program/file.h>
#include <program/names.h>
#include <program/settings.h>

#include "data/names.h"
#include "data/strings.h"
#include "data/tokenizer.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

extern const asc_tokenizer_kind asc_tokenizer_word, asc_tokenizer_byte, asc_tokenizer_wordpiece,
    asc_tokenizer_wordpiece_cased, asc_tokenizer_bpe;

static const asc_tokenizer_kind *const kinds[] = {&asc_tokenizer_word, &asc_tokenizer_byte, &asc_tokenizer_wordpiece,
                                                 &asc_tokenizer_wordpiece_cased, &asc_tokenizer_bpe};

enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

/* ---- the table ---- */

const asc_tokenizer_kind *asc_tokenizer_kind_at(const asc_ctx *ctx, int i)
{
    return i < 0 ? NULL : i < N_KINDS ? kinds[i] : asc_added_at(ctx, kinds, i - N_KINDS);
}

const asc_tokenizer_kind *asc_tokenizer_kind_find(const asc_ctx *ctx, const char *spec)
{
    const asc_tokenizer_kind *kind = NULL;
    for (int i = 0; spec && (kind = asc_tokenizer_kind_at(ctx, i)) && !asc_spec_names(spec, kind->name); i++) {
    }
    return kind;
}

const char *asc_tokenizer_list(const asc_ctx *ctx, char *text, size_t bytes)
{
    if (!text) {
        return NULL;
    }
    asc_name_list list = asc_list_begin(text, bytes);
    for (int i = 0; asc_tokenizer_kind_at(ctx, i); i++) {
        const asc_tokenizer_kind *kind = asc_tokenizer_kind_at(ctx, i);
        char spec[128];
        const char *argument = kind->argument ? kind->argument : "";
        bool optional = *argument == '[';
        snprintf(spec, sizeof spec, "%s%s%s", kind->name, optional ? "[:" : *argument ? ":" : "", argument + optional);
        asc_list_add(&list, spec, !asc_tokenizer_kind_at(ctx, i + 1));
    }
    return text;
}

asc_status asc_tokenizer_register(asc_ctx *ctx, const asc_tokenizer_kind *kind)
{
    asc_status status = ASC_NEED(ctx, "tokenizer_register: kind", kind);
    if (status) {
        return status;
    }
    if (kind->abi != ASC_CORPUS_ABI) {
        return asc_fail(ctx, ASC_ERR_ARG, "tokenizer_register: the kind has ABI %u, expected %d", kind->abi,
                        ASC_CORPUS_ABI);
    }
    if (!kind->make || !kind->encode || !kind->decode || (kind->has_vocabulary && !kind->load)) {
        return asc_fail(ctx, ASC_ERR_ARG, "tokenizer_register: %s: make, encode and decode are needed, and load with "
                        "has_vocabulary", kind->name ? kind->name : "(no name)");
    }
    if (asc_name_check(ctx, "tokenizer_register", kind->name)) {
        return asc_error(ctx);
    }
    if (kind->argument && !kind->has_vocabulary) {
        return asc_fail(ctx, ASC_ERR_ARG, "tokenizer_register: %s has an argument, %s, and no vocabulary that keeps "
                        "what it said", kind->name, kind->argument);
    }
    if (asc_tokenizer_kind_find(ctx, kind->name)) {
        return asc_fail(ctx, ASC_ERR_ARG, "tokenizer_register: %s: there is a tokenizer of this name", kind->name);
    }
    return asc_added_put(ctx, kinds, kind);
}

/* Refuses a spec that is for no kind, and offers the nearest. */
static void refuse(asc_ctx *ctx, const char *spec)
{
    char list[400], name[64], hint[ASC_NAME_HINT];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(spec, ":"), spec);
    const char *names[64] = {NULL};
    for (int i = 0; i < 63 && asc_tokenizer_kind_at(ctx, i); i++) {
        names[i] = asc_tokenizer_kind_at(ctx, i)->name;
    }
    asc_fail_on(ctx, ASC_ERR_ARG, "tokenizer", ": got '%s', expected %s%s", spec,
                asc_tokenizer_list(ctx, list, sizeof list), asc_name_hint(asc_name_guess(name, names), hint));
}

/* ---- making ---- */

/* A tokenizer and what it owns, in one piece of memory. */
typedef struct holder {
    asc_tokenizer tokenizer;
    asc_strings vocabulary;
    _Alignas(64) unsigned char self[];
} holder;

/* One that is yet to be made or loaded. */
static asc_tokenizer *tokenizer_new(asc_ctx *ctx, const asc_tokenizer_kind *kind)
{
    holder *h = asc_alloc(ctx, sizeof *h + kind->size);
    if (!h) {
        return NULL;
    }
    memset(h, 0, sizeof *h + kind->size);
    h->vocabulary.ctx = ctx;
    h->tokenizer = (asc_tokenizer){.ctx = ctx, .kind = kind, .self = h->self, .unknown = -1, .eos = -1,
                                   .vocabulary = &h->vocabulary};
    return &h->tokenizer;
}

/* That what a kind's function has named is in the vocabulary. */
static asc_status check_named(const asc_tokenizer *t, const char *what, int32_t id)
{
    bool growing = t->kind->collect && t->vocabulary->n == 0;
    return id < 0 || id < t->vocabulary->n || growing
               ? ASC_OK
               : asc_fail(t->ctx, ASC_ERR_ARG, "%s: its id %s is %d, expected -1 to %d", t->kind->name, what, (int)id,
                          (int)t->vocabulary->n - 1);
}

/* The tokenizer, or NULL where its kind's function failed. */
static asc_tokenizer *made(asc_tokenizer *tokenizer, asc_status status, const char *function)
{
    status = asc_reason(tokenizer->ctx, status, tokenizer->kind->name, function);
    status = status ? status : check_named(tokenizer, "eos", tokenizer->eos);
    status = status ? status : check_named(tokenizer, "unknown", tokenizer->unknown);
    if (status) {
        asc_tokenizer_free(tokenizer);
        return NULL;
    }
    return tokenizer;
}

asc_tokenizer *asc_tokenizer_new(asc_ctx *ctx, const char *spec)
{
    if (ASC_NEED(ctx, "tokenizer_new: spec", spec)) {
        return NULL;
    }
    const asc_tokenizer_kind *kind = asc_tokenizer_kind_find(ctx, spec);
    if (!kind) {
        refuse(ctx, spec);
        return NULL;
    }
    const char *colon = strchr(spec, ':'), *argument = colon && colon[1] ? colon + 1 : NULL;
    bool needed = kind->argument && *kind->argument != '[';
    if ((colon && !argument) || (argument && !kind->argument) || (!argument && needed)) {
        char list[400];
        asc_fail_on(ctx, ASC_ERR_ARG, "tokenizer", ": got '%s', expected %s", spec,
                 asc_tokenizer_list(ctx, list, sizeof list));
        return NULL;
    }
    asc_tokenizer *tokenizer = tokenizer_new(ctx, kind);
    return tokenizer ? made(tokenizer, kind->make(tokenizer, argument), "make") : NULL;
}

/* The kind of a vocabulary that was saved; NULL with the error set. */
static const asc_tokenizer_kind *saved_kind(asc_ctx *ctx, const char *name, const void *vocabulary)
{
    const asc_tokenizer_kind *kind = name && !strchr(name, ':') ? asc_tokenizer_kind_find(ctx, name) : NULL;
    if (!kind) {
        refuse(ctx, name ? name : "");
    } else if (kind->has_vocabulary && !vocabulary) {
        asc_fail_on(ctx, ASC_ERR_ARG, "tokenizer", ": no vocabulary file was given for %s", name);
        return NULL;
    }
    return kind;
}

/* A tokenizer from a text, which is closed; NULL, what failed to open, is accepted. */
static asc_tokenizer *load(asc_ctx *ctx, const asc_tokenizer_kind *kind, asc_text *text, const char *name)
{
    asc_tokenizer *tokenizer = text ? tokenizer_new(ctx, kind) : NULL;
    if (tokenizer) {
        tokenizer = made(tokenizer, kind->load(tokenizer, text, name), "load");
    }
    asc_text_close(text);
    return tokenizer;
}

asc_tokenizer *asc_tokenizer_load_with(asc_ctx *ctx, const char *name, const char *path, unsigned flags)
{
    const asc_tokenizer_kind *kind = saved_kind(ctx, name, path);
    if (!kind || !kind->has_vocabulary) {
        return kind ? asc_tokenizer_new(ctx, name) : NULL;
    }
    return load(ctx, kind, asc_text_open(ctx, path, flags), path);
}

asc_tokenizer *asc_tokenizer_load(asc_ctx *ctx, const char *name, const char *path)
{
    return ASC_NEED(ctx, "tokenizer_load: name", name) ? NULL : asc_tokenizer_load_with(ctx, name, path, 0);
}

asc_tokenizer *asc_tokenizer_parse(asc_ctx *ctx, const char *name, const char *source, const char *vocabulary,
                                   size_t bytes)
{
    if (ASC_NEED(ctx, "tokenizer_parse: name source", name, source)) {
        return NULL;
    }
    const asc_tokenizer_kind *kind = saved_kind(ctx, name, vocabulary);
    if (!kind || !kind->has_vocabulary) {
        return kind ? asc_tokenizer_new(ctx, name) : NULL;
    }
    return load(ctx, kind, asc_text_open_memory(ctx, source, vocabulary, bytes, 0), source);
}

void asc_tokenizer_free(asc_tokenizer *tokenizer)
{
    if (tokenizer) {
        const asc_tokenizer_kind *kind = tokenizer->kind;
        if (kind->clear) {
            kind->clear(tokenizer);
        }
        asc_strings_free(tokenizer->vocabulary);
        asc_free(tokenizer->ctx, tokenizer, sizeof(holder) + kind->size);
    }
}

/* ---- saving ---- */

static asc_status save_lines(const asc_tokenizer *tokenizer, asc_sink *sink)
{
    asc_status status = ASC_OK;
    for (int32_t id = 0; id < tokenizer->vocabulary->n && !status; id++) {
        size_t n;
        const char *piece = asc_strings_at(tokenizer->vocabulary, id, &n);
        status = asc_sink_put(sink, piece, n);
        status = status ? status : asc_sink_put(sink, "\n", 1);
    }
    return status;
}

char *asc_tokenizer_text(const asc_tokenizer *tokenizer, size_t *bytes, size_t *capacity)
{
    if (ASC_NEED(tokenizer ? tokenizer->ctx : NULL, "tokenizer_text: bytes capacity", bytes, capacity)) {
        return NULL;
    }
    *bytes = *capacity = 0;
    asc_sink sink = {.ctx = tokenizer->ctx};
    const asc_tokenizer_kind *kind = tokenizer->kind;
    asc_status status = ASC_OK;
    if (kind->has_vocabulary) {
        status = kind->save ? asc_reason(sink.ctx, kind->save(tokenizer, &sink), kind->name, "save")
                            : save_lines(tokenizer, &sink);
    }
    status = status ? status : asc_sink_put(&sink, "", 1);
    if (status) {
        asc_free(sink.ctx, sink.bytes, sink.capacity);
        return NULL;
    }
    *bytes = sink.n - 1;
    *capacity = sink.capacity;
    return sink.bytes;
}

asc_status asc_tokenizer_save(const asc_tokenizer *tokenizer, const char *path)
{
    asc_status status = ASC_NEED(tokenizer ? tokenizer->ctx : NULL, "tokenizer_save: path", path);
    if (status) {
        return status;
    }
    asc_ctx *ctx = tokenizer->ctx;
    if (!tokenizer->kind->has_vocabulary) {
        return ASC_OK;
    }
    size_t bytes, capacity;
    char *text = asc_tokenizer_text(tokenizer, &bytes, &capacity);
    status = text ? asc_file_write_atomic(ctx, path, text, bytes) : asc_error(ctx);
    asc_free(ctx, text, capacity);
    return status;
}
