/* tests/train/test_features.c: features computed once, kept in parts, made again where they are damaged, and shared. */
#include "tests/train/encoder.h"

#include <dirent.h>
#include <sys/wait.h>

#include "tests/faults.h"
#include "train/run/claim.h"

static model drawn;
static char cache[128];

/* Told while features are opened. */
static struct {
    int progress, says;
    double done;
    char said[600];
    int stop_at; /* the progress that is the last; 0: none */
} told;

static void setup_features(void)
{
    setup();
    make_folder();
    drawn = (model){0};
    snprintf(cache, sizeof cache, "%s/kept/features", folder);
}

static void teardown_features(void)
{
    teardown();
    remove_tree(folder);
}

static void on_progress(void *user, double done)
{
    (void)user;
    told.progress++;
    ck_assert(done >= told.done && done <= 1);
    told.done = done;
}

static void on_say(void *user, const char *text)
{
    (void)user;
    told.says++;
    snprintf(told.said, sizeof told.said, "%s", text);
}

static bool goes_on(void *user)
{
    (void)user;
    return told.stop_at == 0 || told.progress < told.stop_at;
}

/* ---- lists of sentences ---- */

static const char *const words[] = {"a", "man", "plays", "the", "guitar", ".", "sings", "raining"};

/* n different sentences of 16 tokens each, but for the first two, which are equal and short. */
static asc_sentences *sentences_of(asc_encoder *encoder, int n, uint64_t seed)
{
    asc_sentences *s = asc_sentences_new(ctx, asc_encoder_tokenizer(encoder), POSITIONS);
    draw_state = seed;
    for (int i = 0; i < n; i++) {
        char text[300] = "a man";
        for (int k = 0; k < POSITIONS && i >= 2; k++) {
            strcat(strcat(text, " "), words[draw(8)]);
        }
        asc_sentences_add(s, text, strlen(text));
    }
    no_error();
    return s;
}

static asc_features *open_with(asc_encoder *encoder, const asc_sentences *s, asc_pooling_options pooling,
                               const char *where)
{
    memset(&told, 0, sizeof told);
    return asc_features_open(encoder, s, &(asc_features_options){pooling, where, on_progress, on_say, NULL});
}

static const asc_pooling_options all_states = {ASC_POOLING_NONE, 0, 0, false},
                                 windows = {ASC_POOLING_WINDOWS, 0, 0, false};

/* All rows of all sentences, one after another; to be freed. */
static float *rows_of(const asc_features *f, size_t *n)
{
    *n = 0;
    for (int64_t i = 0; i < asc_features_count(f); i++) {
        *n += (size_t)(asc_features_rows(f, i) * E);
    }
    float *rows = malloc(*n * sizeof *rows), *at = rows;
    for (int64_t i = asc_features_count(f) - 1; i >= 0; i--) {
        ck_assert_int_eq(asc_features_read(f, i, at), ASC_OK);
        at += asc_features_rows(f, i) * E;
    }
    return rows;
}

static void expect_same(const asc_features *a, const asc_features *b)
{
    size_t n, m;
    float *x = rows_of(a, &n), *y = rows_of(b, &m);
    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(x, y, n * sizeof *x);
    free(x);
    free(y);
}

/* The files of the cache whose names end so; the path of one of them. */
static int files_of(const char *ending, char path[256])
{
    int n = 0;
    DIR *outer = opendir(cache), *dir;
    for (struct dirent *list; outer && (list = readdir(outer));) {
        char name[256];
        snprintf(name, sizeof name, "%s/%.100s", cache, list->d_name);
        dir = *list->d_name == '.' ? NULL : opendir(name);
        for (struct dirent *file; dir && (file = readdir(dir));) {
            size_t length = strlen(file->d_name), wanted = strlen(ending);
            if (length > wanted && strcmp(file->d_name + length - wanted, ending) == 0) {
                n++;
                snprintf(path, 256, "%.150s/%.90s", name, file->d_name);
            }
        }
        if (dir) {
            closedir(dir);
        }
    }
    if (outer) {
        closedir(outer);
    }
    return n;
}

/* ---- reading ---- */

START_TEST(features_are_what_is_encoded)
{
    asc_encoder *encoder = open_drawn(&drawn);
    asc_sentences *s = sentences_of(encoder, 20, 3);
    asc_features *held = open_with(encoder, s, windows, NULL), *kept = open_with(encoder, s, windows, cache);
    no_error();
    ck_assert_int_eq(asc_features_count(kept), 20);
    ck_assert_int_eq(asc_features_dim(kept), E);
    ck_assert_int_eq(asc_features_most_rows(kept), 2);
    ck_assert(asc_features_rows(kept, 0) == 1 && asc_features_rows(kept, 2) == 2 && asc_features_rows(kept, 20) == 0);
    expect_same(held, kept);

    double expected[POSITIONS][E], mean[E] = {0};
    int64_t n, second, lengths[3];
    const int32_t *ids = asc_sentences_at(s, 5, &n, &second);
    float rows[3][3][E];
    ref_states(&drawn, ids, (int)n, (int)second, expected);
    asc_features_fill(kept, (int64_t[]){5, 0, 5}, 3, 3, &rows[0][0][0], lengths);
    no_error();
    ck_assert(lengths[0] == 2 && lengths[1] == 1 && lengths[2] == 2);
    for (int e = 0; e < E; e++) {
        for (int t = 8; t < 16; t++) {
            mean[e] += expected[t][e] / 8;
        }
        ck_assert_double_eq_tol(rows[0][1][e], mean[e], 1e-5);
        ck_assert(rows[0][2][e] == 0 && rows[1][1][e] == 0 && rows[2][1][e] == rows[0][1][e]);
    }
    asc_features_fill(kept, (int64_t[]){5}, 1, 1, &rows[0][0][0], lengths);
    expect_error(ASC_ERR_ARG, "features_fill: sentence 5 has 2 rows, expected at most 1");
    asc_features_read(kept, 20, &rows[0][0][0]);
    expect_error(ASC_ERR_ARG, "features_read: there is no sentence 20 of 20");
    asc_features_free(held);
    asc_features_free(kept);
    asc_sentences_free(s);
    asc_encoder_free(encoder);
}
END_TEST

/* ---- the cache ---- */

START_TEST(features_are_computed_once)
{
    asc_encoder *encoder = open_drawn(&drawn);
    asc_sentences *s = sentences_of(encoder, 30, 3), *other = sentences_of(encoder, 30, 4);
    char path[256];
    asc_features *first = open_with(encoder, s, windows, cache);
    ck_assert_int_gt(told.progress, 0);
    asc_features *second = open_with(encoder, s, windows, cache);
    ck_assert_int_eq(told.progress, 0);
    ck_assert_int_eq(files_of(".safetensors", path), 1);
    ck_assert_int_eq(files_of(".claim", path), 0);
    expect_same(first, second);
    asc_features_free(second);

    /* other sentences, pooling, weights: other features */
    asc_features_free(open_with(encoder, other, windows, cache));
    ck_assert_int_gt(told.progress, 0);
    asc_features_free(open_with(encoder, s, (asc_pooling_options){ASC_POOLING_WINDOWS, 8, 4, false}, cache));
    ck_assert_int_gt(told.progress, 0);
    drawn.tensor[0].value[5 * E] += 1;
    spill_weights(&drawn);
    asc_encoder *changed = asc_encoder_open(ctx, folder, NULL);
    asc_features_free(open_with(changed, s, windows, cache));
    ck_assert_int_gt(told.progress, 0);
    ck_assert_int_eq(files_of(".safetensors", path), 4);
    ck_assert_int_eq(told.says, 0);
    no_error();
    asc_features_free(first);
    asc_encoder_free(changed);
    asc_sentences_free(other);
    asc_sentences_free(s);
    asc_encoder_free(encoder);
}
END_TEST

/* The same sentences in another order, some of them twice. */
START_TEST(order_does_not_matter)
{
    asc_encoder *encoder = open_drawn(&drawn);
    asc_sentences *s = sentences_of(encoder, 9, 3);
    asc_sentences *turned = asc_sentences_new(ctx, asc_encoder_tokenizer(encoder), POSITIONS);
    asc_features *f = open_with(encoder, s, windows, cache);
    draw_state = 3;
    char texts[9][300];
    for (int i = 2; i < 9; i++) {
        strcpy(texts[i], "a man");
        for (int k = 0; k < POSITIONS; k++) {
            strcat(strcat(texts[i], " "), words[draw(8)]);
        }
    }
    for (int i = 8; i >= 2; i--) {
        asc_sentences_add(turned, texts[i], strlen(texts[i]));
    }
    asc_sentences_add(turned, texts[4], strlen(texts[4]));
    asc_sentences_add(turned, "a man", 5);
    asc_features *g = open_with(encoder, turned, windows, cache);
    ck_assert_int_eq(told.progress, 0);
    float a[2][E], b[2][E];
    asc_features_read(f, 4, a[0]);
    asc_features_read(g, 4, b[0]);
    ck_assert_mem_eq(a, b, sizeof a);
    asc_features_read(g, 7, b[0]);
    ck_assert_mem_eq(a, b, sizeof a);
    no_error();
    asc_features_free(f);
    asc_features_free(g);
    asc_sentences_free(turned);
    asc_sentences_free(s);
    asc_encoder_free(encoder);
}
END_TEST

START_TEST(damage_is_made_good)
{
    asc_encoder *encoder = open_drawn(&drawn);
    asc_sentences *s = sentences_of(encoder, 30, 3);
    char path[256];
    asc_features *first = open_with(encoder, s, windows, NULL);
    asc_features_free(open_with(encoder, s, windows, cache));
    ck_assert_int_eq(files_of(".safetensors", path), 1);
    for (int i = 0; i < 3; i++) {
        struct stat info;
        ck_assert_int_eq(stat(path, &info), 0);
        FILE *f = fopen(path, "r+b");
        fseek(f, -10, SEEK_END);
        fputs("x", f);
        fclose(f);
        if (i == 1) {
            ck_assert_int_eq(truncate(path, info.st_size - 4), 0);
        } else if (i == 2) {
            ck_assert_int_eq(asc_file_write_atomic(ctx, path, "{}", 2), ASC_OK);
        }
        asc_features *again = open_with(encoder, s, windows, cache);
        no_error();
        ck_assert_int_eq(told.says, 1);
        ck_assert_msg(strstr(told.said, "00000.safetensors: ") &&
                          strstr(told.said, "; its features are computed again"),
                      "%s", told.said);
        expect_same(first, again);
        asc_features_free(again);
    }
    asc_features_free(first);
    asc_sentences_free(s);
    asc_encoder_free(encoder);
}
END_TEST

START_TEST(without_a_place_they_are_held)
{
    asc_encoder *encoder = open_drawn(&drawn);
    asc_sentences *s = sentences_of(encoder, 30, 3);
    spill_file("kept", "a file", 6); /* in the folder's place */
    asc_features *f = open_with(encoder, s, windows, cache), *held = open_with(encoder, s, windows, "");
    no_error();
    ck_assert_int_eq(told.says, 0);
    expect_same(f, held);
    asc_features_free(f);
    f = open_with(encoder, s, windows, cache);
    ck_assert_int_eq(told.says, 1);
    ck_assert_msg(strstr(told.said, "; features are held in memory"), "%s", told.said);
    asc_features_free(f);
    asc_features_free(held);
    asc_sentences_free(s);
    asc_encoder_free(encoder);
}
END_TEST

/* ---- parts ---- */

enum { PARTS = 3, PART = (1 << 20) / (E * 4 * POSITIONS) }; /* sentences of a part, of 16 states each */

/* Interrupted twice, gone on with; no part is computed again. */
START_TEST(what_was_interrupted_goes_on)
{
    asc_encoder *encoder = open_drawn(&drawn);
    asc_sentences *s = sentences_of(encoder, PARTS * PART, 3);
    char path[256];
    asc_features *held = open_with(encoder, s, all_states, NULL);
    asc_set_interrupt(ctx, goes_on, NULL);
    int before = 0;
    for (int i = 0; i < 20 && before < PARTS; i++) {
        memset(&told, 0, sizeof told);
        told.stop_at = 2;
        asc_set_interrupt(ctx, goes_on, NULL);
        asc_features *f =
            asc_features_open(encoder, s, &(asc_features_options){all_states, cache, on_progress, on_say, NULL});
        int now = files_of(".safetensors", path);
        ck_assert_int_ge(now, before);
        before = now;
        if (f) {
            asc_features_free(f);
            break;
        }
        expect_error_with(ASC_ERR_INTERRUPTED, "interrupted");
        ck_assert_int_eq(files_of(".claim", path), 0);
    }
    asc_set_interrupt(ctx, NULL, NULL);
    asc_features *f = open_with(encoder, s, all_states, cache);
    no_error();
    ck_assert_int_eq(files_of(".safetensors", path), PARTS);
    expect_same(held, f);
    asc_features_free(f);
    asc_features_free(held);
    asc_sentences_free(s);
    asc_encoder_free(encoder);
}
END_TEST

static _Noreturn void be_a_worker(void)
{
    asc_ctx *own = asc_ctx_new(&(asc_options){.threads = 1});
    ctx = own;
    asc_encoder *encoder = asc_encoder_open(own, folder, NULL);
    asc_sentences *s = sentences_of(encoder, PARTS * PART, 3);
    asc_features *f = open_with(encoder, s, all_states, cache);
    _exit(f && !asc_error(own) ? 0 : 1);
}

START_TEST(several_processes_share_the_work)
{
    asc_encoder *encoder = open_drawn(&drawn);
    asc_sentences *s = sentences_of(encoder, PARTS * PART, 3);
    pid_t worker[3];
    for (int i = 0; i < 3; i++) {
        worker[i] = fork();
        if (worker[i] == 0) {
            be_a_worker();
        }
    }
    kill(worker[2], SIGKILL); /* whatever it does just now */
    asc_features *f = open_with(encoder, s, all_states, cache), *held = open_with(encoder, s, all_states, NULL);
    no_error();
    expect_same(f, held);
    for (int i = 0; i < 3; i++) {
        int status;
        ck_assert_int_eq(waitpid(worker[i], &status, 0), worker[i]);
        ck_assert(i == 2 || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    }
    asc_features_free(f);
    asc_features_free(held);
    asc_sentences_free(s);
    asc_encoder_free(encoder);
}
END_TEST

static bool not_waiting(void *user)
{
    (void)user;
    return told.says == 0;
}

/* Another holds the claim: it is waited for, until an interrupt ends that. */
START_TEST(a_claim_is_waited_for)
{
    asc_encoder *encoder = open_drawn(&drawn);
    asc_sentences *s = sentences_of(encoder, 30, 3);
    char path[256], claimed[300];
    asc_claim *claim;
    asc_claim_holder other;
    asc_features_free(open_with(encoder, s, windows, cache));
    files_of(".safetensors", path);
    remove(path);
    snprintf(claimed, sizeof claimed, "%.*s.claim", (int)(strlen(path) - strlen(".safetensors")), path);
    ck_assert_int_eq(asc_claim_take(ctx, claimed, &claim, &other), ASC_OK);
    ck_assert_ptr_nonnull(claim);
    memset(&told, 0, sizeof told);
    asc_set_interrupt(ctx, not_waiting, NULL);
    ck_assert_ptr_null(open_with(encoder, s, windows, cache));
    expect_error_with(ASC_ERR_INTERRUPTED, "interrupted");
    ck_assert_msg(strstr(told.said, "waiting for process "), "%s", told.said);
    asc_set_interrupt(ctx, NULL, NULL);
    asc_claim_drop(claim);
    asc_features_free(open_with(encoder, s, windows, cache));
    no_error();
    asc_sentences_free(s);
    asc_encoder_free(encoder);
}
END_TEST

/* ---- memory, and the place of caches ---- */

static double live(void)
{
    float rows[2 * E] = {0};
    remove_tree(cache);
    asc_encoder *encoder = asc_encoder_open(ctx, folder, NULL);
    asc_sentences *s = asc_sentences_new(ctx, asc_encoder_tokenizer(encoder), POSITIONS);
    asc_sentences_add(s, "a man", 5);
    asc_sentences_add(s, "a man plays the guitar . a man", 30);
    asc_features *f = open_with(encoder, s, windows, cache);
    asc_features_read(f, 1, rows);
    asc_features_free(f);
    asc_sentences_free(s);
    asc_encoder_free(encoder);
    return rows[3];
}

START_TEST(each_allocation_may_fail)
{
    spill_model(&drawn);
    ck_assert_int_gt(fail_each_allocation(live, false), 50);
}
END_TEST

START_TEST(caches_have_a_home)
{
    char path[64];
    setenv("HOME", "/home/ada", 1);
    setenv("XDG_CACHE_HOME", "/var/kept", 1);
    ck_assert_uint_eq(asc_cache_home(path, sizeof path), 17);
    ck_assert_str_eq(path, "/var/kept/ascgrad");
    setenv("XDG_CACHE_HOME", "not/from/the/root", 1);
    ck_assert_uint_eq(asc_cache_home(path, 6), 24);
    ck_assert_str_eq(path, "/home");
    setenv("HOME", "", 1);
    ck_assert_uint_eq(asc_cache_home(path, sizeof path), 0);
    ck_assert_str_eq(path, "");
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup_features, teardown_features);
    tcase_add_test(all, features_are_what_is_encoded);
    tcase_add_test(all, features_are_computed_once);
    tcase_add_test(all, order_does_not_matter);
    tcase_add_test(all, damage_is_made_good);
    tcase_add_test(all, without_a_place_they_are_held);
    tcase_add_test(all, what_was_interrupted_goes_on);
    tcase_add_test(all, several_processes_share_the_work);
    tcase_add_test(all, a_claim_is_waited_for);
    tcase_add_test(all, each_allocation_may_fail);
    tcase_add_test(all, caches_have_a_home);
    return run_suite("features", all);
}
