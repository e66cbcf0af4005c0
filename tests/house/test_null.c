/* tests/house/test_null.c: NULL for every argument of every public function; see the rule in ascgrad/base.h. The calls
 * are generated from the headers, so that no function is left out. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ascgrad/ascgrad.h>
#include <program/experiment.h>
#include <program/file.h>
#include <program/names.h>
#include <program/parity.h>
#include <program/settings.h>
#include <program/verify.h>

#include "tests/context.h"
#include "tests/folder.h"

enum { MOST_ARGUMENTS = 16, BLOCKS = 1 << 16 };

typedef struct pick pick;

typedef struct function {
    const char *name;
    void (*call)(pick *p);
    const char *kinds; /* a letter for each argument: c context, p pointer, t tensor, i whole number, r another */
    char result;       /* s status, t tensor, p pointer, v another */
    const char *argument[MOST_ARGUMENTS];
} function;

/* What to call a function with, and what came of it. */
struct pick {
    const function *f;
    bool null[MOST_ARGUMENTS];      /* else a real one */
    bool hollow;                    /* arrays of tensors begin with a null tensor */
    int64_t number[MOST_ARGUMENTS]; /* of whole numbers that may be an index */
    int other;                      /* sizes, reals, flags */
    asc_status status;              /* what it returned: a status, */
    bool none;                      /* or nothing: NULL, a null tensor */
    bool results;                   /* it was to give more tensors */
    char how[80];                   /* in words */
};

/* ---- the real ones ---- */

static asc_call *call;
static asc_tensor floats, tokens;
static asc_params *params;
static asc_optim *optim;
static asc_lm *lm;
static asc_lm_cache *cache;
static asc_lm_carried *carried; /* of a model of its own */
static asc_layer *layer;
static asc_tokenizer *tokenizer;
static asc_decoder *decoder;
static asc_dataset *dataset;
static asc_split *split;
static asc_text *text;
static asc_settings *settings;
static asc_profile *profile;
static asc_safetensors *safetensors;
static asc_model model;
static asc_run *run_read;
static asc_experiment *experiment;
static asc_encoder *encoder;
static asc_sentences *sentences;
static asc_features *features;

static const char lm_config[] = "{\"mix\": \"transformer\", \"d_model\": 8, \"d_ff\": 16, \"layers\": 1, \"heads\": 2, "
                                "\"vocab\": 256, \"block\": 8}";

static const char carrying_config[] = "{\"mix\": \"conv\", \"d_model\": 8, \"layers\": 1, \"vocab\": 256, "
                                      "\"block\": 8, \"pos_emb\": false, \"carry\": 2}";

static bool starts(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static const char *string_named(const pick *p, const char *name)
{
    if (strcmp(name, "config") == 0) {
        return starts(p->f->name, "asc_lm") ? lm_config : "{\"heads\": 2}";
    }
    if (strcmp(name, "path") == 0 || strcmp(name, "run") == 0) {
        return "/there-is-no-folder/file";
    }
    return strcmp(name, "mixing") == 0     ? "transformer"
           : strcmp(name, "spec") == 0     ? "byte"
           : strcmp(name, "equation") == 0 ? "aij,ajk->aik"
                                           : "train";
}

/* With room for what a function may write there. */
static char *real_string(pick *p, const char *name)
{
    static char room[1000];
    snprintf(room, sizeof room, "%s", string_named(p, name));
    return room;
}

static FILE *real_file(pick *p, const char *name)
{
    static FILE *file;
    (void)p;
    (void)name;
    file = file ? file : tmpfile();
    return file;
}

static const char *const *real_names(pick *p, const char *name)
{
    static const char *const names[] = {"train", "valid", NULL};
    (void)p;
    (void)name;
    return names;
}

static asc_tensor real_tensor(pick *p, const char *name)
{
    static const char *const integers[] = {"tokens", "targets", "index", "lengths", "y"};
    bool integer = starts(p->f->name, "asc_lm_");
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        integer |= strcmp(name, integers[i]) == 0;
    }
    return integer ? tokens : floats;
}

static asc_tensor *real_tensors(pick *p, const char *name)
{
    static asc_tensor tensors[128];
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        tensors[i] = i == 0 && p->hollow ? asc_null() : real_tensor(p, name);
    }
    return tensors;
}

/* Room for resulting tensors, which holds others before. */
static asc_tensor results[128];
static asc_tensor *real_results(pick *p, const char *name)
{
    (void)name;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        results[i] = floats;
    }
    p->results = true;
    return results;
}

/* Zeroed memory, of the argument's own: options with all defaults, room for results. */
static void *real_memory(int argument)
{
    static _Alignas(64) char memory[MOST_ARGUMENTS][1 << 14];
    return memset(memory[argument], 0, sizeof memory[argument]);
}

#define REAL(type, kind, value)                                                                                        \
    static type *real_##kind(pick *p, const char *name)                                                          \
    {                                                                                                                  \
        (void)p;                                                                                                       \
        (void)name;                                                                                                    \
        return value;                                                                                                  \
    }
REAL(asc_ctx, ctx, ctx)
REAL(asc_call, call, call)
REAL(const asc_op, op, asc_op_find(ctx, "relu"))
REAL(asc_params, params, params)
REAL(asc_optim, optim, optim)
REAL(asc_lm, lm, lm)
REAL(asc_lm_cache, lm_cache, cache)
REAL(asc_lm_carried, lm_carried, carried)
REAL(asc_layer, layer, layer)
REAL(asc_tokenizer, tokenizer, tokenizer)
REAL(asc_decoder, decoder, decoder)
REAL(asc_dataset, dataset, dataset)
REAL(asc_split, split, split)
REAL(asc_text, text, text)
REAL(asc_settings, settings, settings)
REAL(asc_profile, profile, profile)
REAL(asc_safetensors, safetensors, safetensors)
REAL(asc_model, model, &model)
REAL(asc_run, run, run_read)
REAL(asc_experiment, experiment, experiment)
REAL(asc_encoder, encoder, encoder)
REAL(asc_sentences, sentences, sentences)
REAL(asc_features, features, features)

static void piece_fn(void *arg, int64_t piece, int worker)
{
    (void)arg;
    (void)piece;
    (void)worker;
}

static asc_status recompute_fn(asc_ctx *in, void *user, const asc_tensor *inputs, asc_tensor *outputs)
{
    (void)in;
    (void)user;
    outputs[0] = inputs ? inputs[0] : floats;
    return ASC_OK;
}

static void observer(void *user, const asc_event *event)
{
    (void)user;
    (void)event;
}

static void hook(void *user, asc_tensor gradient)
{
    (void)user;
    (void)gradient;
}

static void real_release(void *user, void *data)
{
    (void)user;
    (void)data;
}

static bool real_go_on(void *user)
{
    (void)user;
    return true;
}

static bool real_token(void *user, int32_t id)
{
    (void)user;
    return id < 0;
}

static void real_tell(void *user, const asc_verified *file)
{
    (void)user;
    (void)file;
}

static bool real_found(void *user, const char *run)
{
    (void)user;
    return run == NULL;
}

static asc_status encoded_fn(void *user, int64_t i, int64_t n, const float *rows)
{
    (void)user;
    (void)i;
    (void)n;
    (void)rows;
    return ASC_OK;
}

REAL(asc_encoded_fn, encoded_fn, encoded_fn)
REAL(asc_piece_fn, piece_fn, piece_fn)
REAL(asc_recompute_fn, recompute_fn, recompute_fn)
REAL(asc_observer, observer, observer)
REAL(asc_grad_hook, grad_hook, hook)

#include "tests/house/null_calls.h"

/* The memory of the context stays with the process, so that what the calls return needs no free. */
static struct block {
    struct block *next;
} *blocks;

static void *keep_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    size_t head = align > sizeof *blocks ? align : sizeof *blocks;
    char *memory = NULL;
    if (posix_memalign((void **)&memory, align, head + bytes)) {
        return NULL;
    }
    *(struct block *)memory = (struct block){blocks};
    blocks = (struct block *)memory;
    return memory + head;
}

static void keep_free(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)memory;
    (void)bytes;
}

/* A run that has not begun to train. */
static asc_run *read_real_run(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/config.json", folder);
    asc_file_write_atomic(ctx, path, "{\"model\": {}}", 13);
    return asc_run_read(ctx, folder);
}

static asc_experiment *read_real_experiment(void)
{
    static const char text[] = "{\"systems\": {\"t\": {}}}";
    char path[128];
    snprintf(path, sizeof path, "%s/first.json", folder);
    asc_file_write_atomic(ctx, path, text, sizeof text - 1);
    return asc_experiment_read(ctx, path, NULL);
}

/* An encoder, a sentence, and what it is encoded as. */
static void make_features(void)
{
    char path[512];
    const char *top = getenv("abs_top_srcdir");
    snprintf(path, sizeof path, "%s/tests/train/encoder", top ? top : "..");
    encoder = asc_encoder_open(ctx, path, NULL);
    sentences = asc_sentences_new(ctx, asc_encoder_tokenizer(encoder), 8);
    asc_sentences_add(sentences, "a", 1);
    features = asc_features_open(encoder, sentences, NULL);
}

static void make_reals(void)
{
    ctx = asc_ctx_new(&(asc_options){.threads = 1, .allocator = {keep_alloc, keep_free, NULL}});
    make_folder();
    char path[128];
    snprintf(path, sizeof path, "%s/values.safetensors", folder);
    floats = asc_full(ctx, ASC_F32, 0.5, ASC_SHAPE(2, 3, 8));
    tokens = asc_zeros(ctx, ASC_I64, ASC_SHAPE(2, 3));
    params = asc_params_new(ctx);
    asc_params_add(params, "train", floats, false);
    optim = asc_adamw_new(ctx, params, &(asc_adamw_options){0});
    lm = asc_lm_new(ctx, lm_config, ASC_F32, 1);
    cache = asc_lm_cache_new(lm, 4);
    carried = asc_lm_carried_new(asc_lm_new(ctx, carrying_config, ASC_F32, 1), 2);
    layer = asc_layer_new(ctx, "transformer", 8, "{\"heads\": 2}", ASC_F32, 1);
    tokenizer = asc_tokenizer_new(ctx, "byte");
    decoder = asc_decoder_new(tokenizer);
    dataset = asc_dataset_open(ctx, "builtin:2000");
    split = asc_split_load(dataset, ASC_SPLIT_TEST, tokenizer);
    text = asc_text_open_memory(ctx, "text", "a line\n", 7, 0);
    settings = asc_settings_new(ctx);
    asc_settings_set(settings, "heads", "7"); /* of no model, so that nothing trains for long */
    asc_safetensors_write(ctx, path, &(asc_named_tensor){"train", floats}, 1, NULL, 0);
    safetensors = asc_safetensors_open(ctx, path);
    profile = asc_profile_new(ctx, 1);
    run_read = read_real_run();
    experiment = read_real_experiment();
    make_features();
    model = (asc_model){.lm = lm, .tokenizer = tokenizer, .batch = 1};
    no_error();
}

/* ---- one call ---- */

/* Functions that are for an op's own functions are called from one. */
static pick *picked;

static asc_status infer(asc_call *of)
{
    call = of;
    picked->f->call(picked);
    return ASC_ERR_ARG;
}

static asc_status forward(asc_call *of)
{
    (void)of;
    return ASC_OK;
}

static void run_in_call(pick *p)
{
    const asc_op op = {.abi = ASC_OP_ABI, .name = "op", .equation = "y", .inputs = "x", .n_out = 1, .infer = infer,
                       .forward = forward};
    picked = p;
    asc_apply1(ctx, &op, &floats, 1, NULL);
}

static pick *shared; /* with the children */

/* Makes the call with `standing` as the context's first error, "" for none. */
static void run(pick *p, const char *standing)
{
    asc_error_clear(ctx);
    if (*standing) {
        asc_fail(ctx, ASC_ERR_FORMAT, "%s", standing);
    }
    p->status = ASC_OK;
    p->none = false;
    *shared = *p;
    if (starts(p->f->name, "asc_call_") && !p->null[0]) {
        run_in_call(p);
    } else {
        p->f->call(p);
    }
}

static bool failed(const pick *p)
{
    return p->f->result == 's' ? p->status != ASC_OK : p->none;
}

/* ---- every function ---- */

static pick all_null(const function *f)
{
    pick p = {.f = f};
    for (int i = 0; f->kinds[i]; i++) {
        p.null[i] = strchr("cpt", f->kinds[i]) != NULL;
    }
    strcpy(p.how, "all are NULL or 0");
    return p;
}

static pick all_real(const function *f)
{
    pick p = {.f = f, .other = 1};
    for (int i = 0; f->kinds[i]; i++) {
        p.number[i] = 2;
    }
    return p;
}

#define EXPECT(condition, p, ...)                                                                                      \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("%s, %s: ", (p)->f->name, (p)->how);                                                                \
            printf(__VA_ARGS__);                                                                                       \
            printf("; the error is '%s'\n", asc_error_message(ctx));                                                   \
            bad++;                                                                                                     \
        }                                                                                                              \
    } while (0)

static int bad; /* expectations that did not hold */

/* Those that find nothing, which is no error. */
static bool finds(const function *f)
{
    static const char *const names[] = {"asc_op_find", "asc_set_label", "asc_error_message", "asc_tokenizer_kind_find",
                                        "asc_data_source_find", "asc_tokenizer_list", "asc_data_source_list",
                                        "asc_mixing_find"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        found |= strcmp(f->name, names[i]) == 0;
    }
    return found;
}

/* Those whose status is not their own. */
static bool tells(const function *f)
{
    return strcmp(f->name, "asc_error") == 0 || starts(f->name, "asc_fail");
}

/* "asc_call_view" by "call_view: …" or "op: call_view: …"; "asc_apply1" by "apply: …", too. */
static bool names(const char *message, const function *f)
{
    const char *name = f->name + strlen("asc_");
    return strstr(message, name) || strncmp(message, name, strcspn(message, ":")) == 0;
}

/* All NULL, with a context and without; then with an error that stands. */
static void call_with_nothing(const function *f)
{
    pick p = all_null(f);
    run(&p, "");
    EXPECT(f->result != 's' || p.status == ASC_ERR_ARG || tells(f), &p, "the status is %d", (int)p.status);
    if (f->kinds[0] != 'c' || strlen(f->kinds) == 1) {
        return;
    }
    p.null[0] = false;
    strcpy(p.how, "all are NULL or 0 but the context");
    run(&p, "");
    bool fails = failed(&p);
    EXPECT(f->result != 's' || asc_error(ctx) == p.status, &p, "the status is %d", (int)p.status);
    EXPECT(!fails || finds(f) || asc_error(ctx), &p, "it returns nothing and sets no error");
    strcpy(p.how, "all are NULL or 0 but the context, and an error stands");
    run(&p, "the first error");
    EXPECT(strcmp(f->name, "asc_error_clear") == 0 || strcmp(asc_error_message(ctx), "the first error") == 0, &p,
           "the first error is gone");
    EXPECT(!fails || failed(&p), &p, "an error hides that an argument is NULL");
    EXPECT(!fails || f->result != 's' || p.status == ASC_ERR_FORMAT, &p, "the status is %d", (int)p.status);
}

/* One NULL, all else real. */
static void call_with_one_null(const function *f, int i)
{
    pick p = all_real(f);
    p.null[i] = true;
    snprintf(p.how, sizeof p.how, "%s is NULL", f->argument[i]);
    run(&p, "");
    const char *message = asc_error_message(ctx);
    if (f->kinds[0] == 'c' && i > 0) {
        EXPECT(f->result != 's' || asc_error(ctx) == p.status || tells(f), &p, "the status is %d", (int)p.status);
        EXPECT(!failed(&p) || finds(f) || *message, &p, "it returns nothing and sets no error");
    }
    EXPECT(!failed(&p) || !p.results || asc_is_null(results[0]), &p, "a result is no null tensor");
    EXPECT(!strstr(message, " is NULL") || strstr(message, f->argument[i]), &p, "the argument is not named");
    EXPECT(!strstr(message, " is NULL") || names(message, f), &p, "the function is not named");
}

static void call_with_null_element(const function *f)
{
    pick p = all_real(f);
    p.hollow = true;
    strcpy(p.how, "a tensor of an array is null");
    run(&p, "");
}

static void call_with_number(const function *f, int i, int64_t number)
{
    pick p = all_real(f);
    p.number[i] = number;
    snprintf(p.how, sizeof p.how, "%s is %d", f->argument[i], (int)number);
    run(&p, "");
}

static int call_all_ways(const function *f)
{
    bad = 0;
    call_with_nothing(f);
    if (strchr(f->kinds, 'p') && strchr(f->kinds, 'i')) {
        call_with_null_element(f);
    }
    for (int i = 0; f->kinds[i]; i++) {
        if (strchr("cpt", f->kinds[i])) {
            call_with_one_null(f, i);
        } else if (f->kinds[i] == 'i') {
            call_with_number(f, i, -1);
            if (strcmp(f->argument[i], "runs") != 0) { /* which take their time, and are no index */
                call_with_number(f, i, 99);
            }
        }
    }
    fflush(stdout);
    return bad;
}

/* In a process of its own, so that a crash tells which function it was. */
static bool passes(const function *f)
{
    const char *fork_mode = getenv("CK_FORK");
    if (fork_mode && strcmp(fork_mode, "no") == 0) {
        return call_all_ways(f) == 0;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        _exit(call_all_ways(f) ? 1 : 0);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) || WEXITSTATUS(status) > 1) {
        printf("%s, %s: the process ended\n", f->name, shared->how);
    }
    return status == 0;
}

START_TEST(null_is_safe)
{
    int n = (int)(sizeof functions / sizeof *functions), n_exported = (int)(sizeof exported / sizeof *exported);
    int n_failed = 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    make_reals();
    for (int i = 0; i < n; i++) {
        n_failed += !passes(&functions[i]);
    }
    remove_tree(folder);
    printf("%d functions called, of %d exported; %d failed\n", n, n_exported, n_failed);
    for (int e = 0; e < n_exported; e++) {
        int times = 0;
        for (int i = 0; i < n; i++) {
            times += strcmp(functions[i].name, exported[e]) == 0;
        }
        ck_assert_msg(times == 1, "%s was called %d times", exported[e], times);
    }
    ck_assert_int_eq(n, n_exported);
    ck_assert_int_eq(n_failed, 0);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("all");
    tcase_add_test(t, null_is_safe);
    return run_suite("null", t);
}
