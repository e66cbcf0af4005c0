/* train/open_encoder.c: what a training of a model of pairs has beside its data: the frozen encoder, what that makes of
 * the sentences, the weights of their classes. */
#include <stdio.h>
#include <string.h>

#include <ascgrad/pairs.h>
#include <program/settings.h>

#include "tensor/ctx.h"
#include "tensor/locale.h"
#include "train/encoder/features.h"
#include "train/trainer.h"

/* ---- the encoder ---- */

/* The encoder that the run was begun with had the same weights. */
static asc_status check_fingerprint(const asc_trainer *t)
{
    const char *then = json_string_value(json_object_get(t->settings->checksums, "encoder"));
    const char *now = asc_encoder_fingerprint(t->encoder);
    if (then && strcmp(then, now) != 0) {
        return asc_fail(t->ctx, ASC_ERR_FORMAT, "%s: has changed: checksum %s, but %s was made with %s",
                        t->settings->values.encoder, now, t->folder.path, then);
    }
    return ASC_OK;
}

asc_status asc_trainer_open_encoder(asc_trainer *t, bool resume)
{
    const asc_values *v = &t->settings->values;
    if (!*v->encoder) {
        return ASC_OK;
    }
    if (!asc_settings_pairs(t->settings)) {
        return asc_fail_on(t->ctx, ASC_ERR_ARG, "encoder", ": is for models of pairs, expected head pairs with it");
    }
    const char *colon = strchr(v->tokenizer, ':'), *vocab = resume ? t->folder.vocab : colon ? colon + 1 : NULL;
    t->encoder = asc_encoder_open(t->ctx, v->encoder, vocab);
    return t->encoder && resume ? check_fingerprint(t) : asc_error(t->ctx);
}

void asc_trainer_close_encoder(asc_trainer *t)
{
    asc_features_free(t->features[ASC_SPLIT_TRAIN]);
    asc_features_free(t->features[ASC_SPLIT_VALID]);
    asc_encoder_free(t->encoder);
}

/* ---- features ---- */

static void tell(void *user, double done)
{
    const asc_trainer *t = user;
    if (t->hooks.encoding) {
        t->hooks.encoding(t->hooks.user, done);
    }
}

static void pass_on(void *user, const char *text)
{
    asc_trainer_say(user, text);
}

static asc_features *make_features(asc_trainer *t, asc_split_kind kind)
{
    const char *cache = t->settings->values.cache;
    char home[4096];
    if (!*cache && asc_cache_home(home, sizeof home) < sizeof home) {
        cache = home;
    }
    const asc_features_options options = {.cache = cache, .progress = tell, .say = pass_on, .user = t};
    return asc_pair_features(t->lm, t->encoder, t->data, kind, t->tokenizer, &options);
}

/* ---- classes ---- */

/* Of a class that is there n times among N, of C: N/(C n); 0 where it is not. */
static asc_status weigh_classes(asc_trainer *t)
{
    const asc_split *s = t->train;
    int64_t C = asc_lm_classes(t->lm);
    double *weights = asc_alloc(t->ctx, (size_t)C * sizeof *weights);
    for (int64_t c = 0; weights && c < C; c++) {
        int64_t n = 0;
        for (int64_t i = 0; i < s->n_sequences; i++) {
            n += s->labels[i] == c;
        }
        weights[c] = n > 0 ? (double)s->n_sequences / ((double)C * (double)n) : 0;
    }
    if (weights) {
        asc_lm_set_class_weights(t->lm, weights);
    }
    asc_free(t->ctx, weights, (size_t)C * sizeof *weights);
    return asc_error(t->ctx);
}

/* How often each class is there, where that is not equally often: what a model would learn of nothing else. */
static void say_classes(const asc_trainer *t)
{
    const asc_split *s = t->train;
    char text[600] = "", *at = text;
    int64_t least = s->n_sequences, most = 0;
    for (int32_t c = 0; c < s->classes && at < text + sizeof text - 100; c++) {
        int64_t n = 0;
        for (int64_t i = 0; i < s->n_sequences; i++) {
            n += s->labels[i] == c;
        }
        least = n < least ? n : least;
        most = n > most ? n : most;
        at += asc_snprintf(at, 100, "%s%.40s %.1f %%", c ? ", " : "", asc_dataset_class(t->data, c),
                           100 * (double)n / (double)s->n_sequences);
    }
    if ((double)most > 1.1 * (double)least) {
        char line[800];
        snprintf(line, sizeof line, "the classes of the training split are not equally many: %s%s", text,
                 t->settings->values.class_weights ? "; they are weighted" : "");
        asc_trainer_say(t, line);
    }
}

/* Where one rank has the encoder, the others get what it makes. */
static void open_features(asc_trainer *t)
{
    for (int kind = ASC_SPLIT_TRAIN; kind <= ASC_SPLIT_VALID && !asc_error(t->ctx); kind++) {
        t->features[kind] = t->encoder ? make_features(t, (asc_split_kind)kind) : NULL;
        if (t->sends_data) {
            t->features[kind] = asc_features_share(t->ctx, t->features[kind]);
        }
    }
}

asc_status asc_trainer_open_features(asc_trainer *t)
{
    if (t->sends_data ? asc_comm_agree(t->ctx) : asc_error(t->ctx)) {
        return asc_error(t->ctx);
    }
    bool classes = asc_lm_classes(t->lm) > 0;
    if (t->settings->values.class_weights && !classes) {
        return asc_fail_on(t->ctx, ASC_ERR_ARG, "class_weights", " is balanced, and the model has no classes");
    }
    if (*t->settings->values.encoder) {
        open_features(t);
    }
    if (asc_error(t->ctx) || !classes) {
        return asc_error(t->ctx);
    }
    if (asc_lm_pair_inputs(t->lm).pairs && asc_trainer_leads(t)) {
        say_classes(t);
    }
    return t->settings->values.class_weights ? weigh_classes(t) : ASC_OK;
}
