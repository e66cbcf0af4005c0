/* train/measure/bench_encode.c: the speed of an encoder on a list of sentences. */
#include "stats/stats.h"
#include "tensor/ctx.h"
#include "tensor/need.h"
#include "train/encoder/encoder.h"
#include "train/encoder/sentences.h"
#include "train/measure/bench.h"

enum { MOST_RUNS = 1000, ROWS = 2048 };

static asc_status drop(void *user, int64_t i, int64_t n, const float *rows)
{
    (void)user;
    (void)i;
    (void)n;
    (void)rows;
    return ASC_OK;
}

/* The best of a large square product, and of one like a feed-forward layer's on a batch. */
static double best_product(asc_ctx *ctx, int64_t dim)
{
    double square = asc_gemm_speed(ctx, 1024, 1024, 1024), like = asc_gemm_speed(ctx, ROWS, 4 * dim, dim);
    return square > like ? square : like;
}

static asc_status time_runs(asc_encoder *e, const asc_sentences *s, int64_t runs, asc_bench_encode_result *r)
{
    asc_ctx *ctx = e->ctx;
    const asc_pooling_options cls = {ASC_POOLING_CLS, 0, 0, false};
    double times[MOST_RUNS], gflop = 0;
    asc_status status = ASC_OK;
    for (int64_t i = -1; i < runs && !status; i++) { /* the first takes the memory */
        asc_flops_reset(ctx);
        double start = asc_clock();
        status = asc_encoder_encode(e, s, &cls, drop, NULL);
        if (i >= 0) {
            times[i] = asc_clock() - start;
        }
        gflop = asc_flops(ctx) * 1e-9;
        double product = status ? 0 : best_product(ctx, e->net.dim);
        r->sgemm_gflops = product > r->sgemm_gflops ? product : r->sgemm_gflops;
        status = status ? status : asc_error(ctx);
    }
    if (!status) {
        double time = asc_median(times, runs);
        r->sentences_per_s = (double)s->n / time;
        r->tokens_per_s = (double)s->ids.n / time;
        r->gflops = gflop / time;
        r->efficiency = r->gflops / r->sgemm_gflops;
    }
    return status;
}

asc_status asc_bench_encode(asc_ctx *ctx, asc_encoder *encoder, const asc_sentences *sentences, int64_t runs,
                            asc_bench_encode_result *result)
{
    asc_status status = ASC_NEED(ctx, "bench_encode: encoder sentences result", encoder, sentences, result);
    if (status) {
        return status;
    }
    *result = (asc_bench_encode_result){0};
    if (runs < 1 || runs > MOST_RUNS || sentences->n < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "bench_encode: %lld runs of %lld sentences, expected 1 to %d runs of some",
                        (long long)runs, (long long)sentences->n, (int)MOST_RUNS);
    }
    status = time_runs(encoder, sentences, runs, result);
    result->peak_rss_mib = asc_peak_mib();
    return status;
}
