/* tests/train/test_generate.c: how tokens are drawn, and text that is continued: where it stops, what is given when. */
#include <ascgrad/ops.h>

#include "tests/faults.h"
#include "tests/train/runs.h"

/* ---- drawing ---- */

static int64_t draw_after(const double *logits, int64_t n, const int32_t *before, int64_t n_before, asc_sampling s)
{
    asc_tensor t = asc_from(ctx, ASC_F64, logits, 1, &n);
    int64_t id = asc_sample_after(ctx, t, before, n_before, &s, 0);
    asc_release(t);
    return id;
}

/* A positive logit is divided, a negative one multiplied, once each; others stay as they are. */
START_TEST(the_penalty_is_its_formula)
{
    const asc_sampling most = {.top_p = 1, .repeat_penalty = 1.5}, none = {.top_p = 1},
                       one = {.top_p = 1, .repeat_penalty = 1};
    static const struct {
        double logits[3];
        int32_t before[2];
        int n, expected;
    } cases[] = {
        {{2, 1.34, 0}, {0, 0}, 1, 1},    /* 2 / 1.5 < 1.34 */
        {{2, 1.33, 0}, {0, 0}, 1, 0},    /* 2 / 1.5 > 1.33 */
        {{2, 1.33, 0}, {0, 0}, 2, 0},    /* no less for standing there twice */
        {{-1, -1.49, -9}, {0, 0}, 1, 1}, /* -1 · 1.5 < -1.49 */
        {{-1, -1.51, -9}, {0, 0}, 1, 0}, {{2, 1.9, 1.4}, {0, 1}, 2, 2},
        {{2, 1.9, 1.4}, {1, 2}, 2, 0},   {{2, 1.9, 1.4}, {0, 0}, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t got = draw_after(cases[i].logits, 3, cases[i].before, cases[i].n, most);
        ck_assert_msg(got == cases[i].expected, "case %zu: %lld", i, (long long)got);
        ck_assert_int_eq(draw_after(cases[i].logits, 3, cases[i].before, cases[i].n, none), 0);
        ck_assert_int_eq(draw_after(cases[i].logits, 3, cases[i].before, cases[i].n, one), 0);
    }
}
END_TEST

/* ---- the order of the draws ---- */

enum { DRAWN = 40 };

/* One step of a draw, by the definition: the candidates in order, those that the bounds leave, and the first at which
 * their sum is above u. */
static int64_t draw_by_sorting(const double *logits, const asc_sampling *s, double u)
{
    int order[DRAWN];
    double p[DRAWN], sum = 0, kept = 0, passed = 0;
    for (int i = 0; i < DRAWN; i++) {
        int j = i;
        for (; j > 0 && logits[order[j - 1]] < logits[i]; j--) {
            order[j] = order[j - 1];
        }
        order[j] = i;
    }
    int most = s->top_k > 0 ? (int)s->top_k : DRAWN, n = 0;
    for (int i = 0; i < most; i++) {
        sum += p[i] = exp((logits[order[i]] - logits[order[0]]) / s->temperature);
    }
    while (n < most && (n == 0 || (kept < s->top_p * sum && p[n] >= s->min_p))) {
        kept += p[n++];
    }
    int at = 0;
    while (at + 1 < n && (passed += p[at]) <= u * kept) {
        at++;
    }
    return order[at];
}

START_TEST(a_draw_is_the_same_as_from_the_sorted_tokens)
{
    static const asc_sampling cases[] = {
        {.temperature = 1, .top_p = 1, .seed = 3},
        {.temperature = 3, .top_p = 0.9, .seed = 4},
        {.temperature = 0.5, .top_p = 1, .top_k = 7, .seed = 5},
        {.temperature = 2, .top_p = 0.8, .top_k = 30, .min_p = 0.1, .seed = 6},
        {.temperature = 2, .top_p = 1, .min_p = 0.2, .seed = 7},
    };
    const int64_t n = DRAWN;
    double logits[DRAWN];
    for (int i = 0; i < DRAWN; i++) {
        logits[i] = (double)(i * 17 % 13) / 3; /* many are alike: the lower id comes first */
    }
    asc_tensor t = asc_from(ctx, ASC_F64, logits, 1, &n);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        for (uint64_t d = 0; d < 300; d++) {
            asc_scope_begin(ctx);
            double u = asc_item(asc_uniform(ctx, ASC_F64, 0, 1, cases[k].seed, d, 0, NULL));
            ck_assert_int_eq(asc_sample_token(ctx, t, &cases[k], d), draw_by_sorting(logits, &cases[k], u));
            asc_scope_end(ctx);
        }
    }
    asc_release(t);
}
END_TEST

static void draw_often(const double *p, int n, asc_sampling s, bool *seen)
{
    double logits[8];
    int64_t size = n;
    for (int i = 0; i < n; i++) {
        logits[i] = s.temperature * log(p[i]);
        seen[i] = false;
    }
    asc_tensor t = asc_from(ctx, ASC_F64, logits, 1, &size);
    for (uint64_t d = 0; d < 200; d++) {
        seen[asc_sample_token(ctx, t, &s, d)] = true;
    }
    asc_release(t);
}

/* At any temperature a fraction of the greatest probability; the stricter of two bounds holds. */
START_TEST(min_p_is_a_share_of_the_most_probable)
{
    const double p[] = {0.1, 0.4, 0.2, 0.3};
    bool seen[4];
    for (int t = 1; t <= 3; t++) {
        asc_sampling s = {.temperature = t, .top_p = 1, .seed = 1, .min_p = 0.4};
        draw_often(p, 4, s, seen);
        ck_assert(!seen[0] && seen[1] && seen[2] && seen[3]);
        s.min_p = 0.6;
        draw_often(p, 4, s, seen);
        ck_assert(!seen[0] && seen[1] && !seen[2] && seen[3]);
        s.min_p = 1;
        draw_often(p, 4, s, seen);
        ck_assert(!seen[0] && seen[1] && !seen[2] && !seen[3]);
        s.min_p = 0.4;
        s.top_p = 0.6;
        draw_often(p, 4, s, seen);
        ck_assert(!seen[0] && seen[1] && !seen[2] && seen[3]);
    }
}
END_TEST

/* As who bans tokens has them. */
START_TEST(what_has_no_probability_is_never_drawn)
{
    const double p[] = {0, 0.5, 0, 0.5};
    for (int i = 0; i < 4; i++) {
        bool seen[4];
        draw_often(p, 4, (asc_sampling){.temperature = 1, .top_p = i == 1 ? 0.99 : 1, .top_k = i == 2 ? 3 : 0,
                                        .min_p = i == 3 ? 1e-9 : 0}, seen);
        ck_assert(!seen[0] && seen[1] && !seen[2] && seen[3]);
    }
    ck_assert_int_eq(draw_after((double[]){-INFINITY, -1}, 2, (int32_t[]){0, 1}, 2,
                                (asc_sampling){.top_p = 1, .repeat_penalty = 2}), 1);
}
END_TEST

START_TEST(draws_that_are_refused)
{
    const double logits[] = {0, 1}, none[] = {-INFINITY, -INFINITY}, wild[2][2] = {{0, INFINITY}, {NAN, 0}};
    const int32_t beyond[] = {2}, below[] = {-1};
    const asc_sampling fine = {.top_p = 1};
    const asc_sampling wrong[] = {{.top_p = 1, .min_p = -0.1},
                                  {.top_p = 1, .min_p = 1.1},
                                  {.top_p = 1, .min_p = NAN},
                                  {.top_p = 1, .repeat_penalty = -1},
                                  {.top_p = 1, .repeat_penalty = INFINITY},
                                  {.top_p = 1, .nth = 1 << 24}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(draw_after(logits, 2, NULL, 0, wrong[i]), -1);
        expect_error_with(ASC_ERR_ARG, i < 3 ? "min_p" : i < 5 ? "repeat_penalty" : "nth 16777216");
    }
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(draw_after(wild[i], 2, NULL, 0, fine), -1);
        expect_error(ASC_ERR_NONFINITE, "sample: a logit is inf or nan");
    }
    ck_assert_int_eq(draw_after(none, 2, NULL, 0, fine), -1);
    expect_error(ASC_ERR_NONFINITE, "sample: each logit is -inf");
    ck_assert_int_eq(draw_after(logits, 2, beyond, 1, fine), -1);
    expect_error_with(ASC_ERR_ARG, "before[0] is 2, expected 0 … 1");
    ck_assert_int_eq(draw_after(logits, 2, below, 1, fine), -1);
    expect_error_with(ASC_ERR_ARG, "before[0] is -1");
}
END_TEST

/* ---- models ---- */

static asc_model *open_model(const char *tokenizer)
{
    const char *const pairs[][2] = {{"tokenizer", tokenizer}, {"steps", "3"}, {"lr", "1e-6"}};
    train_with(run_path, pairs, 3);
    asc_model *m = asc_model_open(ctx, run_path, NULL, NULL);
    ck_assert_msg(m != NULL, "%s", asc_error_message(ctx));
    return m;
}

typedef struct ids {
    int32_t id[64];
    int n;
} ids;

static bool take_id(void *user, int32_t id)
{
    ids *all = user;
    all->id[all->n++] = id;
    return true;
}

/* Greedy tokens with the penalty are those of full passes, with prompt and continuation before. */
START_TEST(generation_remembers_what_was_there)
{
    asc_model *m = open_model("word");
    const int32_t prompt[2] = {5, 6};
    ids got = {.n = 0}, plain = {.n = 0};
    asc_sampling s = {.top_p = 1, .repeat_penalty = 3};
    ck_assert_int_eq(asc_generate(ctx, m, prompt, 2, 6, &s, take_id, &got), ASC_OK);
    s.repeat_penalty = 0;
    ck_assert_int_eq(asc_generate(ctx, m, prompt, 2, 6, &s, take_id, &plain), ASC_OK);
    ck_assert(got.n == 6 && memcmp(got.id, plain.id, sizeof got.id) != 0);
    int64_t held[8] = {5, 6}, n = 2;
    int32_t before[8] = {5, 6};
    asc_set_recording(ctx, false);
    s.repeat_penalty = 3;
    for (int i = 0; i < 6; i++) {
        asc_scope_begin(ctx);
        int64_t V = asc_lm_vocab(m->lm);
        asc_tensor logits = asc_lm_logits(m->lm, asc_from(ctx, ASC_I64, held, 2, (int64_t[]){1, n}));
        asc_tensor last = asc_reshape(ctx, asc_slice(ctx, logits, 1, n - 1, n, 1), 1, &V);
        ck_assert_int_eq(asc_sample_after(ctx, last, before, n, &s, (uint64_t)i), got.id[i]);
        asc_scope_end(ctx);
        before[n] = got.id[i];
        held[n++] = got.id[i];
    }
    asc_model_free(ctx, m);
}
END_TEST

/* Without a prompt a text begins a line: it goes on from the end of one, a token or a byte. */
START_TEST(a_text_without_a_prompt_begins_a_line)
{
    asc_model *m = open_model(_i == 0 ? "word" : "byte");
    asc_ids line = {0};
    ids got = {.n = 0}, wanted = {.n = 0};
    asc_sampling s = {.temperature = 1, .top_p = 1, .seed = 3};
    ck_assert_int_eq(asc_tokenizer_encode(m->tokenizer, "\n", 1, 0, &line), ASC_OK);
    ck_assert_uint_eq(line.n, 1);
    ck_assert_int_eq(asc_generate(ctx, m, line.data, 1, 20, &s, take_id, &wanted), ASC_OK);
    ck_assert_int_eq(asc_generate(ctx, m, NULL, 0, 20, &s, take_id, &got), ASC_OK);
    ck_assert(got.n == 20 && memcmp(got.id, wanted.id, sizeof got.id) == 0);
    asc_ids_free(ctx, &line);
    asc_model_free(ctx, m);
}
END_TEST

/* ---- text ---- */

typedef struct told {
    char text[2000];
    size_t n;
    int pieces, most; /* pieces; refuses the one after so many */
} told;

/* A piece is whole characters, and none is empty. */
static bool take_text(void *user, const char *text, size_t n)
{
    told *t = user;
    ck_assert(n > 0 && t->n + n < sizeof t->text && ((unsigned char)text[0] & 0xc0) != 0x80);
    size_t last = n - 1;
    while (last > 0 && ((unsigned char)text[last] & 0xc0) == 0x80) {
        last--;
    }
    unsigned char lead = (unsigned char)text[last];
    ck_assert_uint_eq(n - last, lead < 0x80 ? 1u : lead < 0xe0 ? 2u : lead < 0xf0 ? 3u : 4u);
    memcpy(t->text + t->n, text, n);
    t->n += n;
    t->text[t->n] = '\0';
    t->pieces++;
    return t->most == 0 || t->pieces <= t->most;
}

static told tell(const asc_model *m, const char *prompt, int64_t tokens, const char *const *stop, asc_written *written)
{
    told t = {.n = 0};
    asc_writing w = {.tokens = tokens,
                     .sampling = {.temperature = 1, .top_p = 1, .seed = 3},
                     .stop = stop,
                     .text = take_text,
                     .user = &t};
    asc_status status = asc_generate_text(ctx, m, prompt, strlen(prompt), &w, written);
    ck_assert_msg(status == ASC_OK, "%s", asc_error_message(ctx));
    return t;
}

/* Where a text ends: before what is first complete, of two that end together before the longer. */
static size_t find_end(const told *t, const char *const *stop)
{
    for (size_t end = 0; end <= t->n; end++) {
        size_t longest = 0;
        for (int i = 0; stop[i]; i++) {
            size_t n = strlen(stop[i]);
            bool here = n <= end && memcmp(t->text + end - n, stop[i], n) == 0;
            longest = here && n > longest ? n : longest;
        }
        if (longest > 0) {
            return end - longest;
        }
    }
    return t->n;
}

/* A part of the text, moved to where characters begin. */
static const char *part_of(const told *t, size_t start, size_t n, const char *after, char *text)
{
    size_t end = start + n < t->n ? start + n : t->n;
    while (start > 0 && ((unsigned char)t->text[start] & 0xc0) == 0x80) {
        start--;
    }
    while (end < t->n && ((unsigned char)t->text[end] & 0xc0) == 0x80) {
        end++;
    }
    sprintf(text, "%.*s%s", (int)(end - start), t->text + start, after);
    return text;
}

/* Whatever parts of the text are stops, it ends there, wherever its tokens end; what only began as one, came to the end
 * as one, or would be one with what follows comes whole. */
static void try_stops(const asc_model *m, const char *prompt)
{
    asc_written written;
    told whole = tell(m, prompt, 40, NULL, &written);
    ck_assert(written.end == ASC_WRITING_END_TOKENS && written.tokens == 40 && written.seconds >= 0 && whole.n > 20);
    for (size_t start = 0; start + 1 < whole.n; start += 4) {
        for (size_t n = 1; n < 12; n += 3) {
            char one[60], two[60], none[60];
            const char *stop[] = {part_of(&whole, start, n, "", one), part_of(&whole, start + 1, 2 * n, "", two),
                                  part_of(&whole, start / 2, n, "\1", none), NULL};
            told part = tell(m, prompt, 40, stop, &written);
            ck_assert_msg(part.n == find_end(&whole, stop), "'%s' or '%s': %zu", one, two, part.n);
            ck_assert_int_eq(memcmp(part.text, whole.text, part.n), 0);
            ck_assert(written.end == ASC_WRITING_END_STOP && written.tokens <= 40);
            part = tell(m, prompt, 40, stop + 2, &written);
            ck_assert_msg(part.n == whole.n && written.end == ASC_WRITING_END_TOKENS, "'%s': %zu", none, part.n);
        }
    }
}

START_TEST(a_stop_ends_the_text)
{
    asc_model *m = open_model(_i == 0 ? "byte" : "word");
    try_stops(m, _i == 0 ? "caf\xc3\xa9" : "the king");
    try_stops(m, "");
    asc_model_free(ctx, m);
}
END_TEST

START_TEST(stops_that_are_refused)
{
    asc_model *m = open_model("byte");
    static const char *const wrong[] = {"", "\xc3", "\xa9", "a\xff"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        told t = {.n = 0};
        const char *stop[] = {"fine", wrong[i], NULL};
        asc_writing w = {.tokens = 1, .sampling = {.top_p = 1}, .stop = stop, .text = take_text, .user = &t};
        ck_assert_int_eq(asc_generate_text(ctx, m, "", 0, &w, NULL), ASC_ERR_ARG);
        ck_assert_str_eq(asc_error_subject(ctx), "stop");
        expect_error_with(ASC_ERR_ARG, "expected a text in UTF-8");
        ck_assert_uint_eq(t.n, 0);
    }
    asc_model_free(ctx, m);
}
END_TEST

/* ---- who ends it, how often, with which memory ---- */

START_TEST(a_listener_ends_the_text)
{
    asc_model *m = open_model("byte");
    told t = {.most = 2};
    asc_writing w = {.tokens = 50, .sampling = {.temperature = 1, .top_p = 1}, .text = take_text, .user = &t};
    asc_written written;
    ck_assert_int_eq(asc_generate_text(ctx, m, "a", 1, &w, &written), ASC_OK);
    ck_assert(t.pieces == 3 && written.end == ASC_WRITING_END_REFUSED && written.tokens < 50);
    asc_model_free(ctx, m);
}
END_TEST

static bool never(void *user)
{
    (void)user;
    return false;
}

/* Whoever is asked while it computes; the next text is whole again. */
START_TEST(a_user_ends_the_text)
{
    asc_model *m = open_model("byte");
    told whole = tell(m, "a prompt", 20, NULL, NULL), t;
    asc_writing endless = {.tokens = INT64_MAX, .sampling = {.top_p = 1}};
    asc_set_interrupt(ctx, never, NULL);
    ck_assert_int_eq(asc_generate_text(ctx, m, "a prompt", 8, &endless, NULL), ASC_ERR_INTERRUPTED);
    asc_set_interrupt(ctx, NULL, NULL);
    asc_error_clear(ctx);
    t = tell(m, "a prompt", 20, NULL, NULL);
    ck_assert(t.n == whole.n && memcmp(t.text, whole.text, t.n) == 0);
    asc_model_free(ctx, m);
}
END_TEST

/* Each of a seed's continuations has draws of its own, and the same each time. */
START_TEST(continuations_of_a_seed)
{
    asc_model *m = open_model("word");
    ids all[8];
    for (int i = 0; i < 8; i++) {
        all[i] = (ids){.n = 0};
        asc_sampling s = {.temperature = 1, .top_p = 1, .seed = 3, .nth = (uint64_t)i / 2};
        ck_assert_int_eq(asc_generate(ctx, m, NULL, 0, 20, &s, take_id, &all[i]), ASC_OK);
        for (int before = 0; before < i; before++) {
            bool same = memcmp(all[i].id, all[before].id, sizeof all[i].id) == 0;
            ck_assert_int_eq(same, before / 2 == i / 2);
        }
    }
    asc_model_free(ctx, m);
}
END_TEST

static double writes(void)
{
    asc_model *m = asc_model_open(ctx, run_path, NULL, NULL);
    told t = {.n = 0};
    const char *stop[] = {"\1\1\1", NULL};
    asc_writing w = {
        .tokens = 4, .sampling = {.top_p = 1, .repeat_penalty = 2}, .stop = stop, .text = take_text, .user = &t};
    asc_generate_text(ctx, m, "ab", 2, &w, NULL);
    asc_model_free(ctx, m);
    return (double)t.n;
}

START_TEST(allocations_that_fail)
{
    asc_model_free(ctx, open_model("byte"));
    ck_assert_int_gt(fail_each_allocation(writes, true), 10);
}
END_TEST

int main(void)
{
    TCase *drawn = tcase_create("drawn"), *written = tcase_create("written");
    tcase_add_checked_fixture(drawn, setup_one_thread, teardown);
    tcase_add_test(drawn, the_penalty_is_its_formula);
    tcase_add_test(drawn, a_draw_is_the_same_as_from_the_sorted_tokens);
    tcase_add_test(drawn, min_p_is_a_share_of_the_most_probable);
    tcase_add_test(drawn, what_has_no_probability_is_never_drawn);
    tcase_add_test(drawn, draws_that_are_refused);
    tcase_add_checked_fixture(written, setup_runs, teardown_runs);
    tcase_add_test(written, generation_remembers_what_was_there);
    tcase_add_loop_test(written, a_text_without_a_prompt_begins_a_line, 0, 2);
    tcase_add_loop_test(written, a_stop_ends_the_text, 0, 2);
    tcase_add_test(written, stops_that_are_refused);
    tcase_add_test(written, a_listener_ends_the_text);
    tcase_add_test(written, a_user_ends_the_text);
    tcase_add_test(written, continuations_of_a_seed);
    tcase_add_test(written, allocations_that_fail);
    return run_suite("train/generate", drawn, written);
}
