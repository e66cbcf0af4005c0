/* tools/open.c: a model with the text that it is to be evaluated on. */
#include "tools/open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/cli.h"
#include "tools/nli/nli.h"
#include "tools/progress.h"

asc_split_kind open_kind(const char *name)
{
    asc_split_kind kind = ASC_SPLIT_TRAIN;
    while (kind < ASC_SPLIT_TEST && strcmp(name, asc_split_name(kind)) != 0) {
        kind++;
    }
    return kind;
}

/* What the spec of a folder is with these classes (or NULL); new, NULL without memory. */
static char *folder_spec(const char *folder, const char *classes)
{
    char *spec = NULL;
    size_t n;
    FILE *out = open_memstream(&spec, &n);
    if (out) {
        fprintf(out, "%s%s%s", folder, classes ? ":classes=" : "", classes ? classes : "");
        fclose(out);
    }
    return spec;
}

/* Pairs with these classes, or NULL. A file of them is all of it the split that is asked for. */
static void reopen_pairs(asc_ctx *ctx, opened *o, const char *data, bool folder, const char *classes)
{
    char *spec = folder ? folder_spec(data, classes) : nli_spec(data, data, data, classes);
    asc_dataset_free(o->data);
    o->data = asc_dataset_open(ctx, spec);
    free(spec);
}

/* Pairs have the model's classes, in its order; where it names none, in the order that they have in a training. */
static void open_pairs(asc_ctx *ctx, opened *o, const char *data)
{
    struct stat s;
    bool there = asc_lm_pair_inputs(o->model->lm).pairs && stat(data, &s) == 0,
         folder = there && S_ISDIR(s.st_mode) && asc_dataset_class(o->data, 0);
    if (!folder && !(there && S_ISREG(s.st_mode))) {
        return;
    }
    char *classes = nli_classes_of(o->model);
    reopen_pairs(ctx, o, data, folder, classes);
    bool three = !classes && asc_lm_classes(o->model->lm) == 3;
    const char *usual = three ? nli_usual_classes(o->data) : NULL;
    if (usual) {
        reopen_pairs(ctx, o, data, folder, usual);
    } else if (!classes && o->data) {
        cli_message("the model names no classes: those of the data, as sorted, are taken for its own");
    }
    free(classes);
}

opened open_model(asc_ctx *ctx, const char *path, const char *data, const char *tokenizer)
{
    opened o = {.data = data ? asc_dataset_open(ctx, data) : NULL, .its_own = !data};
    o.model = asc_error(ctx) == ASC_OK ? asc_model_open(ctx, path, tokenizer, o.data) : NULL;
    if (o.model && !data && !o.model->data) {
        asc_fail(ctx, ASC_ERR_ARG, "--data is missing: %s is in no run", path);
    } else if (o.model && !data) {
        o.data = cli_open_run_data(ctx, o.model);
    }
    if (o.model && data) {
        open_pairs(ctx, &o, data);
    }
    if (o.model && o.data) {
        asc_model_check_classes(ctx, o.model, o.data);
    }
    return o;
}

asc_status open_precision(asc_ctx *ctx, const asc_model *model, const char *given)
{
    if (asc_error(ctx) || !model) {
        return asc_error(ctx);
    }
    asc_precision precision = !given                       ? model->precision
                              : strcmp(given, "bf16") == 0 ? ASC_PRECISION_BF16
                                                           : ASC_PRECISION_F32;
    asc_dtype dtype = asc_dtype_of(asc_params_at(asc_lm_params(model->lm), 0));
    if (precision == ASC_PRECISION_BF16 && dtype == ASC_F64) {
        return asc_fail_on(ctx, ASC_ERR_ARG, "precision",
                           " is bf16, but the model is of float64, whose products are "
                           "not rounded: expected f32");
    }
    return asc_set_precision(ctx, precision);
}

static void load(asc_ctx *ctx, opened *o, asc_split_kind kind, bool lines)
{
    asc_split_free(ctx, o->split);
    o->split = lines ? asc_split_load_lines(o->data, kind, o->model->tokenizer)
                     : asc_split_load(o->data, kind, o->model->tokenizer);
}

asc_status open_split(asc_ctx *ctx, opened *o, asc_split_kind kind, bool lines, int64_t length)
{
    load(ctx, o, kind, lines);
    if (o->split && o->split->n_sequences > 0 && length > 0) {
        if (asc_dataset_stretch(o->data, length) == ASC_OK) {
            load(ctx, o, kind, lines);
        }
    } else if (o->split && o->its_own) {
        asc_model_check_split(ctx, o->model, kind, o->split);
    }
    if (kind == ASC_SPLIT_TEST && o->its_own && asc_error(ctx) == ASC_ERR_IO) { /* a training may do without it */
        char missing[1024];
        snprintf(missing, sizeof missing, "%s", asc_error_message(ctx));
        asc_error_clear(ctx);
        asc_fail(ctx, ASC_ERR_IO, "%s; --split valid takes another split", missing);
    }
    return asc_error(ctx);
}

/* ---- an encoder, and its states ---- */

asc_status open_check_encoder(asc_ctx *ctx, const char *folder, const char *vocab)
{
    char path[4096];
    struct stat s;
    if (stat(folder, &s)) {
        return asc_fail(ctx, ASC_ERR_IO, "%s: %s; expected the folder of a BERT or DistilBERT", folder,
                        strerror(errno));
    }
    snprintf(path, sizeof path, "%s/vocab.txt", folder);
    return vocab || stat(path, &s) == 0 || errno != ENOENT
               ? ASC_OK
               : asc_fail(ctx, ASC_ERR_IO, "%s: has no vocab.txt; --vocab FILE names one that lies elsewhere", folder);
}

asc_status open_vocab(asc_ctx *ctx, asc_model *model, const open_encoding *how)
{
    if (asc_error(ctx) || !(how->folder || how->vocab || how->cache)) {
        return asc_error(ctx);
    }
    if (asc_lm_pair_inputs(model->lm).states == 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "--%s: the model embeds its tokens itself, expected no encoder's",
                        how->folder ? "encoder" : how->vocab ? "vocab" : "cache");
    }
    asc_tokenizer *own = model->tokenizer;
    asc_tokenizer *given = how->vocab ? asc_tokenizer_load(ctx, asc_tokenizer_name(own), how->vocab) : NULL;
    if (given) {
        model->tokenizer = given;
        asc_tokenizer_free(own);
    }
    return asc_error(ctx);
}

static void show(void *user, double done)
{
    progress_part(user, "encoding the sentences, once", done);
}

static void say(void *user, const char *text)
{
    progress_clear(user);
    cli_message("%s", text);
}

asc_status open_features(asc_ctx *ctx, opened *o, asc_split_kind kind, const open_encoding *how)
{
    if (asc_error(ctx) || asc_lm_pair_inputs(o->model->lm).states == 0) {
        return asc_error(ctx);
    }
    char home[4096];
    progress bar = progress_start();
    size_t n = asc_cache_home(home, sizeof home);
    asc_features_options options = {.cache = how->cache ? how->cache : n < sizeof home ? home : NULL,
                                    .progress = show, .say = say, .user = &bar};
    if (!o->encoder) {
        o->encoder = asc_model_encoder(ctx, o->model, how->folder, how->vocab);
    }
    asc_features_free(o->features);
    o->features = o->encoder ? asc_pair_features(o->model->lm, o->encoder, o->data, kind, o->model->tokenizer, &options)
                             : NULL;
    progress_clear(&bar);
    return asc_error(ctx);
}

void open_close(asc_ctx *ctx, opened *o)
{
    asc_features_free(o->features);
    asc_encoder_free(o->encoder);
    asc_split_free(ctx, o->split);
    asc_model_free(ctx, o->model);
    asc_dataset_free(o->data);
}
