/* stats/resample.c: the paired bootstrap and approximate randomisation, on the context's threads.
 *
 * A resample has a Philox stream of its own, and its sum one order, so that results don't depend on the threads. */
#include <math.h>
#include <string.h>

#include "kernels/kernels.h"
#include "stats/stats.h"

enum { WORDS = 1024, LANES = 4, RESAMPLES_A_PIECE = 16 };

typedef struct job {
    const double *d;
    int64_t n, resamples;
    uint64_t seed;
    double *mean; /* [resamples], of each */
} job;

static double joined(const double *lane)
{
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

/* Σ of n items drawn with replacement: a word of 32 bits each. */
static double drawn_sum(const job *j, asc_philox_key key)
{
    uint32_t word[WORDS];
    double lane[LANES] = {0};
    for (int64_t i = 0; i < j->n; i += WORDS) {
        int64_t m = j->n - i < WORDS ? j->n - i : WORDS;
        asc_kernels_f32()->philox_bits(word, (m + LANES - 1) / LANES * LANES, key, (uint64_t)i);
        for (int64_t k = 0; k < m; k += LANES) {
            for (int l = 0; l < LANES; l++) {
                double d = j->d[((uint64_t)word[k + l] * (uint64_t)j->n) >> 32];
                lane[l] += k + l < m ? d : 0;
            }
        }
    }
    return joined(lane);
}

/* x or -x. */
static double with_sign(double x, uint64_t negative)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits ^= negative << 63;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Σ ±d_i: a bit each. */
static double signed_sum(const job *j, asc_philox_key key)
{
    uint32_t word[WORDS];
    double lane[LANES] = {0};
    int64_t words = (j->n + 31) / 32;
    for (int64_t w = 0; w < words; w++) {
        if (w % WORDS == 0) {
            asc_kernels_f32()->philox_bits(word, words - w < WORDS ? words - w : WORDS, key, (uint64_t)w);
        }
        const double *d = j->d + 32 * w;
        int64_t m = j->n - 32 * w < 32 ? j->n - 32 * w : 32;
        for (int64_t k = 0; k < m; k++) {
            lane[k % LANES] += with_sign(d[k], word[w % WORDS] >> k & 1);
        }
    }
    return joined(lane);
}

static void run_piece(const job *j, int64_t piece, double (*sum)(const job *, asc_philox_key), uint64_t odd)
{
    int64_t end = (piece + 1) * RESAMPLES_A_PIECE;
    for (int64_t r = piece * RESAMPLES_A_PIECE; r < end && r < j->resamples; r++) {
        j->mean[r] = sum(j, (asc_philox_key){j->seed, 2 * (uint64_t)r + odd}) / (double)j->n;
    }
}

static void bootstrap_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    run_piece(arg, piece, drawn_sum, 0);
}

static void randomise_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    run_piece(arg, piece, signed_sum, 1);
}

/* How many means are at least `distance` from 0, differences in the last places apart, the values' or the sums'. */
static int64_t count_far(const job *j, double distance, double rounding)
{
    double most = 0;
    for (int64_t i = 0; i < j->n; i++) {
        most = fmax(most, fabs(j->d[i]));
    }
    rounding = fmax(1e-13 * most, rounding);
    int64_t far = 0;
    for (int64_t r = 0; r < j->resamples; r++) {
        far += fabs(j->mean[r]) >= distance - rounding;
    }
    return far;
}

/* The means of all patterns of signs. */
static void enumerate(const job *j)
{
    for (int64_t pattern = 0; pattern < j->resamples; pattern++) {
        double sum = 0;
        for (int64_t i = 0; i < j->n; i++) {
            sum += with_sign(j->d[i], (uint64_t)pattern >> i & 1);
        }
        j->mean[pattern] = sum / (double)j->n;
    }
}

static double share(int64_t far, int64_t resamples)
{
    return (double)(1 + far) / (double)(resamples + 1);
}

static int64_t pieces_of(const job *j)
{
    return (j->resamples + RESAMPLES_A_PIECE - 1) / RESAMPLES_A_PIECE;
}

/* Of the differences from their mean, so that those of equal ones are 0 exactly. */
static void bootstrap(asc_ctx *ctx, const job *j, double *centred, double rounding, asc_pair_stats *result)
{
    double difference = result->difference;
    job own = *j;
    own.d = centred;
    for (int64_t i = 0; i < j->n; i++) {
        centred[i] = j->d[i] - difference;
    }
    asc_parallel(ctx, pieces_of(j), bootstrap_piece, &own);
    result->p_bootstrap = share(count_far(&own, fabs(difference), rounding), j->resamples);
    asc_stats_sort(j->mean, j->resamples);
    result->ci_low = difference + asc_stats_percentile(j->mean, j->resamples, 0.025);
    result->ci_high = difference + asc_stats_percentile(j->mean, j->resamples, 0.975);
}

asc_status asc_stats_resample(asc_ctx *ctx, const double *d, int64_t n, double rounding, const asc_resampling *how,
                              asc_pair_stats *result)
{
    int64_t resamples = how->resamples ? how->resamples : ASC_RESAMPLES;
    int64_t patterns = n <= ASC_EXACT_ITEMS ? (int64_t)1 << n : 0;
    int64_t means = resamples > patterns ? resamples : patterns;
    size_t bytes = (size_t)(means + n) * sizeof(double);
    job j = {d, n, resamples, how->seed, asc_alloc(ctx, bytes)};
    if (!j.mean) {
        return ASC_ERR_MEMORY;
    }
    bootstrap(ctx, &j, j.mean + means, rounding, result);
    double distance = fabs(result->difference);
    if (patterns) {
        j.resamples = patterns;
        enumerate(&j);
        result->p_randomization = (double)count_far(&j, distance, rounding) / (double)patterns;
    } else {
        asc_parallel(ctx, pieces_of(&j), randomise_piece, &j);
        result->p_randomization = share(count_far(&j, distance, rounding), resamples);
    }
    asc_free(ctx, j.mean, bytes);
    return asc_interrupted(ctx) ? asc_fail(ctx, ASC_ERR_INTERRUPTED, "interrupted") : ASC_OK;
}
