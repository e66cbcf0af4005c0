/* tools/encode/print.c: sentences as JSON with their states, and as a table for people. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/ops.h>

#include "tools/columns.h"
#include "tools/encode/encode.h"

/* ---- JSON ---- */

typedef struct printer {
    encoding *e;
    json_t *list;   /* of sentences, in their order */
    float *vectors; /* of a table: [n, dim] */
} printer;

static json_t *list_ids(const int32_t *ids, int64_t n)
{
    json_t *list = json_array();
    for (int64_t t = 0; t < n; t++) {
        json_array_append_new(list, json_integer(ids[t]));
    }
    return list;
}

static json_t *list_row(const float *row, int64_t n)
{
    json_t *list = json_array();
    for (int64_t k = 0; k < n; k++) {
        json_array_append_new(list, cli_json_real(row[k]));
    }
    return list;
}

static asc_status take_json(void *user, int64_t i, int64_t n, const float *rows)
{
    printer *p = user;
    int64_t dim = asc_encoder_dim(p->e->encoder), tokens;
    const int32_t *ids = asc_sentences_at(p->e->sentences, i, &tokens, NULL);
    bool one = p->e->pooling.kind == ASC_POOLING_MEAN || p->e->pooling.kind == ASC_POOLING_CLS;
    json_t *states = one ? list_row(rows, dim) : json_array();
    for (int64_t t = 0; !one && t < n; t++) {
        json_array_append_new(states, list_row(rows + t * dim, dim));
    }
    json_array_set_new(p->list, (size_t)i,
                       json_pack("{s:o, s:o}", "tokens", list_ids(ids, tokens), one ? "state" : "states", states));
    encode_progress(p->e, tokens);
    return ASC_OK;
}

json_t *encode_to_json(encoding *e)
{
    printer p = {.e = e, .list = json_array()};
    for (int64_t i = 0; i < asc_sentences_count(e->sentences); i++) {
        json_array_append_new(p.list, json_null());
    }
    if (asc_encoder_encode(e->encoder, e->sentences, &e->pooling, take_json, &p)) {
        json_decref(p.list);
        return NULL;
    }
    return json_pack("{s:s, s:I, s:s, s:o}", "encoder", asc_encoder_type(e->encoder), "dim",
                     (json_int_t)asc_encoder_dim(e->encoder), "pool", asc_pooling_name(e->pooling.kind), "sentences",
                     p.list);
}

/* ---- the table ---- */

enum { TEXT = 400 };

static asc_status take_vector(void *user, int64_t i, int64_t n, const float *rows)
{
    printer *p = user;
    int64_t dim = asc_encoder_dim(p->e->encoder), tokens;
    (void)n;
    memcpy(p->vectors + i * dim, rows, (size_t)dim * sizeof *rows);
    asc_sentences_at(p->e->sentences, i, &tokens, NULL);
    encode_progress(p->e, tokens);
    return ASC_OK;
}

/* The tokens as the vocabulary spells them, as many as there is room for. */
static void spell(const encoding *e, int64_t i, char text[TEXT])
{
    const asc_tokenizer *tokenizer = asc_encoder_tokenizer(e->encoder);
    int64_t tokens;
    const int32_t *ids = asc_sentences_at(e->sentences, i, &tokens, NULL);
    size_t at = 0;
    for (int64_t t = 0; t < tokens; t++) {
        size_t n;
        const char *piece = asc_tokenizer_piece(tokenizer, ids[t], &n);
        if (at + n + sizeof " ..." >= TEXT) {
            snprintf(text + at, TEXT - at, " ...");
            break;
        }
        at += (size_t)snprintf(text + at, TEXT - at, "%s%.*s", t > 0 ? " " : "", (int)n, piece ? piece : "");
    }
}

/* Which other sentence is nearest to i, by the cosines [n, n]; -1: there is none. */
static int64_t nearest(const float *cosine, int64_t n, int64_t i)
{
    int64_t best = -1;
    for (int64_t j = 0; j < n; j++) {
        if (j != i && (best < 0 || cosine[i * n + j] > cosine[i * n + best])) {
            best = j;
        }
    }
    return best;
}

static void print_lines(const encoding *e, const float *cosine, int64_t n)
{
    cli_print("%8s%8s%9s%8s  %s\n", "sentence", "tokens", "nearest", "cosine", "as tokens");
    for (int64_t i = 0; i < n; i++) {
        char text[TEXT];
        int64_t tokens, j = nearest(cosine, n, i);
        asc_sentences_at(e->sentences, i, &tokens, NULL);
        spell(e, i, text);
        char *clean = columns_clean(text);
        cli_print("%8lld%8lld", (long long)i + 1, (long long)tokens);
        if (j < 0) {
            cli_print("%9s%8s", "-", "-");
        } else {
            cli_print("%9lld%8.3f", (long long)j + 1, (double)cosine[i * n + j]);
        }
        cli_print("  %s\n", clean ? clean : "");
        free(clean);
    }
}

asc_status encode_to_table(encoding *e)
{
    asc_ctx *ctx = e->ctx;
    int64_t n = asc_sentences_count(e->sentences), dim = asc_encoder_dim(e->encoder);
    asc_tensor vectors = asc_empty(ctx, ASC_F32, ASC_SHAPE(n, dim));
    printer p = {.e = e, .vectors = asc_data_mut(vectors)};
    const asc_pooling_options pooling = {e->pooling.kind == ASC_POOLING_CLS ? ASC_POOLING_CLS : ASC_POOLING_MEAN, 0, 0,
                                         false};
    asc_status status = asc_error(ctx);
    if (!status) {
        status = asc_encoder_encode(e->encoder, e->sentences, &pooling, take_vector, &p);
    }
    asc_tensor units = status ? asc_null() : asc_l2_normalize(ctx, vectors);
    asc_tensor cosine = asc_matmul_transposed(ctx, units, false, units, true);
    progress_clear(&e->bar);
    if (!status && asc_error(ctx) == ASC_OK) {
        print_lines(e, asc_data(cosine), n);
    }
    asc_release(cosine);
    asc_release(units);
    asc_release(vectors);
    return asc_error(ctx);
}
