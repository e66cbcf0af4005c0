/* train/encoder/encoder.c: an encoder opened from a folder, and what it tells of itself. */
#include "train/encoder/encoder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/file.h"
#include "tensor/ctx.h"
#include "tensor/need.h"
#include "train/path.h"

/* A model may have a few words more than its vocabulary, by which its matrices are made wider: fewer than so many. */
enum { MOST_VOCAB_BYTES = 1 << 28, SPARE_WORDS = 1024 };

/* A regular file of a sensible size, so that nothing waits for a pipe, or reads a device for ever. */
static asc_status check_vocab_file(asc_ctx *ctx, const char *path)
{
    struct stat info;
    int fd = asc_file_open(ctx, path, O_RDONLY);
    if (fd < 0) {
        return asc_error(ctx);
    }
    int unknown = fstat(fd, &info), reason = errno;
    close(fd);
    if (unknown) {
        return asc_fail(ctx, ASC_ERR_IO, "%s: can't read: %s", path, strerror(reason));
    }
    if (info.st_size > MOST_VOCAB_BYTES) {
        return asc_fail(ctx, ASC_ERR_FORMAT, "%s: has %lld bytes, expected a vocabulary of at most %d", path,
                        (long long)info.st_size, (int)MOST_VOCAB_BYTES);
    }
    return ASC_OK;
}

static asc_status load_vocab(asc_encoder *e, const char *folder, const char *path)
{
    bool cased;
    if (asc_encoder_read_case(e->ctx, folder, &cased) || check_vocab_file(e->ctx, path)) {
        return asc_error(e->ctx);
    }
    e->tokenizer = asc_tokenizer_load(e->ctx, cased ? "wordpiece-cased" : "wordpiece", path);
    int64_t size = asc_tokenizer_size(e->tokenizer);
    if (e->tokenizer && (size > e->net.vocab || size <= e->net.vocab - SPARE_WORDS)) {
        return asc_fail(e->ctx, ASC_ERR_FORMAT, "%s: has %lld entries, expected the model's %lld", path,
                        (long long)size, (long long)e->net.vocab);
    }
    asc_sentences *probe = e->tokenizer ? asc_sentences_new(e->ctx, e->tokenizer, e->net.positions) : NULL;
    if (e->tokenizer && !probe) {
        asc_error_blame(e->ctx, path);
    }
    asc_sentences_free(probe);
    return asc_error(e->ctx);
}

static asc_status open_vocab(asc_encoder *e, const char *folder, const char *vocab)
{
    char *path = vocab ? asc_path_copy(e->ctx, vocab) : asc_path_join(e->ctx, folder, "vocab.txt");
    if (path) {
        load_vocab(e, folder, path);
    }
    asc_path_free(e->ctx, path);
    return asc_error(e->ctx);
}

asc_encoder *asc_encoder_open(asc_ctx *ctx, const char *folder, const char *vocab)
{
    if (ASC_NEED(ctx, "encoder_open: folder", folder) || asc_error(ctx)) {
        return NULL;
    }
    asc_encoder *e = asc_alloc(ctx, sizeof *e);
    if (!e) {
        return NULL;
    }
    *e = (asc_encoder){.ctx = ctx};
    if (asc_encoder_read_config(e, folder) || open_vocab(e, folder, vocab) || asc_encoder_read_weights(e, folder)) {
        asc_encoder_free(e);
        return NULL;
    }
    return e;
}

void asc_encoder_free(asc_encoder *e)
{
    if (e) {
        asc_encoder_clear_weights(e);
        asc_tokenizer_free(e->tokenizer);
        asc_free(e->ctx, e, sizeof *e);
    }
}

const char *asc_encoder_type(const asc_encoder *e)
{
    return !e ? "" : e->distil ? "distilbert" : "bert";
}

int64_t asc_encoder_dim(const asc_encoder *e)
{
    return e ? e->net.dim : 0;
}

int64_t asc_encoder_layers(const asc_encoder *e)
{
    return e ? e->net.layers : 0;
}

int64_t asc_encoder_longest(const asc_encoder *e)
{
    return e ? e->net.positions : 0;
}

int64_t asc_encoder_parameters(const asc_encoder *e)
{
    return e ? e->parameters : 0;
}

const asc_tokenizer *asc_encoder_tokenizer(const asc_encoder *e)
{
    return e ? e->tokenizer : NULL;
}

const char *asc_encoder_fingerprint(const asc_encoder *e)
{
    return e ? e->fingerprint : "";
}

asc_tensor asc_encoder_states(asc_encoder *e, asc_tensor tokens, asc_tensor types, asc_tensor lengths)
{
    asc_ctx *ctx = e ? e->ctx : NULL;
    if (ASC_NEED(ctx, "encoder_states: encoder", e) || asc_need_tensor(ctx, tokens, "encoder_states", "tokens")) {
        return asc_null();
    }
    return asc_encoder_net_states(ctx, &e->net, tokens, types, lengths);
}
