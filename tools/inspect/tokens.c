/* tools/inspect/tokens.c: the text that is looked at, as ids and as labels. */
#include <string.h>

#include "tools/commands.h"
#include "tools/inspect/inspect.h"

enum { LABEL_BYTES = 64 };

static asc_status encode_lines(inspection *in, asc_text *lines, asc_ids *ids)
{
    const char *line;
    size_t n;
    while (asc_text_next(lines, &line, &n) == ASC_OK && line) {
        if (asc_tokenizer_encode(in->model->tokenizer, line, n, 0, ids)) {
            break;
        }
    }
    return asc_error(in->ctx);
}

/* The tokens of --text; "-" is standard input. */
static asc_status encode_text(inspection *in, const char *text, asc_ids *ids)
{
    asc_text *lines = strcmp(text, "-") == 0 ? asc_text_open(in->ctx, text, 0)
                                             : asc_text_open_memory(in->ctx, "--text", text, strlen(text), 0);
    asc_status status = lines ? encode_lines(in, lines, ids) : asc_error(in->ctx);
    asc_text_close(lines);
    return status;
}

/* The first tokens of the validation split, written to `to`; how many there are. */
static int64_t take_from_split(inspection *in, const char *spec, int64_t *to, int64_t limit)
{
    if (!spec && !in->model->data) {
        asc_fail(in->ctx, ASC_ERR_ARG,
                 "--text is missing: the model is in no run, whose validation split could stand for it");
        return 0;
    }
    asc_dataset *set = spec ? asc_dataset_open(in->ctx, spec) : cli_open_run_data(in->ctx, in->model);
    asc_split *split = set ? asc_split_load(set, ASC_SPLIT_VALID, in->model->tokenizer) : NULL;
    int64_t n = !split ? 0 : split->n_tokens < limit ? split->n_tokens : limit;
    for (int64_t i = 0; i < n; i++) {
        to[i] = split->tokens[i];
    }
    asc_split_free(in->ctx, split);
    asc_dataset_free(set);
    if (n == 0 && !asc_error(in->ctx)) {
        asc_fail(in->ctx, ASC_ERR_ARG, "the validation split has no token to look at");
    }
    return n;
}

/* The label of a token, as it can be read: control characters, and bytes that are no character or a part of one, as
 * \x0a; a space by itself by its sign. Long ones are cut, between characters. */
static void put_label(const asc_tokenizer *tokenizer, int32_t id, char label[LABEL_BYTES])
{
    size_t n, at = 0, i = 0;
    const char *piece = asc_tokenizer_piece(tokenizer, id, &n);
    if (n == 1 && *piece == ' ') {
        strcpy(label, "\xe2\x90\xa3");
        return;
    }
    while (i < n && at + sizeof "\\x00" < LABEL_BYTES) {
        unsigned char c = (unsigned char)piece[i];
        size_t length = cli_utf8_length(piece + i, n - i);
        if (c < ' ' || c == 0x7f || length == 0) {
            at += (size_t)snprintf(label + at, sizeof "\\x00", "\\x%02x", c);
            i++;
        } else {
            memcpy(label + at, piece + i, length);
            at += length;
            i += length;
        }
    }
    label[at] = 0;
}

static asc_status make_labels(inspection *in, const int64_t *ids, int64_t n)
{
    char(*labels)[LABEL_BYTES] = asc_alloc(in->ctx, (size_t)n * LABEL_BYTES);
    const char **texts = asc_alloc(in->ctx, (size_t)n * sizeof *texts);
    in->tokens = (figure_labels){texts, n};
    for (int64_t i = 0; labels && texts && i < n; i++) {
        put_label(in->model->tokenizer, (int32_t)ids[i], labels[i]);
        texts[i] = labels[i];
    }
    if (!labels || !texts) {
        asc_free(in->ctx, labels, (size_t)n * LABEL_BYTES);
        asc_free(in->ctx, texts, (size_t)n * sizeof *texts);
        in->tokens = (figure_labels){NULL, 0};
    }
    return asc_error(in->ctx);
}

void inspect_free_text(inspection *in)
{
    if (in->tokens.texts) {
        asc_free(in->ctx, (char *)in->tokens.texts[0], (size_t)in->tokens.n * LABEL_BYTES);
        asc_free(in->ctx, (void *)in->tokens.texts, (size_t)in->tokens.n * sizeof *in->tokens.texts);
    }
}

/* Models with learned positions have no more of them than their block. */
static int64_t most_tokens(const inspection *in)
{
    return json_is_true(json_object_get(in->config, "pos_emb")) ? asc_lm_block(in->model->lm) : INT64_MAX;
}

/* How many of `limit` tokens of the split can be looked at. */
static int64_t cut_length(const inspection *in, int64_t limit)
{
    int64_t most = most_tokens(in);
    if (limit > most && cli_given_option("tokens", 6)) {
        cli_message("--tokens: got %lld, but the model's block is %lld, and no longer text has positions",
                    (long long)limit, (long long)most);
    }
    return limit < most ? limit : most;
}

static asc_status check_length(inspection *in, int64_t n)
{
    int64_t block = most_tokens(in);
    if (n == 0) {
        return asc_fail(in->ctx, ASC_ERR_ARG, "--text: there is no token in it");
    }
    if (n > block) {
        return asc_fail(in->ctx, ASC_ERR_ARG, "--text: it has %lld tokens, but the model's block is %lld", (long long)n,
                        (long long)block);
    }
    return ASC_OK;
}

asc_status inspect_read_text(inspection *in, const char *text, const char *data, int64_t limit)
{
    asc_ctx *ctx = in->ctx;
    asc_ids ids = {0};
    int64_t n = text ? 0 : cut_length(in, limit);
    if (text && encode_text(in, text, &ids) == ASC_OK && check_length(in, (int64_t)ids.n) == ASC_OK) {
        n = (int64_t)ids.n;
    }
    size_t bytes = (size_t)n * sizeof(int64_t);
    int64_t *list = asc_error(ctx) ? NULL : asc_alloc(ctx, bytes);
    for (int64_t i = 0; list && text && i < n; i++) {
        list[i] = ids.data[i];
    }
    int64_t found = list && !text ? take_from_split(in, data, list, n) : n;
    if (list && !asc_error(ctx)) {
        in->ids = asc_from(ctx, ASC_I64, list, 2, (int64_t[]){1, found});
        make_labels(in, list, found);
    }
    asc_free(ctx, list, bytes);
    asc_ids_free(ctx, &ids);
    return asc_error(ctx);
}
