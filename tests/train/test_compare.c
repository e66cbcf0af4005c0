/* tests/train/test_compare.c: systems compared over items and seeds, by scores made by hand. */
#include <math.h>
#include <string.h>

#include <ascgrad/compare.h>

#include "tests/context.h"
#include "tests/draw.h"

static void is_close(double got, double want, double tolerance)
{
    ck_assert_msg(fabs(got - want) <= tolerance, "got %.17g, expected %.17g", got, want);
}

/* ---- scores made by hand ---- */

enum { ITEMS = 60, SEEDS = 7 };

typedef struct made {
    asc_score_part block[ITEMS], line[ITEMS];
    asc_scores scores;
} made;

/* Blocks of 8 tokens, each on a line of 20 bytes. */
static void make_scores(made *m, const double *loss, int64_t n)
{
    double nats = 0;
    for (int64_t i = 0; i < n; i++) {
        m->block[i] = (asc_score_part){8 * loss[i], 8, 0, 0};
        m->line[i] = (asc_score_part){8 * loss[i], 8, 20, 0};
        nats += 8 * loss[i];
    }
    m->scores = (asc_scores){.result = {.tokens = 8 * n, .loss = nats / (8. * (double)n)},
                             .parameters = 9,
                             .block = 8,
                             .text_checksum = 1,
                             .token_checksum = 2,
                             .seed = -1,
                             .tokens_per_s = NAN,
                             .n_blocks = n,
                             .n_lines = n,
                             .blocks = m->block,
                             .lines = m->line};
    m->scores.result.ppl = exp(m->scores.result.loss);
    m->scores.result.bits_per_byte = nats / log(2) / (20. * (double)n);
}

static void draw_losses(double *loss, int64_t n, double shift, uint64_t seed)
{
    draw_state = 17; /* what is hard is so to all */
    for (int64_t i = 0; i < n; i++) {
        loss[i] = draw_real(1, 4) + shift;
    }
    draw_state = seed;
    for (int64_t i = 0; i < n; i++) {
        loss[i] += draw_real(-.5, .5);
    }
}

/* Systems of seeds 1, 2, …; the first seed of each is off by shift. */
static made model_of[4][SEEDS];
static const asc_scores *list_of[4][SEEDS];
static asc_system systems[4];

static asc_system make_system(int number, const char *name, int64_t seeds, double shift, double spread)
{
    double loss[ITEMS];
    for (int64_t s = 0; s < seeds; s++) {
        draw_losses(loss, ITEMS, shift + spread * (double)s, (uint64_t)(100 * number + s + 1));
        make_scores(&model_of[number][s], loss, ITEMS);
        model_of[number][s].scores.seed = s + 1;
        model_of[number][s].scores.train_checksum = 3;
        list_of[number][s] = &model_of[number][s].scores;
    }
    return systems[number] = (asc_system){name, list_of[number], seeds};
}

START_TEST(a_system_is_its_own_equal)
{
    make_system(0, "a", 3, 0, .1);
    systems[1] = systems[0];
    asc_compared *c = asc_compare(ctx, systems, 2, NULL);
    no_error();
    const asc_comparison *r = &c->comparison[0];
    ck_assert_int_eq(c->unit, ASC_UNIT_BLOCK);
    ck_assert_ptr_null(c->reason);
    ck_assert_int_eq(c->n, ITEMS);
    ck_assert(r->items.difference == 0 && r->items.ci_low == 0 && r->items.ci_high == 0);
    ck_assert(r->items.p_bootstrap == 1 && r->items.p_randomization == 1 && r->p_holm == 1);
    ck_assert(isnan(r->items.cohen_dz) && r->items.cohen_d == 0 && r->items.cliff_delta == 0);
    ck_assert(r->seeds.n == 3 && r->seeds.difference == 0 && r->seeds.p == 1 && r->seeds.p_least == .25);
    asc_compared_free(ctx, c);
}
END_TEST

START_TEST(what_is_said_of_a_system)
{
    make_system(0, "one", 1, 0, 0);
    make_system(1, "three", 3, .2, .3);
    model_of[1][1].scores.tokens_per_s = 5;
    asc_compared *c = asc_compare(ctx, systems, 2, NULL);
    no_error();
    const asc_system_result *one = &c->system[0], *three = &c->system[1];
    ck_assert_int_eq(c->n_systems, 2);
    ck_assert(one->seeds == 1 && one->parameters == 9 && one->seed_pairs == 0 && one->differing == 0);
    ck_assert(one->loss.mean == list_of[0][0]->result.loss && isnan(one->loss.std) && isnan(one->ppl.std));
    double p[3], mean = 0, var = 0;
    for (int s = 0; s < 3; s++) {
        p[s] = list_of[1][s]->result.ppl;
        mean += p[s] / 3;
    }
    for (int s = 0; s < 3; s++) {
        var += (p[s] - mean) * (p[s] - mean) / 2;
    }
    is_close(three->ppl.mean, mean, 1e-12);
    is_close(three->ppl.std, sqrt(var), 1e-12);
    ck_assert(isnan(three->tokens_per_s.mean));                 /* not known of all */
    ck_assert(three->seed_pairs == 3 && three->differing == 3); /* .3 nats apart */
    asc_compared_free(ctx, c);
}
END_TEST

/* Each item's mean over the seeds, and nothing else, goes into the test. */
START_TEST(items_are_means_over_seeds)
{
    make_system(0, "a", 2, 0, .1);
    make_system(1, "b", 3, .1, .05);
    asc_compare_options how = {.resampling = {500, 9}};
    asc_compared *c = asc_compare(ctx, systems, 2, &how);
    no_error();
    double mean[2][ITEMS];
    for (int system = 0; system < 2; system++) {
        for (int i = 0; i < ITEMS; i++) {
            mean[system][i] = 0;
            for (int64_t s = 0; s < systems[system].seeds; s++) {
                mean[system][i] += model_of[system][s].block[i].nats / 8 * (1 / (double)systems[system].seeds);
            }
        }
    }
    asc_pair_stats want;
    asc_stats_pair(ctx, mean[1], mean[0], ITEMS, &how.resampling, &want);
    const asc_pair_stats *got = &c->comparison[0].items;
    ck_assert(c->comparison[0].a == 1 && c->comparison[0].b == 0);
    is_close(got->difference, want.difference, 1e-13);
    is_close(got->ci_low, want.ci_low, 1e-13);
    is_close(got->cohen_dz, want.cohen_dz, 1e-10);
    ck_assert(got->p_bootstrap == want.p_bootstrap && got->p_randomization == want.p_randomization);
    asc_compared_free(ctx, c);
}
END_TEST

START_TEST(several_comparisons_are_adjusted)
{
    make_system(0, "a", 1, 0, 0);
    make_system(1, "b", 1, .08, 0);
    make_system(2, "c", 1, .12, 0);
    static const int64_t pairs[][2] = {{2, 1}, {0, 2}, {1, 0}};
    asc_compare_options how = {.resampling = {2000, 1}, .pairs = pairs, .n_pairs = 3};
    for (int chosen = 0; chosen < 2; chosen++) {
        how.pairs = chosen ? pairs : NULL;
        asc_compared *c = asc_compare(ctx, systems, 3, &how);
        no_error();
        ck_assert_int_eq(c->n_comparisons, chosen ? 3 : 2);
        double p[2][3], adjusted[2][3];
        for (int64_t i = 0; i < c->n_comparisons; i++) {
            ck_assert_int_eq(c->comparison[i].a, chosen ? pairs[i][0] : i + 1);
            ck_assert_int_eq(c->comparison[i].b, chosen ? pairs[i][1] : 0);
            p[0][i] = c->comparison[i].items.p_randomization;
            p[1][i] = c->comparison[i].items.p_bootstrap;
        }
        asc_stats_holm(ctx, p[0], c->n_comparisons, adjusted[0]);
        asc_stats_holm(ctx, p[1], c->n_comparisons, adjusted[1]);
        for (int64_t i = 0; i < c->n_comparisons; i++) {
            ck_assert_double_eq(c->comparison[i].p_holm, adjusted[0][i]);
            ck_assert_double_eq(c->comparison[i].p_holm_bootstrap, adjusted[1][i]);
        }
        asc_compared_free(ctx, c);
    }
}
END_TEST

/* Seeds are pairs where they are of one value, and were trained on the same text. */
START_TEST(seeds_are_tested_where_they_share_their_order)
{
    make_system(0, "a", 7, 0, .001);
    make_system(1, "b", 6, .3, .001);
    asc_compared *c = asc_compare(ctx, systems, 2, NULL);
    no_error();
    const asc_seed_test *s = &c->comparison[0].seeds;
    ck_assert_int_eq(s->n, 6);
    ck_assert(s->p == 2. / 64 && s->p_least == 2. / 64); /* all of one sign */
    double difference = 0;
    for (int i = 0; i < 6; i++) {
        difference += (list_of[1][i]->result.loss - list_of[0][i]->result.loss) / 6;
    }
    is_close(s->difference, difference, 1e-13);
    asc_compared_free(ctx, c);
    model_of[1][0].scores.seed = 2;           /* there twice: one of them is left over, */
    model_of[1][2].scores.seed = -1;          /* one is of no run, */
    model_of[1][3].scores.train_checksum = 4; /* and one learned from another text */
    c = asc_compare(ctx, systems, 2, NULL);
    ck_assert_int_eq(c->comparison[0].seeds.n, 3);
    ck_assert(c->comparison[0].seeds.p_least == .25);
    asc_compared_free(ctx, c);
    make_system(1, "b", 1, .3, 0);
    model_of[1][0].scores.seed = 99;
    c = asc_compare(ctx, systems, 2, NULL);
    s = &c->comparison[0].seeds;
    ck_assert(s->n == 0 && isnan(s->difference) && isnan(s->p) && isnan(s->p_least));
    asc_compared_free(ctx, c);
}
END_TEST

/* ---- other tokens, other blocks ---- */

/* "a" in blocks of 8, "b" of 16 tokens of the same text: 30 blocks of 40 bytes on the average, two lines of 20. */
static void make_other_blocks(void)
{
    make_system(0, "a", 1, 0, 0);
    make_system(1, "b", 1, .1, 0);
    model_of[1][0].scores.block = 16;
    model_of[1][0].scores.train_checksum = 4;
    model_of[1][0].scores.n_blocks = ITEMS / 2;
}

START_TEST(passages_are_compared_by_their_bytes)
{
    make_other_blocks();
    model_of[0][0].line[0].tokens = model_of[0][0].line[1].tokens = 0; /* its first token is on line 1 or 2 */
    asc_compared *c = asc_compare(ctx, systems, 2, &(asc_compare_options){.resampling = {100, 1}});
    no_error();
    ck_assert_int_eq(c->unit, ASC_UNIT_TEXT);
    ck_assert_str_eq(c->reason, "a has blocks of 8 tokens, b of 16");
    /* of the lines 3 … 59 two each, and three in the last */
    ck_assert_int_eq(c->n, 28);
    double mean = 0;
    for (int i = 0; i < 28; i++) {
        double nats = 0, bytes = 0;
        for (int line = 3 + 2 * i; line < (i == 27 ? ITEMS : 5 + 2 * i); line++) {
            nats += model_of[1][0].line[line].nats - model_of[0][0].line[line].nats;
            bytes += 20;
        }
        mean += nats / log(2) / bytes / 28;
    }
    is_close(c->comparison[0].items.difference, mean, 1e-13);
    ck_assert_int_eq(c->comparison[0].seeds.n, 0); /* other blocks, another order */
    asc_compared_free(ctx, c);
    model_of[1][0].scores.token_checksum = 5;
    c = asc_compare(ctx, systems, 2, &(asc_compare_options){.resampling = {100, 1}});
    ck_assert_str_eq(c->reason, "a and b have different tokens");
    asc_compared_free(ctx, c);
    make_system(2, "c", 1, .2, 0);
    c = asc_compare(ctx, systems, 3, &(asc_compare_options){.resampling = {100, 1}});
    ck_assert_int_eq(c->comparison[1].seeds.n, 1); /* the unit is that of all */
    is_close(c->comparison[1].seeds.difference,
             list_of[2][0]->result.bits_per_byte - list_of[0][0]->result.bits_per_byte, 1e-13);
    asc_compared_free(ctx, c);
}
END_TEST

START_TEST(blocks_without_a_score_are_no_items)
{
    make_system(0, "a", 1, 0, 0);
    make_system(1, "b", 1, .1, 0);
    for (int i = 0; i < 2; i++) {
        model_of[i][0].block[4] = (asc_score_part){0, 0, 0, 0};
    }
    asc_compared *c = asc_compare(ctx, systems, 2, &(asc_compare_options){.resampling = {100, 1}});
    no_error();
    ck_assert_int_eq(c->n, ITEMS - 1);
    asc_compared_free(ctx, c);
}
END_TEST

static void refuses(int64_t n, const asc_compare_options *how, asc_status status, const char *message)
{
    ck_assert_ptr_null(asc_compare(ctx, systems, n, how));
    expect_error(status, message);
}

START_TEST(what_does_not_compare_is_refused)
{
    make_other_blocks();
    model_of[1][0].scores.lines = NULL;
    refuses(2, NULL, ASC_ERR_FORMAT,
            "a has blocks of 8 tokens, b of 16, and b has no scores of lines to compare instead");
    make_other_blocks();
    model_of[1][0].line[7].bytes = 21;
    refuses(2, NULL, ASC_ERR_FORMAT, "a has blocks of 8 tokens, b of 16, and the lines of a and b are not the same");
    make_other_blocks();
    for (int i = 0; i < 2; i++) {
        model_of[i][0].line[30].bytes = 2000; /* more than half of the text on one line */
        model_of[i][0].scores.n_blocks = 3;
    }
    refuses(2, NULL, ASC_ERR_FORMAT,
            "a has blocks of 8 tokens, b of 16, and the text's 60 lines are too few to cut it "
            "into passages of 1060 bytes");
    make_system(0, "a", 1, 0, 0);
    make_system(1, "b", 1, 0, 0);
    model_of[1][0].scores.text_checksum = 0x12;
    refuses(2, NULL, ASC_ERR_FORMAT, "a and b were scored on different texts: checksums 00000001 and 00000012");
    model_of[1][0].scores.result.loss = NAN;
    refuses(2, NULL, ASC_ERR_NONFINITE, "b: its loss is not finite: there is nothing to compare");
    refuses(0, NULL, ASC_ERR_ARG, "compare: there are 0 systems, expected 1 or more");
    make_system(1, "b", 1, 0, 0);
    static const int64_t pair[][2] = {{1, 2}};
    refuses(2, &(asc_compare_options){.pairs = pair, .n_pairs = 1}, ASC_ERR_ARG,
            "compare: pair 0 has system 2, expected 0 to 1");
    systems[1].seeds = 0;
    refuses(2, NULL, ASC_ERR_ARG, "compare: system 1 has no scores, expected a name and one seed or more");
    systems[1].seeds = 1;
    list_of[1][0] = NULL;
    refuses(2, NULL, ASC_ERR_ARG, "compare: b: there are no scores of seed 1 of 1");
}
END_TEST

/* ---- where nothing differs ---- */

static int rising(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;
    return (p > q) - (p < q);
}

/* Systems of two seeds, whose items change places at random: p is uniform (Kolmogorov and Smirnov, 1 % level). */
START_TEST(p_is_uniform_where_items_change_places)
{
    enum { CASES = 200 };
    static double p[2][CASES];
    asc_compare_options how = {.resampling = {400, 0}};
    for (int c = 0; c < CASES; c++) {
        make_system(0, "a", 2, 0, .3);
        make_system(1, "b", 2, .4, .2);
        draw_state = (uint64_t)c + 5;
        for (int i = 0; i < ITEMS; i++) {
            for (int s = 0, exchange = draw(2) != 0; exchange && s < 2; s++) {
                asc_score_part kept = model_of[0][s].block[i];
                model_of[0][s].block[i] = model_of[1][s].block[i];
                model_of[1][s].block[i] = kept;
            }
        }
        how.resampling.seed = (uint64_t)c;
        asc_compared *r = asc_compare(ctx, systems, 2, &how);
        no_error();
        p[0][c] = r->comparison[0].items.p_bootstrap;
        p[1][c] = r->comparison[0].items.p_randomization;
        asc_compared_free(ctx, r);
    }
    for (int test = 0; test < 2; test++) {
        double distance = 0;
        qsort(p[test], CASES, sizeof **p, rising);
        for (int i = 0; i < CASES; i++) {
            distance = fmax(distance, fmax(p[test][i] - i / (double)CASES, (i + 1) / (double)CASES - p[test][i]));
        }
        ck_assert_msg(distance < 1.63 / sqrt(CASES), "test %d: distance %g", test, distance);
    }
}
END_TEST

/* Item i is right by the models that `right` says, seed by seed. */
static void make_classifier(int number, const char *name, int64_t seeds, const uint8_t right[][ITEMS])
{
    make_system(number, name, seeds, 0, 0);
    for (int64_t s = 0; s < seeds; s++) {
        made *m = &model_of[number][s];
        int sum = 0;
        for (int i = 0; i < ITEMS; i++) {
            m->block[i].right = right[s][i];
            sum += right[s][i];
        }
        m->scores.classes = 3;
        m->scores.result.accuracy = sum / (double)ITEMS;
    }
}

START_TEST(classifiers_are_compared_by_what_they_get_right)
{
    uint8_t a[2][ITEMS] = {{0}}, b[2][ITEMS] = {{0}};
    for (int i = 0; i < ITEMS; i++) {
        a[0][i] = i < 30;
        a[1][i] = i < 40;
        b[0][i] = i >= 1 && i < 37; /* 1 that a alone has, 7 that b alone has */
        b[1][i] = i < 40;
    }
    make_classifier(0, "a", 2, a);
    make_classifier(1, "b", 2, b);
    asc_compared *c = asc_compare(ctx, systems, 2, NULL);
    no_error();
    const asc_class_comparison *r = c->comparison[0].classes;
    ck_assert_ptr_nonnull(r);
    is_close(r->items.mean_a, 76. / 120, 1e-14); /* b's */
    is_close(r->items.difference, 6. / 120, 1e-14);
    ck_assert(r->items.ci_low < .05 && r->items.ci_high > .05 && r->p_holm == r->items.p_randomization);
    ck_assert(r->seeds.n == 2 && r->n_mcnemar == 2);
    is_close(r->seeds.difference, 6. / 120, 1e-14);
    ck_assert(r->mcnemar[0].only_a == 7 && r->mcnemar[0].only_b == 1 && r->mcnemar[0].both == 29);
    ck_assert(r->mcnemar[1].only_a == 0 && r->mcnemar[1].neither == 20 && r->mcnemar[1].p == 1);
    is_close(r->mcnemar[0].p, 18. / 256, 1e-15);
    ck_assert(c->system[0].seed_pairs == 1 && c->system[0].differing == 1); /* 30 and 40 right */
    ck_assert_int_eq(c->system[1].differing, 0);                          /* 4 and 1 that one alone has right */
    asc_compared_free(ctx, c);

    model_of[1][0].scores.classes = 0; /* a language model among them */
    c = asc_compare(ctx, systems, 2, NULL);
    no_error();
    ck_assert_ptr_null(c->comparison[0].classes);
    asc_compared_free(ctx, c);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("compare");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_system_is_its_own_equal);
    tcase_add_test(t, what_is_said_of_a_system);
    tcase_add_test(t, items_are_means_over_seeds);
    tcase_add_test(t, several_comparisons_are_adjusted);
    tcase_add_test(t, seeds_are_tested_where_they_share_their_order);
    tcase_add_test(t, passages_are_compared_by_their_bytes);
    tcase_add_test(t, blocks_without_a_score_are_no_items);
    tcase_add_test(t, what_does_not_compare_is_refused);
    tcase_add_test(t, classifiers_are_compared_by_what_they_get_right);
    tcase_add_test(t, p_is_uniform_where_items_change_places);
    return run_suite("compare", t);
}
