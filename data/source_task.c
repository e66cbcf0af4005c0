/* data/source_task.c: tasks with known answers as a data source: "task:NAME[:KEY=VALUE,…]".
 *
 * Example number i of a split depends on the task's settings, the seed, the split and i alone, so that more examples
 * change none of those before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/corpus.h>
#include <program/names.h>

#include "data/task.h"

extern const asc_task asc_task_mqar, asc_task_copy, asc_task_selective_copy, asc_task_induction, asc_task_listops,
    asc_task_needle, asc_task_majority;

static const asc_task *const tasks[] = {&asc_task_mqar,      &asc_task_copy,    &asc_task_selective_copy,
                                        &asc_task_induction, &asc_task_listops, &asc_task_needle,
                                        &asc_task_majority};

enum { N_TASKS = sizeof tasks / sizeof *tasks, NAMES = 32 };

static const char *const common[ASC_TASK_FIRST] = {"length", "train", "valid", "test", "seed"};

typedef struct source {
    const asc_task *task;
    int64_t given[ASC_TASK_KEYS]; /* as the spec has them, or their defaults */
    int64_t v[ASC_TASK_KEYS];     /* with those that follow from others */
    bool named[ASC_TASK_KEYS];    /* the spec has it */
    char word[ASC_TASK_WORD];     /* the class name that was asked for last */
} source;

/* ---- the spec ---- */

/* Key number i of a task; name NULL past the last. */
static asc_task_key key_of(const asc_task *t, int i)
{
    int64_t length = t->length, most = (int64_t)1 << 31;
    const int64_t fallback[ASC_TASK_FIRST] = {length, t->train, t->test, t->test, 1};
    if (i >= ASC_TASK_FIRST) {
        return i < ASC_TASK_KEYS ? t->own[i - ASC_TASK_FIRST] : (asc_task_key){0};
    }
    return (asc_task_key){common[i], fallback[i], i == ASC_TASK_LENGTH ? t->shortest : i != ASC_TASK_SEED,
                          i == ASC_TASK_LENGTH ? ASC_TASK_LONGEST
                          : i == ASC_TASK_SEED ? INT64_C(999999999999999999) /* the digits that are read */
                                               : most - 1};
}

static asc_status refuse(asc_ctx *ctx, const char *spec, const char *got, const char *what, const char *const *names)
{
    char list[300] = "";
    size_t n = 0;
    for (int i = 0; names[i] && n < sizeof list; i++) {
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", names[i]);
    }
    return asc_fail_on(ctx, ASC_ERR_ARG, "data", ": %s: there is no %s '%s'; did you mean '%s'? There are %s", spec,
                       what, got, asc_name_nearest(got, names), list);
}

static asc_status find_task(asc_dataset *data, const char *name)
{
    source *s = data->self;
    const char *names[N_TASKS + 1] = {NULL};
    for (int i = 0; i < N_TASKS; i++) {
        names[i] = tasks[i]->name;
        if (strcmp(name, names[i]) == 0) {
            s->task = tasks[i];
            return ASC_OK;
        }
    }
    return refuse(data->ctx, data->spec, name, "task", names);
}

/* Takes "KEY=VALUE". */
static asc_status take_pair(asc_dataset *data, char *pair)
{
    source *s = data->self;
    char *value = strchr(pair, '=');
    const char *names[NAMES] = {NULL};
    if (value) {
        *value++ = 0;
    }
    for (int i = 0; key_of(s->task, i).name; i++) {
        asc_task_key key = key_of(s->task, i);
        names[i] = key.name;
        if (strcmp(pair, key.name) != 0) {
            continue;
        }
        int64_t number = 0;
        if (!value || !asc_count_parse(value, &number) || number < key.least || number > key.most) {
            return asc_fail_on(data->ctx, ASC_ERR_ARG, "data",
                               ": %s: %s is '%s', expected %s=N, a whole number from "
                               "%lld to %lld",
                               data->spec, pair, value ? value : "", pair, (long long)key.least, (long long)key.most);
        }
        if (s->named[i]) {
            return asc_fail_on(data->ctx, ASC_ERR_ARG, "data", ": %s: %s is there twice", data->spec, pair);
        }
        s->given[i] = number;
        s->named[i] = true;
        return ASC_OK;
    }
    return refuse(data->ctx, data->spec, pair, "setting", names);
}

static asc_status settle(asc_dataset *data)
{
    source *s = data->self;
    memcpy(s->v, s->given, sizeof s->v);
    return s->task->check ? s->task->check(data->ctx, data->spec, s->v) : ASC_OK;
}

static asc_status open_task(asc_dataset *data, const char *argument)
{
    source *s = data->self;
    char text[400] = "", *rest = NULL;
    if (!argument || strlen(argument) >= sizeof text) {
        return asc_fail_on(data->ctx, ASC_ERR_ARG, "data", ": %.60s: expected task:NAME[:KEY=VALUE,...]", data->spec);
    }
    strcpy(text, argument);
    char *pairs = strchr(text, ':');
    if (pairs) {
        *pairs++ = 0;
    }
    asc_status status = find_task(data, text);
    for (int i = 0; !status && key_of(s->task, i).name; i++) {
        s->given[i] = key_of(s->task, i).fallback;
    }
    char *pair = pairs ? strtok_r(pairs, ",", &rest) : NULL;
    for (; pair && !status; pair = strtok_r(NULL, ",", &rest)) {
        status = take_pair(data, pair);
    }
    return status ? status : settle(data);
}

static int64_t longest(const asc_dataset *data)
{
    return ((const source *)data->self)->v[ASC_TASK_LENGTH];
}

static asc_status stretch(asc_dataset *data, int64_t length)
{
    source *s = data->self;
    asc_task_key key = key_of(s->task, ASC_TASK_LENGTH);
    if (length < key.least || length > key.most) {
        return asc_fail_on(data->ctx, ASC_ERR_ARG, "length", " is %lld, expected %lld to %lld for task:%s",
                           (long long)length, (long long)key.least, (long long)key.most, s->task->name);
    }
    s->given[ASC_TASK_LENGTH] = length;
    return settle(data);
}

/* ---- words and classes ---- */

static asc_status words(asc_dataset *data, asc_tokenizer *tokenizer)
{
    const source *s = data->self;
    asc_status status = ASC_OK;
    for (int32_t w = 0; w < s->task->words(s->v) && !status; w++) {
        char word[ASC_TASK_WORD];
        s->task->spell(s->v, w, word);
        status = asc_tokenizer_collect(tokenizer, word, strlen(word));
    }
    return status;
}

static const char *class_name(const asc_dataset *data, int32_t i)
{
    source *s = data->self;
    if (!s->task->classes || i >= s->task->classes(s->v)) {
        return NULL;
    }
    s->task->spell(s->v, i, s->word);
    return s->word;
}

/* ---- reading ---- */

typedef struct reader {
    asc_example example;
    size_t most, scratch; /* words of an example; bytes */
    int64_t made, at;     /* examples; words of the last that are read */
    char *text;
} reader;

static asc_status begin(asc_source_reader *r)
{
    const source *s = r->data->self;
    asc_ctx *ctx = r->data->ctx;
    reader *at = r->self;
    at->most = (size_t)s->v[ASC_TASK_LENGTH] + 2;
    at->scratch = s->task->scratch ? s->task->scratch(s->v) : 0;
    at->example.word = asc_alloc(ctx, at->most * sizeof *at->example.word);
    at->example.answer = asc_alloc(ctx, at->most);
    at->example.scratch = asc_alloc(ctx, at->scratch);
    at->text = asc_alloc(ctx, at->most * ASC_TASK_WORD);
    return at->example.word && at->example.answer && at->example.scratch && at->text ? ASC_OK : ASC_ERR_MEMORY;
}

/* A run of words of one sort, each with a space behind it. */
static asc_status next(asc_source_reader *r, asc_text_piece *piece)
{
    const source *s = r->data->self;
    reader *at = r->self;
    asc_example *e = &at->example;
    if (at->at == e->n) {
        if (at->made == s->v[ASC_TASK_TRAIN + (int)r->split]) {
            return ASC_OK;
        }
        asc_dice d = asc_dice_at((uint64_t)s->v[ASC_TASK_SEED], (uint32_t)r->split, (uint32_t)at->made);
        e->n = e->label = 0;
        asc_status status = s->task->make(r->data->ctx, s->v, &d, e);
        if (status) {
            return status;
        }
        at->made++;
        at->at = 0;
    }
    size_t bytes = 0;
    bool answer = e->answer[at->at];
    while (at->at < e->n && e->answer[at->at] == answer) {
        s->task->spell(s->v, e->word[at->at++], at->text + bytes);
        bytes += strlen(at->text + bytes);
        at->text[bytes++] = ' ';
    }
    *piece = (asc_text_piece){at->text, bytes, .given = !answer, .last = at->at == e->n, .label = e->label};
    return ASC_OK;
}

static void end(asc_source_reader *r)
{
    reader *at = r->self;
    asc_ctx *ctx = r->data->ctx;
    asc_free(ctx, at->example.word, at->most * sizeof *at->example.word);
    asc_free(ctx, at->example.answer, at->most);
    asc_free(ctx, at->example.scratch, at->scratch);
    asc_free(ctx, at->text, at->most * ASC_TASK_WORD);
}

const asc_data_source asc_source_task = {
    .abi = ASC_CORPUS_ABI,
    .name = "task",
    .spec = "task:NAME[:KEY=VALUE,...]",
    .sequences = true,
    .size = sizeof(source),
    .reader_size = sizeof(reader),
    .open = open_task,
    .begin = begin,
    .next = next,
    .end = end,
    .class_name = class_name,
    .words = words,
    .longest = longest,
    .stretch = stretch,
};
