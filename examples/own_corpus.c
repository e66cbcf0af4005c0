/* examples/own_corpus.c: a tokenizer and a data source of one's own, in an ordinary training: sums like "7+5=12", of
 * which the result alone is to be learned.
 *
 *   cc own_corpus.c $(pkg-config --cflags --libs ascgrad) -lm && ./a.out RUN */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/ascgrad.h>

/* ---- the tokenizer: a token is a character out of a fixed set ---- */

static const char characters[] = "\n0123456789+=";

static asc_status make(asc_tokenizer *t, const char *argument)
{
    (void)argument; /* there is none */
    for (const char *c = characters; *c; c++) {
        if (asc_vocabulary_add(t, c, 1) < 0) {
            return ASC_ERR_MEMORY;
        }
    }
    t->eos = 0;
    return ASC_OK;
}

static asc_status encode(const asc_tokenizer *t, const char *text, size_t bytes, unsigned flags, asc_ids *ids)
{
    (void)flags;
    asc_status status = ASC_OK;
    for (size_t i = 0; i < bytes && status == ASC_OK; i++) {
        int32_t id = asc_vocabulary_find(t, text + i, 1);
        status = id < 0 ? asc_fail(t->ctx, ASC_ERR_ARG, "sums: got '%c', expected digits, + and =", text[i])
                        : asc_ids_push(t->ctx, ids, id);
    }
    return status;
}

static asc_status decode(asc_decoder *d, int32_t id, const char *piece, size_t bytes)
{
    (void)id;
    return asc_decoder_put(d, piece, bytes);
}

static const asc_tokenizer_kind digits = {
    .abi = ASC_CORPUS_ABI, .name = "digits", .make = make, .encode = encode, .decode = decode,
};

/* ---- the source: "sums:LINES", each a sequence of its own, which is then a block ---- */

typedef struct sums {
    int lines;
} sums;

typedef struct reader {
    int piece; /* two a line: the question and the answer */
    uint32_t random;
    char text[16];
} reader;

static asc_status open_sums(asc_dataset *data, const char *argument)
{
    sums *s = data->self;
    s->lines = argument ? atoi(argument) : 0;
    return s->lines > 0 ? ASC_OK : asc_fail(data->ctx, ASC_ERR_ARG, "%s: expected sums:LINES", data->spec);
}

static asc_status begin(asc_source_reader *r)
{
    ((reader *)r->self)->random = (uint32_t)r->split + 1; /* each split has its own, the same every time */
    return ASC_OK;
}

static asc_status next(asc_source_reader *r, asc_text_piece *piece)
{
    reader *at = r->self;
    if (at->piece == 2 * ((sums *)r->data->self)->lines) {
        return ASC_OK;
    }
    piece->given = at->piece % 2 == 0;
    piece->last = !piece->given;
    if (piece->given) {
        at->random = at->random * 1664525 + 1013904223;
    }
    int a = (int)(at->random >> 8) % 10, b = (int)(at->random >> 20) % 10;
    int n = piece->given ? snprintf(at->text, sizeof at->text, "%d+%d=", a, b)
                         : snprintf(at->text, sizeof at->text, "%02d\n", a + b);
    piece->text = at->text;
    piece->bytes = (size_t)n;
    at->piece++;
    return ASC_OK;
}

static const asc_data_source source = {
    .abi = ASC_CORPUS_ABI, .name = "sums", .spec = "sums:LINES", .sequences = true, .size = sizeof(sums),
    .reader_size = sizeof(reader), .open = open_sums, .begin = begin, .next = next,
};

int main(int argc, char **argv)
{
    static const char *const settings[][2] = {
        {"model", "transformer"}, {"data", "sums:3000"}, {"tokenizer", "digits"}, {"layers", "2"}, {"dim", "32"},
        {"heads", "4"},           {"batch", "64"},       {"steps", "400"},        {"lr", "0.003"}, {"dropout", "0"},
    };
    asc_ctx *ctx = asc_ctx_new(NULL);
    asc_tokenizer_register(ctx, &digits);
    asc_data_source_register(ctx, &source);
    asc_settings *s = asc_settings_new(ctx);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        asc_settings_set(s, settings[i][0], settings[i][1]);
    }
    asc_train_result r;
    if (asc_train(ctx, s, argc > 1 ? argv[1] : "runs/sums", false, NULL, &r) == ASC_OK) {
        printf("perplexity of the results: %.3f\n", r.best_ppl);
    }
    int failed = asc_error(ctx) ? fprintf(stderr, "own_corpus: %s\n", asc_error_message(ctx)), 1 : 0;
    asc_settings_free(s);
    asc_ctx_free(ctx);
    return failed;
}
