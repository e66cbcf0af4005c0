/* tests/data/test_tasks.c: tasks have the answers that a solver finds, who reads the words of the question alone;
 * splits are different, and the same every time; answers that are exchanged are right as often as chance has it. */
#include <math.h>
#include <stdlib.h>

#include "tests/data/fixture.h"

/* ---- solvers: the words of a sequence, and at each that is to be predicted the answer ---- */

#define LISTOPS_SQUARES .108
#define LISTOPS_MOST .155

enum { MOST = 5000, WORD = 24 };

typedef struct question {
    char word[MOST][WORD];
    bool answer[MOST];
    int n, at; /* words; the one that is to be predicted: those before it may be read */
} question;

typedef void solver(const question *q, char answer[WORD]);

static bool is(const question *q, int i, const char *word)
{
    return strcmp(q->word[i], word) == 0;
}

/* The value behind the key before it, where that key came first. */
static void solve_mqar(const question *q, char answer[WORD])
{
    for (int i = q->at - 2; i >= 0; i--) {
        if (is(q, i, q->word[q->at - 1])) {
            strcpy(answer, q->word[i + 1]);
        }
    }
}

/* The symbols before the bar, blanks left out: as many of them as stand behind it say which is next. */
static void solve_copy(const question *q, char answer[WORD])
{
    int bar = 0, symbols = 0;
    while (!is(q, bar, "|")) {
        bar++;
    }
    for (int i = 0; i < bar; i++) {
        if (!is(q, i, ".") && symbols++ == q->at - bar - 1) {
            strcpy(answer, q->word[i]);
        }
    }
}

static void solve_induction(const question *q, char answer[WORD])
{
    for (int i = q->at - 2; i >= 0; i--) {
        if (is(q, i, "*")) {
            strcpy(answer, q->word[i + 1]);
        }
    }
}

static void solve_needle(const question *q, char answer[WORD])
{
    const char *key = q->word[q->at - 2];
    for (int i = 0; i + 5 < q->at; i++) {
        if (is(q, i, "number") && is(q, i + 1, "of") && is(q, i + 2, key) && is(q, i + 3, "is")) {
            strcpy(answer, q->word[i + 4]);
        }
    }
}

static void solve_majority(const question *q, char answer[WORD])
{
    int most = 0;
    for (int i = 0; i < q->at - 1; i++) {
        int n = 0;
        for (int j = 0; j < q->at - 1; j++) {
            n += is(q, j, q->word[i]);
        }
        if (n > most) {
            most = n;
            strcpy(answer, q->word[i]);
        }
    }
}

/* The value of the expression at *at, which moves behind it. */
static int value_of(const question *q, int *at)
{
    const char *word = q->word[(*at)++];
    if (*word != '[') {
        return atoi(word);
    }
    int values[64], n = 0, sum = 0;
    while (!is(q, *at, "]")) {
        int v = value_of(q, at), i = n++;
        for (sum += v; i > 0 && values[i - 1] > v; i--) {
            values[i] = values[i - 1];
        }
        values[i] = v;
    }
    (*at)++;
    double median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2.0;
    return !strcmp(word, "[MIN") ? values[0] : !strcmp(word, "[MAX") ? values[n - 1]
           : !strcmp(word, "[MED") ? (int)floor(median) : sum % 10;
}

static void solve_listops(const question *q, char answer[WORD])
{
    int at = 0;
    sprintf(answer, "%d", value_of(q, &at));
    ck_assert_int_eq(at, q->at);
}

/* ---- tasks ---- */

static const struct {
    const char *spec;
    solver *solve;
    int inputs, answers; /* of the longest sequence; of each; 0: they vary */
    double chance;       /* 0: known to nobody, see below */
} tasks[] = {
    {"task:mqar:train=500,valid=500,test=500", solve_mqar, 64, 4, 2 / 8192.0},
    {"task:mqar:train=300,valid=300,test=300,length=33,vocab=40,pairs=8", solve_mqar, 33, 8, 2 / 40.0},
    {"task:mqar:train=20,valid=20,test=20,length=512,pairs=64", solve_mqar, 512, 64, 2 / 8192.0},
    {"task:copy:train=300,valid=300,test=300,length=20", solve_copy, 20, 10, 1 / 26.0},
    {"task:copy:train=30,valid=30,test=30,length=3,vocab=2", solve_copy, 2, 1, 1 / 2.0},
    {"task:selective-copy:train=200,valid=200,test=200", solve_copy, 256, 16, 1 / 16.0},
    {"task:selective-copy:train=300,valid=300,test=300,length=8,items=4,vocab=3", solve_copy, 8, 4, 1 / 3.0},
    {"task:induction:train=2k,valid=2e3,test=2000,length=40", solve_induction, 40, 1, 1 / 16.0},
    {"task:induction:train=2000,valid=2000,test=2000,length=3,vocab=4", solve_induction, 3, 1, 1 / 4.0},
    {"task:needle:train=2000,valid=2000,test=2000,length=40,numbers=10", solve_needle, 40, 1, 1 / 10.0},
    {"task:needle:train=50,valid=50,test=50,length=13,depth=0", solve_needle, 13, 1, 1 / 100.0},
    {"task:needle:train=50,valid=50,test=50,length=99,depth=100", solve_needle, 99, 1, 1 / 100.0},
    {"task:majority:train=2000,valid=2000,test=2000,length=20", solve_majority, 20, 1, 1 / 2.0},
    {"task:majority:train=2000,valid=2000,test=2000,length=30,classes=5", solve_majority, 30, 1, 1 / 5.0},
    {"task:listops:train=2000,valid=2000,test=2000,length=60,min=10", solve_listops, 0, 1, 0},
    {"task:listops:train=20,valid=20,test=20", solve_listops, 0, 1, 0},
};

enum { TASKS = sizeof tasks / sizeof *tasks, ANSWERS = 70 };

static asc_dataset *data;
static asc_tokenizer *words;

static void open_task(const char *spec)
{
    data = asc_dataset_open(ctx, spec);
    words = asc_tokenizer_new(ctx, "word");
    ck_assert_msg(asc_dataset_collect(data, words) == ASC_OK, "%s", asc_error_message(ctx));
}

static void close_task(void)
{
    asc_tokenizer_free(words);
    asc_dataset_free(data);
}

static void read_question(const asc_split *split, int64_t i, question *q)
{
    q->n = (int)(split->starts[i + 1] - split->starts[i]);
    ck_assert_int_le(q->n, MOST);
    for (int w = 0; w < q->n; w++) {
        size_t n;
        int64_t at = split->starts[i] + w;
        ck_assert_int_gt(split->tokens[at], 1); /* neither unknown nor the end of a line */
        const char *piece = asc_tokenizer_piece(words, split->tokens[at], &n);
        sprintf(q->word[w], "%.*s", (int)n, piece);
        q->answer[w] = !split->given[at];
    }
}

/* Answers that the sequence has, each as the solver says; the first ones into `found`. */
static int solve(question *q, solver *by, char found[ANSWERS][WORD])
{
    int n = 0;
    for (q->at = 0; q->at < q->n; q->at++) {
        if (q->answer[q->at]) {
            char answer[WORD] = "";
            by(q, answer);
            ck_assert_str_eq(q->word[q->at], answer);
            ck_assert_int_lt(n, ANSWERS);
            strcpy(found[n++], answer);
        }
    }
    return n;
}

START_TEST(a_solver_finds_every_answer)
{
    static question q;
    char found[ANSWERS][WORD];
    open_task(tasks[_i].spec);
    for (asc_split_kind kind = ASC_SPLIT_TRAIN; kind <= ASC_SPLIT_TEST; kind++) {
        asc_split *split = asc_split_load(data, kind, words);
        ck_assert_msg(split && split->n_sequences > 0, "%s", asc_error_message(ctx));
        for (int64_t i = 0; i < split->n_sequences; i++) {
            read_question(split, i, &q);
            ck_assert_int_eq(solve(&q, tasks[_i].solve, found), tasks[_i].answers);
            if (split->labels) {
                ck_assert_str_eq(found[0], asc_dataset_class(data, split->labels[i]));
            }
        }
        if (tasks[_i].inputs > 0) {
            ck_assert_int_eq(asc_split_longest(split), tasks[_i].inputs);
        }
        asc_split_free(ctx, split);
    }
    close_task();
}
END_TEST

/* Answers compared with those of the next sequence are right as often as chance: within five deviations, that of single
 * answers as if they were independent. */
START_TEST(exchanged_answers_are_right_by_chance)
{
    static question q;
    char last[ANSWERS][WORD], found[ANSWERS][WORD];
    double chance = tasks[_i].chance, n = 0, right = 0;
    open_task(tasks[_i].spec);
    asc_split *split = asc_split_load(data, ASC_SPLIT_TRAIN, words);
    for (int64_t i = 0; i < split->n_sequences && chance > 0; i++) {
        read_question(split, i, &q);
        int answers = solve(&q, tasks[_i].solve, found);
        for (int a = 0; a < answers && i > 0; a++) {
            right += strcmp(last[a], found[a]) == 0;
            n++;
        }
        memcpy(last, found, sizeof last);
    }
    if (chance > 0) {
        ck_assert_msg(fabs(right / n - chance) < 5 * sqrt(chance * (1 - chance) / n), "%s: %g, expected %g",
                      tasks[_i].spec, right / n, chance);
    }
    asc_split_free(ctx, split);
    close_task();
}
END_TEST

/* Of classes that are not as likely, Σ p², and always the most frequent one is right more often: doc/tasks.md. */
START_TEST(listops_has_the_chances_that_are_stated)
{
    open_task("task:listops:train=4000,length=200,min=50");
    asc_split *split = asc_split_load(data, ASC_SPLIT_TRAIN, words);
    double counts[10] = {0}, squares = 0, most = 0;
    for (int64_t i = 0; i < split->n_sequences; i++) {
        counts[split->labels[i]]++;
    }
    int deepest = 0, depth = 0;
    for (int64_t i = 0; i < split->n_tokens; i++) {
        size_t n;
        const char *piece = asc_tokenizer_piece(words, split->tokens[i], &n);
        depth += n > 1 && piece[0] == '[' && piece[1] != 'U' ? 1 : n == 1 && piece[0] == ']' ? -1 : 0;
        deepest = depth > deepest ? depth : deepest;
    }
    ck_assert_int_eq(deepest, 9); /* where the whole is at depth 1, and what stands at 10 is a digit */
    for (int c = 0; c < 10; c++) {
        double p = counts[c] / (double)split->n_sequences;
        ck_assert_double_gt(p, .04);
        squares += p * p;
        most = p > most ? p : most;
    }
    printf("listops: exchanged %.3f, the most frequent class %.3f\n", squares, most);
    ck_assert_double_eq_tol(squares, LISTOPS_SQUARES, .005);
    ck_assert_double_eq_tol(most, LISTOPS_MOST, .025);
    asc_split_free(ctx, split);
    close_task();
}
END_TEST

static bool same_tokens(const asc_split *a, const asc_split *b, int64_t n)
{
    return memcmp(a->tokens, b->tokens, (size_t)n * sizeof *a->tokens) == 0;
}

START_TEST(splits_differ_and_come_again)
{
    open_task("task:copy:train=20,valid=20,test=20");
    asc_split *train = asc_split_load(data, ASC_SPLIT_TRAIN, words),
              *again = asc_split_load(data, ASC_SPLIT_TRAIN, words);
    asc_split *valid = asc_split_load(data, ASC_SPLIT_VALID, words),
              *test = asc_split_load(data, ASC_SPLIT_TEST, words);
    ck_assert(same_tokens(train, again, train->n_tokens));
    ck_assert_uint_eq(train->checksum, again->checksum);
    ck_assert(!same_tokens(train, valid, 65) && !same_tokens(train, test, 65) && !same_tokens(valid, test, 65));
    asc_dataset *more = asc_dataset_open(ctx, "task:copy:train=30"), *other = asc_dataset_open(ctx, "task:copy:seed=2");
    asc_split *longer = asc_split_load(more, ASC_SPLIT_TRAIN, words),
              *seeded = asc_split_load(other, ASC_SPLIT_TRAIN, words);
    ck_assert_int_eq(longer->n_sequences, 30);
    ck_assert(same_tokens(train, longer, train->n_tokens)); /* more examples change none before */
    ck_assert(!same_tokens(train, seeded, 65));
    asc_split *all[] = {train, again, valid, test, longer, seeded};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        asc_split_free(ctx, all[i]);
    }
    asc_dataset_free(more);
    asc_dataset_free(other);
    close_task();
}
END_TEST

/* Half of all examples would be the same by chance if streams of splits were shifted against each other. */
START_TEST(no_example_is_in_two_splits)
{
    enum { N = 300 };
    open_task("task:copy:train=300,valid=300,test=300");
    asc_split *splits[3];
    for (asc_split_kind kind = ASC_SPLIT_TRAIN; kind <= ASC_SPLIT_TEST; kind++) {
        splits[kind] = asc_split_load(data, kind, words);
    }
    for (int i = 0; i < 3 * N; i++) {
        for (int j = 0; j < i; j++) {
            const asc_split *a = splits[i / N], *b = splits[j / N];
            ck_assert(memcmp(a->tokens + a->starts[i % N], b->tokens + b->starts[j % N], 65 * sizeof *a->tokens) != 0);
        }
    }
    for (int i = 0; i < 3; i++) {
        asc_split_free(ctx, splits[i]);
    }
    close_task();
}
END_TEST

START_TEST(a_task_is_stretched)
{
    open_task("task:mqar:length=64,valid=5,vocab=100");
    int64_t before = asc_tokenizer_size(words);
    ck_assert_int_eq(asc_dataset_stretch(data, 256), ASC_OK);
    ck_assert_int_eq(asc_dataset_collect(data, words), ASC_OK);
    ck_assert_int_eq(asc_tokenizer_size(words), before);
    asc_split *split = asc_split_load(data, ASC_SPLIT_VALID, words);
    ck_assert_int_eq(asc_split_longest(split), 256);
    ck_assert_int_eq(asc_split_targets(split), 5 * 16); /* pairs follow the length */
    asc_split_free(ctx, split);
    ck_assert_int_eq(asc_dataset_stretch(data, 3), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "length is 3, expected 4 to 1048576 for task:mqar");
    close_task();
    data = asc_dataset_open(ctx, "builtin:100");
    ck_assert_int_eq(asc_dataset_stretch(data, 3), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "length is 3, but the sequences of builtin:100 have lengths of their own");
    asc_dataset_free(data);
}
END_TEST

START_TEST(wrong_specs_are_refused)
{
    static const char *const wrong[][2] = {
        {"task", "expected task:NAME[:KEY=VALUE,...]"},
        {"task:mqra", "there is no task 'mqra'; did you mean 'mqar'?"},
        {"task:mqar:lenght=3", "there is no setting 'lenght'; did you mean 'length'?"},
        {"task:mqar:length=many", "length is 'many', expected length=N, a whole number from 4 to 1048576"},
        {"task:mqar:length", "length is '', expected length=N"},
        {"task:mqar:pairs=17", "17 pairs, expected at most 16"},
        {"task:mqar:pairs=10,vocab=20", "fewer than 10, half of vocab"},
        {"task:copy:vocab=1", "vocab is '1', expected vocab=N, a whole number from 2 to 65536"},
        {"task:copy:train=0", "train is '0'"},
        {"task:copy:length=8,length=9", "length is there twice"},
        {"task:selective-copy:length=20", "16 items, and then their copy, don't go into a length of 20"},
        {"task:needle:depth=101", "from -1 to 100"},
        {"task:listops:min=9,length=8", "min is 9, expected at most the length, 8"},
        {"task:listops:min=2,length=3", "an expression is a digit or has 4 tokens and more"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_ptr_null(asc_dataset_open(ctx, wrong[i][0]));
        expect_error_with(ASC_ERR_ARG, wrong[i][1]);
    }
    open_task("task:listops:min=90,length=100,depth=3,args=3,train=1");
    ck_assert_ptr_null(asc_split_load(data, ASC_SPLIT_TRAIN, words));
    expect_error_with(ASC_ERR_ARG, "has 90 to 100 tokens; more depth or args make longer ones");
    close_task();
    open_task("task:listops:min=290,length=300,depth=64,args=64,train=1");
    ck_assert_ptr_null(asc_split_load(data, ASC_SPLIT_TRAIN, words));
    expect_error_with(ASC_ERR_ARG, "has 290 to 300 tokens; less depth or args make shorter ones");
    close_task();
}
END_TEST

/* ---- blocks of sequences ---- */

START_TEST(a_sequence_is_a_block)
{
    static const int32_t tokens[] = {10, 11, 12, 20, 21, 22, 23}, labels[] = {1, 0};
    static const int64_t starts[] = {0, 3, 7};
    static const uint8_t given[] = {1, 1, 0, 1, 1, 0, 0};
    const asc_split split = {.tokens = tokens, .n_tokens = 7, .given = given, .starts = starts, .n_sequences = 2,
                             .labels = labels, .classes = 2};
    const int32_t both[] = {0, 1};
    int64_t x[6], y[6], lengths[2], classes[2];
    ck_assert_int_eq(asc_split_blocks(&split, 99, false), 2);
    ck_assert_int_eq(asc_split_longest(&split), 3);
    ck_assert_int_eq(asc_split_width(&split, 99, both, 1), 2);
    ck_assert_int_eq(asc_split_targets(&split), 3);
    ck_assert_int_eq(asc_block_targets(&split, 99, both, 2), 3);
    ck_assert_int_eq(asc_block_fill(ctx, &split, 99, both, 2, x, y), ASC_OK);
    ck_assert_mem_eq(x, ((int64_t[]){10, 11, 0, 20, 21, 22}), sizeof x);
    ck_assert_mem_eq(y, ((int64_t[]){-1, 12, -1, -1, 22, 23}), sizeof y);
    ck_assert_int_eq(asc_class_width(&split, both, 2), 2);
    ck_assert_int_eq(asc_class_fill(ctx, &split, both, 2, x, lengths, classes), ASC_OK);
    ck_assert_mem_eq(x, ((int64_t[]){10, 11, 20, 21}), 4 * sizeof *x);
    ck_assert_mem_eq(lengths, ((int64_t[]){2, 2}), sizeof lengths);
    ck_assert_mem_eq(classes, ((int64_t[]){1, 0}), sizeof classes);
    ck_assert_int_eq(asc_block_fill(ctx, &split, 99, (int32_t[]){2}, 1, x, y), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "block 2 has 0 inputs");
    ck_assert_int_eq(asc_class_fill(ctx, &split, (int32_t[]){-1}, 1, x, lengths, classes), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "sequence -1 has 0 inputs");
}
END_TEST

static asc_split *make_split(void)
{
    data = asc_dataset_open(ctx, "task:majority:train=100");
    words = asc_tokenizer_new(ctx, "word");
    asc_split *split = asc_dataset_collect(data, words) ? NULL : asc_split_load(data, ASC_SPLIT_TRAIN, words);
    close_task();
    return split;
}

START_TEST(survives_failed_allocations)
{
    fail_each_allocation_of(make_split);
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, a_solver_finds_every_answer, 0, TASKS);
    tcase_add_loop_test(all, exchanged_answers_are_right_by_chance, 0, TASKS);
    tcase_add_test(all, listops_has_the_chances_that_are_stated);
    tcase_add_test(all, splits_differ_and_come_again);
    tcase_add_test(all, no_example_is_in_two_splits);
    tcase_add_test(all, a_task_is_stretched);
    tcase_add_test(all, wrong_specs_are_refused);
    tcase_add_test(all, a_sequence_is_a_block);
    tcase_add_test(all, survives_failed_allocations);
    return run_data_suite("data/tasks", all);
}
