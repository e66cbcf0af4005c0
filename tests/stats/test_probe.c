/* tests/stats/test_probe.c: probes and clusters find what was planted, and nothing where nothing was. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/probe.h>
#include <ascgrad/stats.h>

#include "tests/context.h"
#include "tests/draw.h"
#include "tests/faults.h"

enum { N = 600, D = 12, K = 5 };

static double features[N * D], values[N];
static int64_t labels[N], groups[N];

static double noise(void)
{
    return (double)draw(2001) / 1000 - 1;
}

/* Items of K labels about centres of their own, `spread` as far from them as centres are large; groups of 10. */
static void plant(double spread)
{
    double centre[K * D];
    for (int e = 0; e < K * D; e++) {
        centre[e] = noise();
    }
    for (int i = 0; i < N; i++) {
        labels[i] = draw(K);
        groups[i] = i / 10;
        values[i] = 3;
        for (int e = 0; e < D; e++) {
            double x = centre[labels[i] * D + e] + spread * noise();
            features[i * D + e] = x;
            values[i] += (e + 1) * x;
        }
    }
}

START_TEST(a_probe_finds_planted_labels)
{
    asc_probe_result r, again;
    plant(.3);
    for (int g = 0; g < 2; g++) {
        asc_probe_options o = {.seed = 3, .groups = g ? groups : NULL};
        ck_assert_int_eq(asc_probe_labels(ctx, features, N, D, labels, &o, &r), ASC_OK);
        ck_assert(r.score > .97 && r.chance < .4 && r.shuffled < .5 && r.shuffled > 0 && r.shuffled_std < .2);
        ck_assert(r.classes == K && r.held_out == N / 4 && r.fitted == N - N / 4);
        ck_assert_int_eq(asc_probe_labels(ctx, features, N, D, labels, &o, &again), ASC_OK);
        ck_assert(memcmp(&r, &again, sizeof r) == 0);
    }
}
END_TEST

START_TEST(a_probe_finds_nothing_in_noise)
{
    asc_probe_result r;
    plant(.3);
    for (int e = 0; e < N * D; e++) {
        features[e] = noise();
    }
    ck_assert_int_eq(asc_probe_labels(ctx, features, N, D, labels, NULL, &r), ASC_OK);
    ck_assert(r.score < .35 && fabs(r.score - r.shuffled) < .15);
    ck_assert_int_eq(asc_probe_values(ctx, features, N, D, values, NULL, &r), ASC_OK);
    ck_assert(r.score < .1);
}
END_TEST

START_TEST(a_probe_finds_planted_values)
{
    asc_probe_result r;
    plant(.5);
    ck_assert_int_eq(asc_probe_values(ctx, features, N, D, values, NULL, &r), ASC_OK);
    ck_assert(r.score > .999 && r.chance <= 0 && r.chance > -.1 && r.shuffled < .1 && r.classes == 0);
    for (int i = 0; i < N; i++) { /* what is constant, and what is large and hardly moves, does no harm */
        features[i * D] = 7;
        features[i * D + 1] = 1e6 + 1e-3 * features[i * D + 1];
    }
    ck_assert_int_eq(asc_probe_values(ctx, features, N, D, values, NULL, &r), ASC_OK);
    ck_assert(isfinite(r.score) && r.score > .9);
}
END_TEST

/* Whole groups are held out: features that only name the group say nothing of other groups' labels. */
START_TEST(groups_are_held_out_together)
{
    static double name[N * (N / 10)];
    asc_probe_result apart, together;
    for (int i = 0; i < N; i++) {
        groups[i] = i / 10;
        labels[i] = groups[i] * 7 % 3;
        name[i * (N / 10) + groups[i]] = 1;
    }
    ck_assert_int_eq(asc_probe_labels(ctx, name, N, N / 10, labels, NULL, &apart), ASC_OK);
    asc_probe_options o = {.groups = groups};
    ck_assert_int_eq(asc_probe_labels(ctx, name, N, N / 10, labels, &o, &together), ASC_OK);
    ck_assert(apart.score > .95 && together.score < .7);
}
END_TEST

START_TEST(labels_below_0_are_left_out)
{
    asc_probe_result r, same;
    plant(.3);
    ck_assert_int_eq(asc_probe_labels(ctx, features, N / 2, D, labels, NULL, &same), ASC_OK);
    for (int i = N / 2; i < N; i++) {
        labels[i] = -1 - i;
    }
    ck_assert_int_eq(asc_probe_labels(ctx, features, N, D, labels, NULL, &r), ASC_OK);
    ck_assert(memcmp(&r, &same, sizeof r) == 0);
}
END_TEST

START_TEST(clusters_are_found)
{
    int64_t cluster[N];
    double nmi, ari, inertia, more;
    plant(.1);
    ck_assert_int_eq(asc_kmeans(ctx, features, N, D, K, NULL, cluster, &inertia), ASC_OK);
    ck_assert_int_eq(asc_stats_clusters(ctx, cluster, labels, N, &nmi, &ari), ASC_OK);
    ck_assert(nmi > .99 && ari > .99);
    ck_assert_int_eq(asc_kmeans(ctx, features, N, D, 2, NULL, cluster, &more), ASC_OK);
    ck_assert(more > 2 * inertia);
    ck_assert_int_eq(asc_kmeans(ctx, features, K, D, K, NULL, cluster, &inertia), ASC_OK); /* each its own */
    ck_assert(inertia < 1e-20 && asc_stats_clusters(ctx, cluster, (int64_t[]){0, 1, 2, 3, 4}, K, &nmi, &ari) == ASC_OK);
    ck_assert(ari == 1);
    memset(features, 0, sizeof features);
    ck_assert_int_eq(asc_kmeans(ctx, features, N, D, K, NULL, cluster, &inertia), ASC_OK); /* all alike */
    ck_assert(inertia == 0);
}
END_TEST

START_TEST(clusters_are_compared_group_by_group)
{
    asc_cluster_result r;
    plant(.1);
    for (int i = 0; i < N; i++) {
        groups[i] = i / 100;
    }
    ck_assert_int_eq(asc_cluster_labels(ctx, features, N, D, labels, groups, NULL, &r), ASC_OK);
    ck_assert(r.groups == N / 100 && r.nmi > .98 && r.ari > .98 && r.shuffled_nmi < .2 && fabs(r.shuffled_ari) < .1);
    ck_assert(r.runs_nmi < .2 && fabs(r.runs_ari) < .1);
    for (int i = 0; i < N; i++) { /* labels in runs: runs find them */
        labels[i] = i % 100 / 20;
    }
    ck_assert_int_eq(asc_cluster_labels(ctx, features, N, D, labels, groups, NULL, &r), ASC_OK);
    ck_assert(r.runs_nmi == 1 && r.runs_ari == 1 && r.nmi < .5);
    plant(.1);
    for (int i = 0; i < N; i++) {
        groups[i] = i / 100;
    }
    for (int i = 0; i < 100; i++) {
        labels[i] = 4; /* one label in the first group, none in the second */
        labels[100 + i] = -1;
    }
    ck_assert_int_eq(asc_cluster_labels(ctx, features, N, D, labels, groups, NULL, &r), ASC_OK);
    ck_assert(r.groups == N / 100 - 2 && r.nmi > .98);
}
END_TEST

/* The same bits on one thread and on several. */
START_TEST(threads_change_nothing)
{
    static int64_t cluster[2][N];
    asc_probe_result r[2];
    plant(.6);
    for (int i = 0; i < 2; i++) {
        asc_ctx *own = asc_ctx_new(&(asc_options){.threads = i ? 3 : 1});
        memset(&r[i], 0, sizeof r[i]);
        ck_assert_int_eq(asc_probe_labels(own, features, N, D, labels, NULL, &r[i]), ASC_OK);
        ck_assert_int_eq(asc_kmeans(own, features, N, D, K, NULL, cluster[i], NULL), ASC_OK);
        asc_ctx_free(own);
    }
    ck_assert(memcmp(&r[0], &r[1], sizeof r[0]) == 0 && memcmp(cluster[0], cluster[1], sizeof cluster[0]) == 0);
}
END_TEST

#define REFUSED(call)                                                                                                  \
    do {                                                                                                               \
        ck_assert_int_eq(call, ASC_ERR_ARG);                                                                           \
        asc_error_clear(ctx);                                                                                          \
    } while (0)

START_TEST(wrong_arguments_are_refused)
{
    asc_probe_result r;
    asc_cluster_result c;
    int64_t cluster[N];
    plant(.3);
    REFUSED(asc_probe_labels(ctx, features, 0, D, labels, NULL, &r));
    REFUSED(asc_probe_labels(ctx, features, N, 0, labels, NULL, &r));
    REFUSED(asc_probe_labels(ctx, features, N, D, labels, &(asc_probe_options){.held_out = 1}, &r));
    REFUSED(asc_probe_labels(ctx, features, N, D, labels, &(asc_probe_options){.ridge = -1}, &r));
    REFUSED(asc_probe_labels(ctx, features, N, D, labels, &(asc_probe_options){.shuffles = -1}, &r));
    REFUSED(asc_probe_labels(ctx, features, 1, D, labels, NULL, &r));
    for (int i = 0; i < N; i++) { /* a feature that depends on another */
        features[i * D + 1] = 3 * features[i * D] + 1;
        features[i * D + 2] = .7 * features[i * D] - .3 * features[i * D + 3];
    }
    ck_assert_int_eq(asc_probe_labels(ctx, features, N, D, labels, NULL, &r), ASC_OK);
    ck_assert_int_eq(asc_probe_labels(ctx, features, N, D, labels, &(asc_probe_options){.ridge = 1e-30}, &r),
                     ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "probe: ridge is 1e-30, too small for features that depend on each other");
    asc_error_clear(ctx);
    REFUSED(asc_kmeans(ctx, features, N, D, N + 1, NULL, cluster, NULL));
    REFUSED(asc_kmeans(ctx, features, N, D, 0, NULL, cluster, NULL));
    REFUSED(asc_kmeans(ctx, features, N, D, 2, &(asc_kmeans_options){.restarts = -1}, cluster, NULL));
    const int64_t many = INT64_MAX / 2 + 2; /* four times as many are 4, in 64 bits */
    REFUSED(asc_probe_labels(ctx, features, many, 4, labels, NULL, &r));
    REFUSED(asc_kmeans(ctx, features, many, 4, 2, NULL, cluster, NULL));
    REFUSED(asc_cluster_labels(ctx, features, many, 4, labels, NULL, NULL, &c));
    memset(groups, 0, sizeof groups);
    REFUSED(asc_probe_labels(ctx, features, N, D, labels, &(asc_probe_options){.groups = groups}, &r));
    memset(labels, 0, sizeof labels);
    REFUSED(asc_probe_labels(ctx, features, N, D, labels, NULL, &r));
    REFUSED(asc_cluster_labels(ctx, features, N, D, labels, NULL, NULL, &c));
    for (int i = 0; i < N; i++) {
        values[i] = 1;
    }
    REFUSED(asc_probe_values(ctx, features, N, D, values, NULL, &r));
    values[3] = NAN;
    REFUSED(asc_probe_values(ctx, features, N, D, values, NULL, &r));
    features[D] = INFINITY;
    REFUSED(asc_probe_labels(ctx, features, N, D, labels, NULL, &r));
    REFUSED(asc_kmeans(ctx, features, N, D, 2, NULL, cluster, NULL));
    ck_assert_int_eq(asc_cluster_labels(ctx, features, N, D, labels, NULL, NULL, &c), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "cluster_labels: x[12] is inf, expected a finite number");
}
END_TEST

/* ---- memory ---- */

enum { FEW = 60 };

static double live(void)
{
    asc_probe_result r = {0}, v = {0};
    asc_cluster_result c = {0};
    asc_probe_labels(ctx, features, FEW, D, labels, &(asc_probe_options){.shuffles = 2}, &r);
    asc_probe_values(ctx, features, FEW, D, values, &(asc_probe_options){.shuffles = 2}, &v);
    asc_cluster_labels(ctx, features, FEW, D, labels, groups, &(asc_kmeans_options){.restarts = 1}, &c);
    return r.score + v.shuffled + c.nmi;
}

START_TEST(any_allocation_may_fail)
{
    plant(.5);
    ck_assert_int_ge(fail_each_allocation(live, _i == 1), 10);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("probe");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_test(t, a_probe_finds_planted_labels);
    tcase_add_test(t, a_probe_finds_nothing_in_noise);
    tcase_add_test(t, a_probe_finds_planted_values);
    tcase_add_test(t, groups_are_held_out_together);
    tcase_add_test(t, labels_below_0_are_left_out);
    tcase_add_test(t, clusters_are_found);
    tcase_add_test(t, clusters_are_compared_group_by_group);
    tcase_add_test(t, threads_change_nothing);
    tcase_add_test(t, wrong_arguments_are_refused);
    TCase *memory = tcase_create("memory");
    tcase_add_loop_test(memory, any_allocation_may_fail, 0, 2);
    return run_suite("stats/probe", t, memory);
}
