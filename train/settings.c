/* train/settings.c: the settings of a training: one table, from which options, files and checks all come. */
#include "train/settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(asc_values, field)
#define MUCH 1e15

/* key, argument, help, model's key, default, type, anew, least, most, where */
static const asc_train_setting table[] = {
    {"model", "M", "what mixes the positions, one of asc_mixing_at (transformer)", "mix", "transformer",
     's', false, 0, 0, 0},
    {"mixing", "M,M,...", "the same for each layer: names or their beginnings, as g,t,g,t", "mix", NULL, 's', false, 0,
     0, 0},
    {"data", "D", "builtin[:WORDS[:SEED]], a text file, or a folder with train, valid and test files", NULL, NULL, 's',
     false, 0, 0, AT(data)},
    {"tokenizer", "T", "word, byte or wordpiece:VOCAB_FILE (word)", NULL, "word", 's', false, 0, 0, AT(tokenizer)},
    {"layers", "N", "layers of the model (4)", "layers", "4", 'i', false, 0, 10000, 0},
    {"dim", "D", "width of the model (128)", "d_model", "128", 'i', false, 1, 1 << 20, 0},
    {"heads", "N", "attention heads, a divisor of the width (4)", "heads", "4", 'i', false, 1, 1 << 20, 0},
    {"ffn", "N", "width of the feed-forward layers (4 times the model's)", "d_ff", NULL, 'i', false, 1, INT32_MAX, 0},
    {"block", "N", "tokens of a sequence (128)", "block", "128", 'i', false, 1, INT32_MAX, 0},
    {"positions", "P", "none, rotary or alibi (none)", "positions", NULL, 's', false, 0, 0, 0},
    {"pos_emb", "BOOL", "learned positions: true or false (true)", "pos_emb", NULL, 'b', false, 0, 0, 0},
    {"block_norm", "WHERE", "layer norm post or pre (post)", "block_norm", NULL, 's', false, 0, 0, 0},
    {"batch", "N", "sequences at a time (32)", NULL, "32", 'i', false, 1, 1 << 20, AT(batch)},
    {"accumulate", "N", "batches whose gradients make a step (1)", NULL, "1", 'i', false, 1, 1 << 20, AT(accumulate)},
    {"dropout", "P", "dropout while training (0.1)", NULL, "0.1", 'r', false, 0, 0.999, AT(dropout)},
    {"lr", "R", "highest learning rate (1e-3)", NULL, "1e-3", 'r', false, 0, 1000, AT(lr)},
    {"min_lr", "R", "learning rate at the end; below 0: a tenth of the highest (-1)", NULL, "-1", 'r', false, -1, 1000,
     AT(min_lr)},
    {"warmup", "N", "steps in which the learning rate rises (100)", NULL, "100", 'i', false, 0, MUCH, AT(warmup)},
    {"sep_ramp", "N", "steps after the warm-up in which ASCender's omega_sep rises from 0 to its setting, whatever "
     "--init has; 0: trained from the start (0)", NULL, "0", 'i', false, 0, MUCH, AT(sep_ramp)},
    {"schedule", "S", "constant, linear or cosine (cosine)", NULL, "cosine", 's', false, 0, 0, AT(schedule)},
    {"schedule_steps", "N", "steps to the lowest learning rate; 0: those of the run (0)", NULL, "0", 'i', false, 0,
     MUCH, AT(schedule_steps)},
    {"weight_decay", "W", "AdamW's decay of matrices and embeddings (0.1)", NULL, "0.1", 'r', false, 0, 1000,
     AT(weight_decay)},
    {"beta1", "B", "AdamW's first moment (0.9)", NULL, "0.9", 'r', false, 0.001, 0.999999, AT(beta1)},
    {"beta2", "B", "AdamW's second moment (0.999)", NULL, "0.999", 'r', false, 0.001, 0.9999999, AT(beta2)},
    {"clip", "NORM", "largest norm of the gradient; 0: any (1)", NULL, "1", 'r', false, 0, 1e30, AT(clip)},
    {"epochs", "N", "passes over the training split; 0: no limit (10)", NULL, "10", 'i', true, 0, 1e9, AT(epochs)},
    {"steps", "N", "steps in all; 0: no limit (0)", NULL, "0", 'i', true, 0, MUCH, AT(steps)},
    {"minutes", "X", "stop after these minutes, ready to be resumed; 0: no limit (0)", NULL, "0", 'r', true, 0, 1e9,
     AT(minutes)},
    {"eval_every", "N", "steps between evaluations; 0: at the end of each epoch (0)", NULL, "0", 'i', false, 0, MUCH,
     AT(eval_every)},
    {"log_every", "N", "steps between lines of metrics.jsonl (10)", NULL, "10", 'i', false, 1, MUCH, AT(log_every)},
    {"checkpoint_every", "N", "steps between checkpoints; one more at each better evaluation (200)", NULL, "200", 'i',
     false, 1, MUCH, AT(checkpoint_every)},
    {"seed", "N", "of initial values, dropout and the order of the blocks (1)", NULL, "1", 'i', false, 0, MUCH,
     AT(seed)},
    {"threads", "N", "threads that compute; 0: one per processor (0)", NULL, "0", 'i', true, 0, 1024, AT(threads)},
    {"recompute", NULL, "compute each block again in the backward pass rather than keep it: less memory, the same model",
     NULL, "false", 'b', true, 0, 0, AT(recompute)},
    {"dtype", "T", "f32 or f64 (f32)", NULL, "f32", 's', false, 0, 0, AT(dtype)},
    {"init", "MODEL", "a RUN or MODEL whose parameters to start from", NULL, "", 's', false, 0, 0, AT(init)},
    {"debug_nan", NULL, "name the first op, layer and tensor with a value that is not finite", NULL, "false", 'b',
     false, 0, 0, AT(debug_nan)},
};
enum { N_SETTINGS = sizeof table / sizeof *table };
_Static_assert((int)N_SETTINGS <= (int)ASC_SETTINGS_MAX, "asc_settings.from is too short");

/* Texts that are one of a few. */
static const char *const schedules[] = {"constant", "linear", "cosine", NULL}, *const dtypes[] = {"f32", "f64", NULL};
static const struct {
    const char *key;
    const char *const *names;
} choices[] = {
    {"schedule", schedules},
    {"dtype", dtypes},
};

const asc_train_setting *asc_setting_at(int i)
{
    return i >= 0 && i < N_SETTINGS ? &table[i] : NULL;
}

/* ---- errors ---- */

/* `name` is what the setting was called: by its key or by the model's. */
static asc_status refuse(asc_ctx *ctx, const asc_train_setting *t, const char *name, const char *got)
{
    if (t->type == 'b') {
        return asc_fail_on(ctx, ASC_ERR_ARG, name, ": got '%s', expected true or false", got);
    }
    if (t->type == 's') {
        return asc_fail_on(ctx, ASC_ERR_ARG, name, ": got '%s', expected a text in UTF-8", got);
    }
    const char *kind = t->type == 'i' ? "a whole number" : "a number";
    if (t->max >= 1e9) {
        return asc_fail_on(ctx, ASC_ERR_ARG, name, ": got '%s', expected %s >= %.10g", got, kind, t->min);
    }
    return asc_fail_on(ctx, ASC_ERR_ARG, name, ": got '%s', expected %s from %.10g to %.10g", got, kind, t->min,
                    t->max);
}

static asc_status refuse_json(asc_ctx *ctx, const asc_train_setting *t, const char *name, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    asc_status status = refuse(ctx, t, name, text ? text : "?");
    asc_text_drop(text);
    return status;
}

static asc_status refuse_choice(asc_ctx *ctx, const char *name, const char *got, const char *const *names)
{
    char known[200] = "";
    for (int i = 0; names[i]; i++) {
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", names[i]);
    }
    return asc_fail_on(ctx, ASC_ERR_ARG, name, ": got '%s', expected one of %s; did you mean '%s'?", got, known,
                    asc_name_nearest(got, names));
}

static asc_status check_choice(asc_ctx *ctx, const asc_train_setting *t, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const char *const *known = choices[i].names;
        if (strcmp(choices[i].key, t->key) == 0 && strcmp(asc_name_nearest(value, known), value) != 0) {
            return refuse_choice(ctx, name, value, known);
        }
    }
    return ASC_OK;
}

static asc_status no_memory(asc_ctx *ctx)
{
    return asc_fail(ctx, ASC_ERR_MEMORY, "settings: out of memory");
}

/* ---- values ---- */

void asc_text_drop(char *text)
{
    free(text);
}

/* Whether the value is of the setting's type and range. */
static bool suits(const asc_train_setting *t, const json_t *value)
{
    switch (t->type) {
    case 'i':
        return json_is_integer(value) && (double)json_integer_value(value) >= t->min &&
               (double)json_integer_value(value) <= t->max;
    case 'r':
        return json_is_number(value) && json_number_value(value) >= t->min && json_number_value(value) <= t->max;
    case 'b': return json_is_boolean(value);
    default: return json_is_string(value);
    }
}

static asc_status store(asc_settings *s, const asc_train_setting *t, json_t *value)
{
    char *field = (char *)&s->values + t->at;
    switch (t->type) {
    case 'i': *(int64_t *)field = json_integer_value(value); break;
    case 'r': *(double *)field = json_number_value(value); break;
    case 'b': *(bool *)field = json_is_true(value); break;
    default:
        if (json_object_set(s->texts, t->key, value)) {
            return no_memory(s->ctx);
        }
        *(const char **)field = json_string_value(json_object_get(s->texts, t->key));
    }
    return ASC_OK;
}

/* `steps` and `epochs` are two ways to say one thing: given on a later layer, each takes the other's place. */
static void supersede(asc_settings *s, const asc_train_setting *t, asc_source from)
{
    const char *rival = strcmp(t->key, "steps") == 0 ? "epochs" : strcmp(t->key, "epochs") == 0 ? "steps" : NULL;
    for (int i = 0; rival && i < N_SETTINGS; i++) {
        if (strcmp(table[i].key, rival) == 0 && s->from[i] < (char)from) {
            *(int64_t *)((char *)&s->values + table[i].at) = 0;
        }
    }
}

static int find(const char *key)
{
    for (int i = 0; i < N_SETTINGS; i++) {
        if (strcmp(table[i].key, key) == 0) {
            return i;
        }
    }
    return -1;
}

/* Gives the model's configuration a value. What was not given by hand goes again, if no mixing of the model knows it. */
static asc_status put_model(asc_settings *s, const char *key, json_t *value, asc_source from)
{
    bool failed = json_object_set(s->model, key, value) != 0;
    if (from == ASC_SOURCE_HAND) {
        json_object_del(s->optional, key);
    } else {
        failed = json_object_set_new(s->optional, key, json_true()) || failed;
    }
    return failed ? no_memory(s->ctx) : ASC_OK;
}

/* A mixing by name, or several for the layers; a list comes from a file, and the model's configuration checks it. */
static asc_status put_mix(asc_settings *s, const asc_train_setting *t, const char *name, json_t *value, asc_source from)
{
    if (json_is_array(value)) {
        return put_model(s, t->model_key, value, from);
    }
    if (!json_is_string(value)) {
        return refuse_json(s->ctx, t, name, value);
    }
    json_t *mix = asc_settings_mix(s->ctx, name, json_string_value(value));
    asc_status status = mix ? put_model(s, t->model_key, mix, from) : asc_error(s->ctx);
    json_decref(mix);
    return status;
}

static asc_status put_known(asc_settings *s, int i, const char *name, json_t *value, asc_source from)
{
    const asc_train_setting *t = &table[i];
    if (t->model_key && strcmp(t->model_key, "mix") == 0) {
        return put_mix(s, t, name, value, from);
    }
    if (!suits(t, value)) {
        return refuse_json(s->ctx, t, name, value);
    }
    if (json_is_string(value) && check_choice(s->ctx, t, name, json_string_value(value))) {
        return asc_error(s->ctx);
    }
    supersede(s, t, from);
    s->from[i] = (char)from;
    return t->model_key ? put_model(s, t->model_key, value, from) : store(s, t, value);
}

/* `key` with '_' for '-'. */
static void spell(const char *key, char *out, size_t n)
{
    snprintf(out, n, "%s", key);
    for (char *c = out; *c; c++) {
        *c = *c == '-' ? '_' : *c;
    }
}

static bool is_model_key(const asc_ctx *ctx, const char *name)
{
    asc_schema schema;
    for (int i = 0; (schema = asc_lm_schema(ctx, i)).owner; i++) {
        if (asc_setting_find(schema.settings, name)) {
            return true;
        }
    }
    return false;
}

static asc_status refuse_key(asc_ctx *ctx, const char *name)
{
    const char *best = table[0].key;
    asc_schema schema;
    for (int i = 0; i < N_SETTINGS; i++) {
        best = asc_name_distance(name, table[i].key) < asc_name_distance(name, best) ? table[i].key : best;
    }
    for (int i = 0; (schema = asc_lm_schema(ctx, i)).owner; i++) {
        for (const asc_setting *row = schema.settings; row && row->key; row++) {
            best = asc_name_distance(name, row->key) < asc_name_distance(name, best) ? row->key : best;
        }
    }
    return asc_fail(ctx, ASC_ERR_ARG, "unknown setting '%s'; did you mean '%s'?", name, best);
}

asc_status asc_settings_put(asc_settings *s, const char *key, json_t *value, asc_source from)
{
    char name[128];
    spell(key, name, sizeof name);
    int i = find(name);
    if (i < 0) {
        for (i = 0; i < N_SETTINGS && (!table[i].model_key || strcmp(table[i].model_key, name) != 0); i++) {
        }
    }
    if (i < N_SETTINGS) {
        return put_known(s, i, name, value, from);
    }
    if (!is_model_key(s->ctx, name)) {
        return refuse_key(s->ctx, name);
    }
    return put_model(s, name, value, from);
}

/* ---- values from text ---- */

static json_t *parse_number(const asc_train_setting *t, const char *text)
{
    char *end;
    errno = 0;
    json_t *value = t->type == 'i' ? json_integer(strtoll(text, &end, 10)) : json_real(strtod(text, &end));
    if (end == text || *end || errno) {
        json_decref(value);
        return NULL;
    }
    return value;
}

static json_t *parse_as(const asc_train_setting *t, const char *text)
{
    if (t->type == 's') {
        return json_string(text);
    }
    if (t->type == 'b') {
        bool yes = strcmp(text, "true") == 0, no = strcmp(text, "false") == 0;
        return yes || no ? json_boolean(yes) : NULL;
    }
    return parse_number(t, text);
}

/* Numbers, too, that JSON does not know: .1, 1., +1; what else strtod takes, as nan and 0x1, is a text. */
static json_t *parse_any(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    if (value || !*text || text[strspn(text, "+-.0123456789eE")]) {
        return value ? value : json_string(text);
    }
    char *end;
    double number = strtod(text, &end);
    return *end || !isfinite(number) ? json_string(text) : json_real(number);
}

asc_status asc_settings_set(asc_settings *s, const char *key, const char *value)
{
    if (!s) {
        return ASC_ERR_MEMORY;
    }
    char name[128];
    spell(key, name, sizeof name);
    int i = find(name);
    bool list = i >= 0 && table[i].model_key && value[0] == '[';
    json_t *json = i < 0 || list ? parse_any(value) : parse_as(&table[i], value);
    bool wrong = json && i >= 0 && !list && !suits(&table[i], json); /* said in the words that were given */
    if (!json || wrong) {
        json_decref(json);
        return i < 0 ? no_memory(s->ctx) : refuse(s->ctx, &table[i], name, value);
    }
    asc_status status = asc_settings_put(s, key, json, ASC_SOURCE_HAND);
    json_decref(json);
    return status;
}

asc_status asc_settings_option(asc_settings *s, const char *key, const char *value)
{
    if (asc_settings_set(s, key, value)) {
        return s ? asc_error(s->ctx) : ASC_ERR_MEMORY;
    }
    char name[128];
    spell(key, name, sizeof name);
    int i = find(name);
    bool may_idle = i >= 0 && table[i].model_key && table[i].fallback;
    return may_idle && json_object_set_new(s->optional, table[i].model_key, json_false()) ? no_memory(s->ctx) : ASC_OK;
}

json_t *asc_setting_default(const asc_train_setting *setting)
{
    return setting->fallback ? parse_as(setting, setting->fallback) : NULL;
}

json_t *asc_settings_get(const asc_settings *s, const asc_train_setting *t)
{
    if (t->model_key) {
        return json_incref(json_object_get(s->model, t->model_key));
    }
    const char *field = (const char *)&s->values + t->at;
    switch (t->type) {
    case 'i': return json_integer(*(const int64_t *)field);
    case 'r': return json_real(*(const double *)field);
    case 'b': return json_boolean(*(const bool *)field);
    default: return json_string(*(const char *const *)field);
    }
}

int asc_settings_threads(const asc_settings *s)
{
    return s ? (int)s->values.threads : 0;
}

/* ---- the object ---- */

static asc_status set_defaults(asc_settings *s)
{
    s->values.data = "";
    for (int i = 0; i < N_SETTINGS; i++) {
        if (table[i].model_key || !table[i].fallback) {
            continue;
        }
        json_t *value = asc_setting_default(&table[i]);
        asc_status status = value ? store(s, &table[i], value) : no_memory(s->ctx);
        json_decref(value);
        if (status) {
            return status;
        }
    }
    return ASC_OK;
}

asc_settings *asc_settings_new(asc_ctx *ctx)
{
    asc_settings *s = asc_alloc(ctx, sizeof *s);
    if (!s) {
        return NULL;
    }
    *s = (asc_settings){.ctx = ctx, .texts = json_object(), .model = json_object(), .optional = json_object()};
    if (!s->texts || !s->model || !s->optional || set_defaults(s)) {
        no_memory(ctx);
        asc_settings_free(s);
        return NULL;
    }
    return s;
}

void asc_settings_free(asc_settings *s)
{
    if (s) {
        json_decref(s->texts);
        json_decref(s->model);
        json_decref(s->optional);
        json_decref(s->checksums);
        asc_free(s->ctx, s, sizeof *s);
    }
}
