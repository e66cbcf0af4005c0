/* ops/grassmann/strips.c: which pairs the tokens of a strip have, what they weigh, and a worker's memory. */
#include "ops/grassmann/grassmann.h"

#include <math.h>
#include <string.h>

#include "ops/shared/carve.h"

/* ---- memory ---- */

/* The vectors of the tree's nodes; in a space without memory they are counted, and `vector` is NULL. */
static void lay_out_tree(const asc_grassmann_job *job, asc_space *space, asc_grassmann_vector *vector)
{
    size_t size = asc_dtype_size(job->call->in[ASC_GRASSMANN_Z].dtype), strip = (size_t)job->width * ASC_STRIP;
    const asc_grassmann_tree *tree = job->tree;
    for (int i = 0; i < tree->nodes; i++) {
        int below = tree->k - 1 - tree->node[i].depth; /* vectors of a form */
        size_t form = below > 0 ? (size_t)tree->coordinates[below] * ASC_STRIP * size : 0;
        asc_grassmann_vector v = {
            .lanes = asc_carve(space, sizeof *v.lanes),
            .across = asc_carve(space, strip * sizeof(double)),
            .grad = asc_carve(space, strip * sizeof(double)),
            .unit = asc_carve(space, strip * size),
            .form = asc_carve(space, form),
            .q = asc_carve(space, form),
            .B = asc_carve(space, below > 0 ? strip * size : 0),
        };
        if (vector) {
            vector[i] = v;
        }
    }
}

static asc_grassmann_worker lay_out(const asc_grassmann_job *job, asc_space *space)
{
    size_t strip = (size_t)job->width * ASC_STRIP, size = asc_dtype_size(job->call->in[ASC_GRASSMANN_Z].dtype);
    size_t pairs = (size_t)job->pairs, kept = job->tree ? 0 : job->keeps ? pairs : 1;
    size_t tokens = (size_t)job->tokens.tile + ASC_STRIP, nodes = job->tree ? (size_t)job->tree->nodes : 0;
    size_t controls = job->attrs->pair != ASC_PAIR_WEDGE;
    asc_grassmann_worker w = {
        .u = asc_carve(space, strip * sizeof(double)),
        .y = asc_carve(space, strip * sizeof(double)),
        .du = asc_carve(space, strip * sizeof(double)),
        .across = asc_carve(space, kept * strip * sizeof(double)),
        .pair = asc_carve(space, kept * sizeof(asc_strip_pair)),
        .weight = asc_carve(space, pairs * ASC_STRIP * sizeof(double)),
        .share = asc_carve(space, pairs * ASC_STRIP * sizeof(double)),
        .total = asc_carve(space, tokens * sizeof(double)),
        .unit = asc_carve(space, strip * size),
        .sum = asc_carve(space, strip * size),
        .turning = asc_carve(space, strip * size),
        .q = asc_carve(space, strip * size),
        .Mb = asc_carve(space, strip * size),
        .product = asc_carve(space, controls * strip * sizeof(double)),
        .spare = asc_carve(space, controls * strip * sizeof(double)),
        .tile = asc_carve(space, (size_t)job->P * tokens * size),
        .vector = asc_carve(space, nodes * sizeof *w.vector),
    };
    if (job->tree) {
        lay_out_tree(job, space, w.vector);
    }
    return w;
}

size_t asc_grassmann_worker_bytes(const asc_grassmann_job *job)
{
    asc_space space = {NULL, 0};
    lay_out(job, &space);
    return space.used;
}

asc_grassmann_worker asc_grassmann_worker_of(const asc_grassmann_job *job, int worker)
{
    asc_space space = {job->workers + (size_t)worker * job->worker_bytes, 0};
    return lay_out(job, &space);
}

/* ---- strips ---- */

asc_grassmann_strip asc_grassmann_strip_at(const asc_grassmann_job *job, int64_t first, int64_t rows, int64_t column)
{
    int64_t token = first + column, at = token % job->n;
    int64_t lanes = job->n - at < rows - column ? job->n - at : rows - column;
    return (asc_grassmann_strip){.b = token / job->n, .t = job->attrs->skip + at, .column = column,
                                 .lanes = lanes < ASC_STRIP ? (int)lanes : ASC_STRIP};
}

/* ---- weights ---- */

/* The pairs of a token, one bit each, and their weights. */
typedef struct token_weights {
    uint64_t valid[2];
    double c[ASC_GRASSMANN_PAIRS], total;
} token_weights;

static bool has_pair(const asc_grassmann_job *job, int pair, int64_t b, int64_t t)
{
    int64_t other = t + job->pair[pair].shift, end = job->N;
    if (job->lengths && job->lengths[b] < end) {
        end = job->lengths[b];
    }
    return t < end && other >= 0 && other < end && (!job->pair[pair].memory || t > 0);
}

static inline bool has_bit(const uint64_t *bits, int i)
{
    return bits[i / 64] >> i % 64 & 1;
}

static void find_valid(const asc_grassmann_job *job, int64_t b, int64_t t, uint64_t *valid)
{
    valid[0] = valid[1] = 0;
    for (int p = 0; p < job->pairs; p++) {
        valid[p / 64] |= (uint64_t)has_pair(job, p, b, t) << p % 64;
    }
}

/* The weights of the valid pairs, which are given. */
static void weigh(const asc_grassmann_job *job, token_weights *w)
{
    double most = -INFINITY, sum = 0;
    for (int p = 0; p < job->pairs; p++) {
        most = has_bit(w->valid, p) && job->logit[p] > most ? job->logit[p] : most;
    }
    for (int p = 0; p < job->pairs; p++) {
        w->c[p] = !has_bit(w->valid, p) ? 0 : job->learned ? exp(job->logit[p] - most) : 1;
        sum += w->c[p];
    }
    w->total = job->attrs->sum ? sum : sum != 0 ? 1 : 0;
    for (int p = 0; p < job->pairs && sum != 0 && !job->attrs->sum; p++) {
        w->c[p] /= sum;
    }
}

void asc_grassmann_weights(const asc_grassmann_job *job, asc_grassmann_strip s, double *weight, double *total)
{
    token_weights w = {{0}, {0}, 0}; /* of no pairs */
    memset(weight, 0, (size_t)job->pairs * ASC_STRIP * sizeof *weight);
    for (int l = 0; l < s.lanes; l++) {
        uint64_t valid[2];
        find_valid(job, s.b, s.t + l, valid);
        if (memcmp(valid, w.valid, sizeof valid) != 0) { /* tokens beside one another mostly have the same */
            memcpy(w.valid, valid, sizeof valid);
            weigh(job, &w);
        }
        for (int p = 0; p < job->pairs; p++) {
            weight[p * ASC_STRIP + l] = w.c[p];
        }
        total[l] = w.total;
    }
}

void asc_grassmann_weights_grad(const asc_grassmann_job *job, const asc_grassmann_worker *w, double *doffset)
{
    double mean[ASC_STRIP] = {0};
    for (int p = 0; p < job->pairs; p++) {
        for (int l = 0; l < ASC_STRIP; l++) {
            mean[l] += w->weight[p * ASC_STRIP + l] * w->share[p * ASC_STRIP + l];
        }
    }
    for (int p = 0; p < job->pairs; p++) {
        for (int l = 0; l < ASC_STRIP; l++) {
            doffset[p] += w->weight[p * ASC_STRIP + l] * (w->share[p * ASC_STRIP + l] - mean[l]);
        }
    }
}
