/* train/experiment/check.c: whether the settings of all runs are right, before any is trained. */
#include <stdio.h>
#include <string.h>

#include <ascgrad/nn.h>

#include "tensor/ctx.h"
#include "tensor/need.h"
#include "train/experiment/experiment.h"
#include "train/trainer.h"

enum { SOME_VOCAB = 64 };

/* Data sets that were opened, each with its tokenizers and the sizes of their vocabularies. */
typedef json_t opened;

static asc_status put_all(asc_settings *s, const json_t *object, asc_source from)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        if (strcmp(key, "preset") != 0 && asc_settings_put(s, key, value, from)) {
            return ASC_ERR_ARG;
        }
    }
    return ASC_OK;
}

/* What a system or a grid says is said by hand: a setting that no layer of its model knows is an error there. */
static asc_settings *make_settings(const asc_experiment *e, const asc_plan_run *r, const asc_plan_run *tuned)
{
    asc_settings *s = asc_settings_new(e->ctx);
    json_t *base = json_deep_copy(r->base), *own = asc_plan_own(e, r, tuned);
    const json_t *preset = json_object_get(own, "preset");
    preset = preset ? preset : json_object_get(base, "preset");
    if (s && own && asc_lay(e->ctx, base, own) == ASC_OK) {
        const char *key;
        json_t *ignored;
        json_object_foreach(own, key, ignored) {
            json_object_del(base, key);
        }
        if (!preset || asc_settings_preset(s, json_string_value(preset)) == ASC_OK) {
            (void)(put_all(s, base, ASC_SOURCE_FILE) || put_all(s, own, ASC_SOURCE_HAND));
        }
    }
    json_decref(own);
    json_decref(base);
    return s;
}

/* The size of the vocabulary, or some size where the training split is to say; 0 with the error set. */
static int64_t open_data(asc_ctx *ctx, const asc_settings *s, opened *o)
{
    const asc_values *v = &s->values;
    if (!*v->data) {
        asc_fail_on(ctx, ASC_ERR_ARG, "data", " is missing");
        return 0;
    }
    json_t *of_data = json_object_get(o, v->data), *known = json_object_get(of_data, v->tokenizer);
    if (known) {
        return json_integer_value(known);
    }
    asc_dataset *data = asc_dataset_open(ctx, v->data);
    asc_tokenizer *tokenizer = data ? asc_tokenizer_new(ctx, v->tokenizer) : NULL;
    int64_t size = asc_tokenizer_size(tokenizer);
    asc_tokenizer_free(tokenizer);
    asc_dataset_free(data);
    size = asc_error(ctx) ? 0 : size > SOME_VOCAB ? size : SOME_VOCAB;
    if (!of_data) {
        json_object_set_new(o, v->data, json_object());
    }
    json_object_set_new(json_object_get(o, v->data), v->tokenizer, json_integer(size));
    return size;
}

/* As many as the data name before they are read; else two, which any classifier has. */
static int64_t count_classes(asc_ctx *ctx, const asc_settings *s)
{
    asc_dataset *data = asc_settings_classify(s) ? asc_dataset_open(ctx, s->values.data) : NULL;
    int32_t n = 0;
    while (asc_dataset_class(data, n)) {
        n++;
    }
    asc_dataset_free(data);
    return asc_settings_classify(s) && n < 2 ? 2 : n;
}

static asc_status check_model(asc_ctx *ctx, const asc_settings *s, int64_t vocab)
{
    const char *init = s->values.init;
    asc_model *from = *init ? asc_model_open(ctx, init, NULL, NULL) : NULL;
    if (asc_error(ctx)) {
        return asc_error(ctx);
    }
    bool given = from || json_object_get(s->model, "vocab");
    int64_t size = given || vocab < SOME_VOCAB ? vocab : SOME_VOCAB; /* any will do, and a small one is quick */
    asc_model_sizes sizes = {.vocab = size, .classes = count_classes(ctx, s),
                             .states = *s->values.encoder ? 1 : 0}; /* of any width */
    char *config = asc_settings_model(s, from ? asc_lm_config(from->lm) : NULL, &sizes);
    asc_lm *lm = config ? asc_lm_new(ctx, config, asc_settings_dtype(s), 1) : NULL;
    if (lm) {
        asc_foresee_all(s, lm);
    }
    asc_lm_free(lm);
    asc_text_drop(config);
    asc_model_free(ctx, from);
    return asc_error(ctx);
}

static asc_status check_run(const asc_experiment *e, const asc_plan_run *r, const asc_plan_run *tuned, opened *o)
{
    asc_settings *s = make_settings(e, r, tuned);
    int64_t vocab = s && !asc_error(e->ctx) ? open_data(e->ctx, s, o) : 0;
    if (vocab > 0) {
        check_model(e->ctx, s, vocab);
    }
    asc_settings_free(s);
    return asc_error(e->ctx);
}

/* A run that waits for the tuning, with each of the values that this may choose. */
static asc_status check_tuned(const asc_experiment *e, const asc_plan_run *r, opened *o)
{
    asc_status status = ASC_OK;
    for (int i = 0; !status && i < e->n_tuning; i++) {
        const asc_plan_run *tuned = &e->runs[i];
        status = tuned->info.system == r->info.system ? check_run(e, r, tuned, o) : ASC_OK;
        if (status) {
            char where[160];
            snprintf(where, sizeof where, "with what %.120s tries", tuned->info.name);
            asc_error_place(e->ctx, "");
            asc_error_extend(e->ctx, where, "");
        }
    }
    return status;
}

asc_status asc_experiment_check(asc_experiment *e)
{
    asc_status status = ASC_NEED(e ? e->ctx : NULL, "experiment_check: experiment", e);
    opened *o = json_object();
    for (int i = 0; !status && i < e->n; i++) {
        const asc_plan_run *r = &e->runs[i];
        bool waits = e->n_tuning > 0 && !r->info.tuning;
        status = !r->first ? ASC_OK : waits ? check_tuned(e, r, o) : check_run(e, r, NULL, o);
        if (status) {
            char where[300];
            bool several = asc_experiment_key(e, 0) || e->n_tuning > 0;
            snprintf(where, sizeof where, "system %.120s%s%.120s", asc_experiment_system(e, r->info.system),
                     several ? ": run " : "", several ? r->info.name : "");
            asc_error_place(e->ctx, "");
            asc_error_extend(e->ctx, where, "");
        }
    }
    json_decref(o);
    return status;
}
