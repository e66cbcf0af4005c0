/* train/settings_paths.c: the files that settings name, by their absolute paths. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <program/settings.h>

#include "data/names.h"
#include "tensor/comm.h"
#include "tensor/need.h"
#include "train/encoder/encoder.h"
#include "train/settings.h"

/* The absolute path of what stands at `text`, to be freed; where that is none, of what stands before one of its colons,
 * behind which settings follow. *rest is what follows. NULL: nothing there is a path. */
static char *find_path(const char *text, const char **rest)
{
    char *copy = strdup(text), *path = copy ? realpath(copy, NULL) : NULL, *colon = NULL;
    *rest = text + strlen(text);
    while (copy && !path && (colon = strrchr(copy, ':'))) {
        *colon = 0;
        *rest = text + (colon - copy);
        path = realpath(copy, NULL);
    }
    free(copy);
    return path;
}

/* The text, which it takes, and n bytes behind it; NULL: no memory. */
static char *append(char *text, const char *more, size_t n)
{
    size_t length = text ? strlen(text) : 0;
    char *longer = realloc(text, length + n + 1);
    if (!longer) {
        free(text);
        return NULL;
    }
    memcpy(longer + length, more, n);
    longer[length + n] = '\0';
    return longer;
}

/* What follows a path, ":KEY=VALUE,…", with the files that it names for splits by their absolute paths; to be freed. */
static char *locate_files(const char *rest)
{
    char *located = append(NULL, "", 0);
    for (size_t n; located && *rest; rest += n) {
        n = 1 + asc_spec_pair(rest + 1);
        size_t key = strncmp(rest + 1, "valid=", 6) == 0 ? 7 : strncmp(rest + 1, "test=", 5) == 0 ? 6 : 0;
        char *name = key ? strndup(rest + key, n - key) : NULL, *path = name ? realpath(name, NULL) : NULL;
        located = append(located, rest, path ? key : n);
        located = path && located ? append(located, path, strlen(path)) : located;
        free(path);
        free(name);
    }
    return located;
}

/* Replaces what stands in the text after `skip` bytes by its absolute path, if it is a path. */
static asc_status locate(asc_settings *s, const char *key, const char *text, size_t skip)
{
    const char *rest;
    char *path = find_path(text + skip, &rest);
    if (!path) {
        return ASC_OK; /* whoever opens it has the better message */
    }
    char *more = locate_files(rest);
    json_t *value = json_pack("s#++", text, (int)skip, path, more ? more : rest);
    free(more);
    free(path);
    asc_status status = asc_settings_put(s, key, value, ASC_SOURCE_HAND);
    json_decref(value);
    return status;
}

bool asc_settings_reads_data(const asc_settings *s)
{
    return s && (s->values.data_from_rank < 0 || asc_comm_rank(s->ctx) == 0);
}

/* Another rank's are not looked for. */
static void locate_data(asc_settings *s)
{
    const char *data = s->values.data, *tokenizer = s->values.tokenizer;
    const asc_data_source *source = asc_data_source_find(s->ctx, data);
    const asc_tokenizer_kind *kind = asc_tokenizer_kind_find(s->ctx, tokenizer);
    const char *colon = strchr(tokenizer, ':'), *name_end = source && !source->takes ? strchr(data, ':') : NULL;
    if (source && source->is_path && (source->takes || name_end)) {
        locate(s, "data", data, name_end ? (size_t)(name_end + 1 - data) : 0);
    }
    if (kind && kind->is_path && colon) {
        locate(s, "tokenizer", tokenizer, (size_t)(colon + 1 - tokenizer));
    }
    if (*s->values.encoder) {
        locate(s, "encoder", s->values.encoder, 0);
    }
}

asc_status asc_settings_locate_given(asc_settings *s)
{
    if (asc_settings_reads_data(s)) {
        locate_data(s);
    }
    if (*s->values.init) {
        locate(s, "init", s->values.init, 0);
    }
    if (*s->values.cache) {
        asc_path_make_parents(s->values.cache);
        mkdir(s->values.cache, 0777); /* if it fails, so will what is written there, which is told */
        locate(s, "cache", s->values.cache, 0);
    }
    return asc_error(s->ctx);
}

asc_status asc_settings_set_vocab(asc_settings *s, const char *file)
{
    asc_status status = ASC_NEED(s ? s->ctx : NULL, "settings_set_vocab: settings file", s, file);
    bool cased;
    if (status || (status = asc_encoder_read_case(s->ctx, s->values.encoder, &cased))) {
        return status;
    }
    json_t *value = json_sprintf("wordpiece%s:%s", cased ? "-cased" : "", file);
    status = asc_settings_put(s, "tokenizer", value, ASC_SOURCE_HAND);
    json_decref(value);
    return status;
}

/* An encoder's sentences are cut by its own vocabulary unless another was given; in a resume by the run's. */
static void choose_vocab(asc_settings *s)
{
    const asc_setting *row = asc_setting_find(asc_train_settings, "tokenizer");
    if (*s->values.encoder && s->from[row - asc_train_settings] == ASC_SOURCE_DEFAULT) {
        char file[4096];
        snprintf(file, sizeof file, "%s/vocab.txt", s->values.encoder);
        asc_settings_set_vocab(s, file);
    }
}

asc_status asc_settings_locate(asc_settings *s)
{
    if (asc_settings_locate_given(s) == ASC_OK && asc_settings_reads_data(s)) {
        choose_vocab(s);
    }
    return asc_error(s->ctx);
}
