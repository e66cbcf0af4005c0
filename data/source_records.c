/* data/source_records.c: records as a data source: a .jsonl or .tsv file, plain or gzip, or a folder with one for each
 * split: "PATH[:KEY=FIELD,…]". With valid=FILE or test=FILE among the keys, PATH is all of it the training split, and
 * these are the others.
 *
 *   prompt, answer        the answer is learned and scored: "PROMPT\nANSWER\n"
 *   text, text2, label    a sentence or two and their class: "TEXT\nTEXT2\nLABEL\n"; pairs labelled "-" are left out
 *
 * Fields are named by the spec, or known by their usual names: GLUE's (Wang et al. 2018), SNLI's, GSM8K's. Classes are
 * the labels of the training split, of one file those of all of it, in order; or those that "classes=A|B" lists. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <ascgrad/corpus.h>
#include <program/file.h>

#include "data/names.h"
#include "data/record.h"
#include "data/split_files.h"
#include "data/strings.h"
#include "tensor/ctx.h"

enum { FIRST, SECOND, LAST }; /* fields: prompt or text; text2; answer or label */
enum { MOST_CLASSES = 1000, SPEC = 4200 };

typedef struct source {
    char path[SPEC]; /* then, each ended by 0, what the spec names */
    asc_fields fields;
    bool is_folder, labelled, cut;
    int64_t cuts[ASC_SPLITS + 1];
    const char *file[ASC_SPLITS]; /* of the splits that the spec names files for; else NULL */
    asc_strings classes;
} source;

/* ---- the spec ---- */

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static bool is_json(const char *name)
{
    return ends_with(name, ".jsonl") || ends_with(name, ".jsonl.gz");
}

static bool is_rows(const char *name)
{
    return ends_with(name, ".tsv") || ends_with(name, ".tsv.gz");
}

static bool is_records(const char *name)
{
    return is_json(name) || is_rows(name);
}

/* Whether there is something of the name that the first n bytes of a spec are. */
static bool is_there(const char *spec, size_t n)
{
    char path[SPEC];
    struct stat info;
    snprintf(path, sizeof path, "%.*s", (int)n, spec);
    return n < sizeof path && stat(path, &info) == 0;
}

/* The bytes of a spec's path: all of it, if there is such a file, else up to a colon before which there is one, else up
 * to that before KEY=… */
static size_t path_bytes(const char *spec)
{
    size_t all = strlen(spec);
    for (size_t n = all; n > 0; n--) {
        if ((n == all || spec[n] == ':') && is_there(spec, n)) {
            return n;
        }
    }
    const char *equals = strchr(spec, '=');
    while (equals && equals > spec && *equals != ':') {
        equals--;
    }
    return equals && *equals == ':' ? (size_t)(equals - spec) : all;
}

static bool takes(const char *spec)
{
    char path[SPEC];
    struct stat info;
    size_t n = path_bytes(spec);
    if (n >= sizeof path) {
        return false;
    }
    snprintf(path, sizeof path, "%.*s", (int)n, spec);
    return stat(path, &info) == 0 && (S_ISDIR(info.st_mode) ? asc_folder_fits(path, is_records) : is_records(path));
}

static const struct {
    const char *key;
    int field;
    bool labelled;
} keys[] = {{"prompt", FIRST, false},
            {"answer", LAST, false},
            {"text", FIRST, true},
            {"text2", SECOND, true},
            {"label", LAST, true}};
enum { N_KEYS = sizeof keys / sizeof *keys };

/* A class's name, with the 0 at its end. */
static asc_status add_class(source *s, const char *name)
{
    return asc_strings_add(&s->classes, name, strlen(name) + 1) < 0 ? asc_error(s->classes.ctx) : ASC_OK;
}

/* "classes=A|B": in the order given. */
static asc_status take_classes(asc_dataset *data, char *list)
{
    source *s = data->self;
    char *rest = NULL;
    for (char *name = strtok_r(list, "|", &rest); name; name = strtok_r(NULL, "|", &rest)) {
        if (add_class(s, name)) {
            return asc_error(data->ctx);
        }
    }
    return ASC_OK;
}

/* "valid=FILE", "test=FILE". false: the pair is another. */
static bool take_file(source *s, const char *key, const char *value)
{
    for (asc_split_kind kind = ASC_SPLIT_VALID; kind <= ASC_SPLIT_TEST; kind++) {
        if (strcmp(key, asc_split_name(kind)) == 0 && !s->file[kind]) {
            s->file[kind] = value;
            return true;
        }
    }
    return false;
}

/* One field has one name: prompt and text are the same field, of questions and of sentences. */
static asc_status refuse_twice(asc_dataset *data, const char *key)
{
    return asc_fail_on(data->ctx, ASC_ERR_ARG, "data",
                       ": %s: %s is there twice, expected prompt and answer, or text, text2 and label", data->spec,
                       key);
}

static asc_status take_pair(asc_dataset *data, char *pair)
{
    source *s = data->self;
    char *value = strchr(pair, '=');
    if (value) {
        *value++ = 0;
    }
    if (value && *value && strcmp(pair, "classes") == 0) {
        s->labelled = true;
        return s->classes.n > 0 ? refuse_twice(data, pair) : take_classes(data, value);
    }
    if (value && *value && take_file(s, pair, value)) {
        return ASC_OK;
    }
    for (int i = 0; i < N_KEYS && value && *value; i++) {
        if (strcmp(pair, keys[i].key) == 0) {
            if (s->fields.name[keys[i].field]) {
                return refuse_twice(data, pair);
            }
            s->fields.name[keys[i].field] = value;
            s->labelled = s->labelled || keys[i].labelled;
            return ASC_OK;
        }
    }
    return asc_fail_on(data->ctx, ASC_ERR_ARG, "data",
                       ": %s: got '%s', expected prompt=FIELD, answer=FIELD, or "
                       "text=FIELD, text2=FIELD, label=FIELD, classes=A|B, or valid=FILE, test=FILE",
                       data->spec, pair);
}

/* ---- usual names ---- */

static const struct {
    const char *name[ASC_RECORD_FIELDS];
    bool labelled;
} usual[] = {
    {{"sentence1", "sentence2", "gold_label"}, true},
    {{"premise", "hypothesis", "label"}, true},
    {{"sentence1", "sentence2", "label"}, true},
    {{"question1", "question2", "is_duplicate"}, true},
    {{"question", "sentence", "label"}, true},
    {{"question", "passage", "label"}, true},
    {{"#1 String", "#2 String", "Quality"}, true},
    {{"sentence", NULL, "label"}, true},
    {{"text", NULL, "label"}, true},
    {{"prompt", NULL, "answer"}, false},
    {{"question", NULL, "answer"}, false},
    {{"prompt", NULL, "completion"}, false},
    {{"input", NULL, "output"}, false},
};
enum { N_USUAL = sizeof usual / sizeof *usual };

static asc_status guess_fields(asc_dataset *data, const char *path)
{
    source *s = data->self;
    for (int i = 0; i < N_USUAL && asc_error(data->ctx) == ASC_OK; i++) {
        if (s->classes.n > 0 && !usual[i].labelled) {
            continue; /* classes are named */
        }
        const char *names[ASC_RECORD_FIELDS + 1] = {NULL};
        int n = 0;
        for (int f = 0; f < ASC_RECORD_FIELDS; f++) {
            names[n] = usual[i].name[f];
            n += names[n] != NULL;
        }
        if (asc_records_have(data->ctx, path, s->fields.rows, names)) {
            memcpy(s->fields.name, usual[i].name, sizeof s->fields.name);
            s->labelled = usual[i].labelled;
            return ASC_OK;
        }
    }
    return asc_error(data->ctx) ? asc_error(data->ctx)
                                : asc_fail(data->ctx, ASC_ERR_FORMAT,
                                           "%s: line 1: no fields of the usual names; name "
                                           "them: %s:prompt=FIELD,answer=FIELD, or %s:text=FIELD,text2=FIELD,label="
                                           "FIELD",
                                           path, data->spec, data->spec);
}

/* ---- splits ---- */

/* Whether each split has a file of its own that the spec names. */
static bool is_apart(const source *s)
{
    return s->file[ASC_SPLIT_VALID] || s->file[ASC_SPLIT_TEST];
}

static bool spares(const source *s, asc_split_kind kind)
{
    return is_apart(s) && kind != ASC_SPLIT_TRAIN && !s->file[kind];
}

bool asc_records_spare(const asc_dataset *data, asc_split_kind kind)
{
    return data && data->source == &asc_source_records && spares(data->self, kind);
}

/* The path of a split's file: to be freed with asc_split_path_free in a folder. */
static const char *open_path(asc_dataset *data, asc_split_kind kind)
{
    source *s = data->self;
    if (spares(s, kind)) {
        asc_fail(data->ctx, ASC_ERR_IO, "%s: names no file of the %s split, as %s=FILE would; it has %s", data->spec,
                 asc_split_name(kind), asc_split_name(kind),
                 s->file[ASC_SPLIT_VALID] ? "train and valid" : "train and test");
        return NULL;
    }
    return s->is_folder     ? asc_split_path(data->ctx, s->path, kind)
           : s->file[kind] ? s->file[kind]
                            : s->path;
}

static void close_path(asc_dataset *data, const char *path)
{
    const source *s = data->self;
    if (s->is_folder) {
        asc_split_path_free(data->ctx, (char *)path);
    }
}

/* ---- classes ---- */

static bool before(const asc_strings *names, int32_t a, int32_t b)
{
    size_t n, m;
    const char *x = asc_strings_at(names, a, &n), *y = asc_strings_at(names, b, &m);
    return memcmp(x, y, n < m ? n : m) < 0;
}

/* Brings classes that were found into the order of their names, which does not depend on the lines'. */
static asc_status sort_classes(asc_dataset *data)
{
    source *s = data->self;
    asc_strings old = s->classes;
    size_t bytes = (size_t)old.n * sizeof(int32_t);
    int32_t *order = asc_alloc(data->ctx, bytes);
    if (!order) {
        return ASC_ERR_MEMORY;
    }
    for (int32_t i = 0; i < old.n; i++) {
        int32_t at = i;
        for (; at > 0 && before(&old, i, order[at - 1]); at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    s->classes = (asc_strings){.ctx = data->ctx};
    for (int32_t i = 0; i < old.n; i++) {
        size_t n;
        const char *name = asc_strings_at(&old, order[i], &n);
        asc_strings_add(&s->classes, name, n);
    }
    asc_strings_free(&old);
    asc_free(data->ctx, order, bytes);
    return asc_error(data->ctx);
}

/* A pair without a class that its annotators agree on, as SNLI has them; unless a class of that name was listed. */
static bool is_unlabelled(const source *s, const asc_records *r)
{
    return s->fields.name[SECOND] && strcmp(r->value[LAST], "-") == 0 && asc_strings_find(&s->classes, "-", 2) < 0;
}

static asc_status find_classes(asc_dataset *data, const char *path)
{
    source *s = data->self;
    asc_records r;
    bool more = false;
    asc_status status = asc_records_open(&r, data->ctx, path, &s->fields);
    while (!status && !(status = asc_records_next(&r, 0, INT64_MAX, &more)) && more) {
        if (!is_unlabelled(s, &r) && add_class(s, r.value[LAST])) {
            status = asc_error(data->ctx);
        } else if (s->classes.n > MOST_CLASSES) {
            status = asc_record_fail(&r, "'%.40s' is class %d, expected %d at most: is %s a label?", r.value[LAST],
                                     MOST_CLASSES + 1, MOST_CLASSES, s->fields.name[LAST]);
        }
    }
    asc_records_close(&r);
    return status ? status : sort_classes(data);
}

static const char *class_name(const asc_dataset *data, int32_t i)
{
    const source *s = data->self;
    size_t n;
    return s->labelled && i < s->classes.n ? asc_strings_at(&s->classes, i, &n) : NULL;
}

/* ---- opening ---- */

static asc_status take_pairs(asc_dataset *data, char *pairs)
{
    asc_status status = ASC_OK;
    for (size_t n; *pairs && !status; pairs += n) {
        n = asc_spec_pair(pairs);
        bool last = !pairs[n];
        pairs[n] = '\0';
        status = n > 0 ? take_pair(data, pairs) : ASC_OK;
        n += !last;
    }
    return status;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static asc_status check_fields(asc_dataset *data)
{
    const source *s = data->self;
    if (!s->fields.name[FIRST] || !s->fields.name[LAST]) {
        return asc_fail_on(data->ctx, ASC_ERR_ARG, "data", ": %s: expected %s", data->spec,
                           s->labelled ? "text=FIELD and label=FIELD" : "prompt=FIELD and answer=FIELD");
    }
    return ASC_OK;
}

static asc_status read_fields(asc_dataset *data, const char *path)
{
    source *s = data->self;
    s->fields.rows = is_rows(name_of(path));
    bool named = s->fields.name[FIRST] || s->fields.name[SECOND] || s->fields.name[LAST];
    asc_status status = named ? check_fields(data) : guess_fields(data, path);
    return status || !s->labelled || s->classes.n > 0 ? status : find_classes(data, path);
}

static asc_status open_records(asc_dataset *data, const char *argument)
{
    (void)argument; /* the spec is a path, and has no name before it */
    source *s = data->self;
    struct stat info;
    size_t n = path_bytes(data->spec);
    if (strlen(data->spec) >= sizeof s->path) {
        return asc_fail(data->ctx, ASC_ERR_ARG, "data set: a path of %zu bytes, expected fewer than %zu",
                        strlen(data->spec), sizeof s->path);
    }
    s->classes.ctx = data->ctx;
    strcpy(s->path, data->spec);
    bool more = s->path[n] == ':';
    s->path[n] = 0;
    s->is_folder = stat(s->path, &info) == 0 && S_ISDIR(info.st_mode);
    if (more && take_pairs(data, s->path + n + 1)) {
        return asc_error(data->ctx);
    }
    if (s->is_folder && is_apart(s)) {
        return asc_fail_on(data->ctx, ASC_ERR_ARG, "data", ": %s: valid=FILE and test=FILE go with a file, and %s is a "
                           "folder", data->spec, s->path);
    }
    const char *path = open_path(data, ASC_SPLIT_TRAIN);
    asc_status status = path ? read_fields(data, path) : asc_error(data->ctx);
    close_path(data, path);
    return status;
}

static void close_records(asc_dataset *data)
{
    asc_strings_free(&((source *)data->self)->classes);
}

/* ---- reading ---- */

typedef struct reader {
    asc_records records;
    const char *path;
    int64_t from, to;
    int field; /* that comes next; FIRST: of the next record */
    void *text;
    size_t capacity;
    bool any; /* there was a record, with its label */
} reader;

/* Where one file has the split: a file that is named for one, as dev.tsv, is that; others have all three. */
static asc_status find_range(asc_source_reader *r)
{
    source *s = r->data->self;
    reader *at = r->self;
    const char *name = name_of(s->path);
    for (asc_split_kind kind = ASC_SPLIT_VALID; kind <= ASC_SPLIT_TEST; kind++) {
        if (asc_name_tells(name, kind) && kind != r->split) {
            return asc_fail(r->data->ctx, ASC_ERR_IO, "%s: all of it is the %s split, by its name, none the %s split",
                            s->path, asc_split_name(kind), asc_split_name(r->split));
        }
        if (asc_name_tells(name, kind)) {
            return ASC_OK;
        }
    }
    if (!s->cut && asc_file_cuts(r->data->ctx, s->path, s->cuts, NULL)) {
        return asc_error(r->data->ctx);
    }
    s->cut = true;
    at->from = s->cuts[r->split];
    at->to = s->cuts[r->split + 1];
    return ASC_OK;
}

static asc_status begin(asc_source_reader *r)
{
    const source *s = r->data->self;
    reader *at = r->self;
    at->to = INT64_MAX;
    if (!s->is_folder && !is_apart(s) && find_range(r)) {
        return asc_error(r->data->ctx);
    }
    at->records.ctx = r->data->ctx;
    at->path = open_path(r->data, r->split);
    asc_fields fields = s->fields; /* each file has its own form */
    fields.rows = at->path && is_rows(name_of(at->path));
    return at->path ? asc_records_open(&at->records, r->data->ctx, at->path, &fields) : asc_error(r->data->ctx);
}

/* Reads the next record that has an answer. */
static asc_status next_record(asc_source_reader *r, bool *more)
{
    const source *s = r->data->self;
    reader *at = r->self;
    asc_status status;
    while (!(status = asc_records_next(&at->records, at->from, at->to, more)) && *more && s->labelled &&
           is_unlabelled(s, &at->records)) {
        r->skipped++;
    }
    at->any = at->any || (!status && *more);
    if (!status && !at->any && r->skipped > 0) {
        return asc_fail(r->data->ctx, ASC_ERR_FORMAT, "%s: all %lld pairs of the %s split have the label '-', which is "
                        "none", at->path, (long long)r->skipped, asc_split_name(r->split));
    }
    return status;
}

static asc_status find_label(asc_source_reader *r, asc_text_piece *piece)
{
    const source *s = r->data->self;
    const reader *at = r->self;
    const char *label = at->records.value[LAST];
    piece->label = asc_strings_find(&s->classes, label, strlen(label) + 1);
    if (piece->label >= 0) {
        return ASC_OK;
    }
    char list[200] = "";
    size_t used = 0;
    for (int32_t i = 0; i < s->classes.n && used < sizeof list; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", class_name(r->data, i));
    }
    return asc_record_fail(&at->records, "the label is '%.60s', expected one of %s", label, list);
}

/* A field with the end of a line behind it. */
static asc_status next(asc_source_reader *r, asc_text_piece *piece)
{
    const source *s = r->data->self;
    reader *at = r->self;
    bool more = true;
    asc_status status = at->field == FIRST ? next_record(r, &more) : ASC_OK;
    if (status || !more) {
        return status;
    }
    const char *value = at->records.value[at->field];
    size_t n = strlen(value);
    if (!asc_grow(r->data->ctx, &at->text, &at->capacity, n + 1, 1)) {
        return ASC_ERR_MEMORY;
    }
    char *text = memcpy(at->text, value, n);
    text[n] = '\n';
    *piece = (asc_text_piece){.text = text, .bytes = n + 1, .given = at->field != LAST, .last = at->field == LAST};
    if (piece->last && s->labelled) {
        status = find_label(r, piece);
    }
    at->field = piece->last ? FIRST : at->field == FIRST && s->fields.name[SECOND] ? SECOND : LAST;
    return status;
}

static void end(asc_source_reader *r)
{
    reader *at = r->self;
    asc_records_close(&at->records);
    if (at->path) {
        close_path(r->data, at->path);
    }
    asc_free(r->data->ctx, at->text, at->capacity);
}

const asc_data_source asc_source_records = {
    .abi = ASC_CORPUS_ABI,
    .name = "records",
    .spec = "a .jsonl or .tsv file[:KEY=FIELD,...]",
    .is_path = true,
    .sequences = true,
    .size = sizeof(source),
    .reader_size = sizeof(reader),
    .takes = takes,
    .open = open_records,
    .close = close_records,
    .begin = begin,
    .next = next,
    .end = end,
    .class_name = class_name,
};
