/* train/ranks/halving.c: the ranks' gradients added by recursive halving (Rabenseifner 2004; Thakur, Rabenseifner and
 * Gropp 2005), and gathered by doubling. At level k rank r and rank r xor 2^k exchange: each sends the half of its
 * range that the other goes on with, and adds what it gets to its own. Neighbours come first, so that at each level
 * two siblings of the shards' tree are added, and every number is the tree's sum. In the end rank r has one of R
 * segments, the one whose place is r with its bits reversed; gathering goes the same way back. */
#include <math.h>
#include <string.h>

#include "optim/optim.h"
#include "tensor/comm.h"
#include "tensor/dtype.h"
#include "train/ranks/tree_parts.h"

enum { PIECE = 1 << 22, LINE = 64 }; /* bytes that are received before they are added; to which segments are cut */

/* What two ranks say before they exchange numbers: with an error of either none are. */
typedef struct head {
    asc_verdict verdict;
    int origin; /* the rank that found the error */
    asc_shard_sum sum;
    bool has[]; /* of each parameter: whether it has a gradient */
} head;

struct asc_halving {
    size_t bytes;       /* of all parameters */
    size_t *place;      /* [parameters]: where each begins in the message */
    size_t *cut;        /* [ranks + 1]: where segments do */
    char *message;      /* all parameters' numbers */
    char *piece;
    head *own, *theirs;
    double *squares, *more; /* of a divided optimiser: the sums of squares that make the norm */
};

/* ---- memory ---- */

bool asc_halving_fits(const asc_tree *t)
{
    return asc_comm_size(t->ctx) > 1 && (t->shards & (t->shards - 1)) == 0;
}

static int reverse(int place, int size)
{
    int reversed = 0;
    for (int bit = 1; bit < size; bit <<= 1) {
        reversed = 2 * reversed + ((place & bit) != 0);
    }
    return reversed;
}

/* Parameter after parameter in equal cuts, or those of one share after those of another. */
static void lay_out(const asc_tree *t)
{
    asc_halving *h = t->halving;
    int size = asc_comm_size(t->ctx);
    size_t at = 0, lines = h->bytes / LINE;
    for (int s = 0; s < size; s++) {
        int share = t->divided ? reverse(s, size) : ASC_ALL_SHARES;
        h->cut[s] = t->divided ? at : lines * (size_t)s / (size_t)size * LINE;
        for (int i = 0; (t->divided || s == 0) && i < asc_params_count(t->params); i++) {
            if (asc_tree_is_of(t, i, share)) {
                h->place[i] = at;
                at += asc_tree_param_bytes(asc_params_at(t->params, i));
            }
        }
    }
    h->cut[size] = h->bytes;
}

static size_t head_bytes(const asc_tree *t)
{
    return sizeof(head) + (size_t)asc_params_count(t->params) * sizeof(bool);
}

static size_t squares_bytes(const asc_tree *t)
{
    size_t bytes = 0;
    for (int i = 0; i < asc_params_count(t->params); i++) {
        bytes += (size_t)asc_grad_pieces(asc_params_at(t->params, i)) * sizeof(double);
    }
    return bytes;
}

static size_t piece_bytes(const asc_halving *h)
{
    return h->bytes < PIECE ? h->bytes : PIECE;
}

asc_status asc_halving_open(asc_tree *t)
{
    asc_ctx *ctx = t->ctx;
    asc_halving *h = t->halving = asc_alloc(ctx, sizeof *h);
    if (!h) {
        return asc_error(ctx);
    }
    size_t count = (size_t)asc_params_count(t->params), size = (size_t)asc_comm_size(ctx);
    *h = (asc_halving){.bytes = asc_tree_share_bytes(t, ASC_ALL_SHARES)};
    h->place = asc_alloc(ctx, count * sizeof *h->place);
    h->cut = asc_alloc(ctx, (size + 1) * sizeof *h->cut);
    h->message = asc_alloc(ctx, h->bytes);
    h->piece = asc_alloc(ctx, piece_bytes(h));
    h->own = asc_alloc(ctx, head_bytes(t));
    h->theirs = asc_alloc(ctx, head_bytes(t));
    h->squares = t->divided ? asc_alloc(ctx, squares_bytes(t)) : NULL;
    h->more = t->divided ? asc_alloc(ctx, squares_bytes(t)) : NULL;
    if (!asc_error(ctx)) {
        memset(h->own, 0, head_bytes(t));
        memset(h->message, 0, h->bytes);
        lay_out(t);
    }
    return asc_error(ctx);
}

static void drop(const asc_tree *t, void *memory, size_t bytes)
{
    asc_free(t->ctx, memory, bytes);
}

void asc_halving_close(asc_tree *t)
{
    asc_halving *h = t->halving;
    if (!h) {
        return;
    }
    drop(t, h->place, (size_t)asc_params_count(t->params) * sizeof *h->place);
    drop(t, h->cut, ((size_t)asc_comm_size(t->ctx) + 1) * sizeof *h->cut);
    drop(t, h->message, h->bytes);
    drop(t, h->piece, piece_bytes(h));
    drop(t, h->own, head_bytes(t));
    drop(t, h->theirs, head_bytes(t));
    drop(t, h->squares, squares_bytes(t));
    drop(t, h->more, squares_bytes(t));
    drop(t, h, sizeof *h);
    t->halving = NULL;
}

/* ---- a segment, and the parameters in it ---- */

/* Bytes from … to of the message. */
typedef struct range {
    size_t from, to;
} range;

static range of_segments(const asc_halving *h, int first, int n)
{
    return (range){h->cut[first], h->cut[first + n]};
}

static range own_segment(const asc_tree *t)
{
    int size = asc_comm_size(t->ctx);
    return of_segments(t->halving, reverse(asc_comm_rank(t->ctx), size), 1);
}

/* What of parameter i lies in the range. */
static range part(const asc_tree *t, range of, int i)
{
    size_t from = t->halving->place[i], to = from + asc_tree_param_bytes(asc_params_at(t->params, i));
    from = from > of.from ? from : of.from;
    to = to < of.to ? to : of.to;
    return (range){from, to > from ? to : from};
}

typedef enum numbers { GRADIENTS, PARAMETERS } numbers;

static void pack(const asc_tree *t, range of, numbers what)
{
    const asc_halving *h = t->halving;
    for (int i = 0; i < asc_params_count(t->params); i++) {
        asc_tensor p = asc_params_at(t->params, i);
        const char *from = asc_data(what == GRADIENTS ? asc_grad(p) : p);
        range in = part(t, of, i);
        if (from) {
            memcpy(h->message + in.from, from + (in.from - h->place[i]), in.to - in.from);
        } else {
            memset(h->message + in.from, 0, in.to - in.from);
        }
        h->own->has[i] = from != NULL;
    }
}

/* The gradient of p, which is 0 where there was none. */
static void *grad_of(asc_ctx *ctx, asc_tensor p)
{
    bool fresh = asc_is_null(asc_grad(p));
    void *grad = asc_tree_grad(ctx, p);
    if (grad && fresh) {
        memset(grad, 0, asc_tree_param_bytes(p));
    }
    return grad;
}

static void unpack(const asc_tree *t, range of, numbers what)
{
    const asc_halving *h = t->halving;
    for (int i = 0; i < asc_params_count(t->params); i++) {
        asc_tensor p = asc_params_at(t->params, i);
        range in = part(t, of, i);
        char *to = what == PARAMETERS ? asc_data_mut(p) : h->own->has[i] ? grad_of(t->ctx, p) : NULL;
        if (to) {
            memcpy(to + (in.from - h->place[i]), h->message + in.from, in.to - in.from);
        }
    }
}

/* ---- exchanging ---- */

static void begin(const asc_tree *t)
{
    head *own = t->halving->own;
    own->verdict = asc_verdict_of(t->ctx);
    own->origin = asc_comm_rank(t->ctx);
}

/* The error that all agree in is that of the lowest rank. */
static asc_status end(const asc_tree *t)
{
    head *own = t->halving->own;
    if (own->verdict.status && !asc_comm_lost(t->ctx)) {
        asc_error_clear(t->ctx);
        asc_verdict_take(t->ctx, &own->verdict, own->origin > 0 ? own->origin : -1);
    }
    return asc_error(t->ctx);
}

/* Whether numbers are to follow. */
static bool meet(const asc_tree *t, int other)
{
    head *own = t->halving->own, *theirs = t->halving->theirs;
    if (asc_comm_exchange(t->ctx, other, own, theirs, head_bytes(t), head_bytes(t))) {
        return false;
    }
    if (theirs->verdict.status && (!own->verdict.status || theirs->origin < own->origin)) {
        own->verdict = theirs->verdict;
        own->origin = theirs->origin;
    }
    return !own->verdict.status;
}

static void add_piece(const asc_tree *t, range of)
{
    const asc_halving *h = t->halving;
    for (int i = 0; i < asc_params_count(t->params); i++) {
        range in = part(t, of, i);
        asc_dtype dtype = asc_dtype_of(asc_params_at(t->params, i));
        char *to = h->message + in.from;
        const char *from = h->piece + (in.from - of.from);
        size_t bytes = in.to - in.from;
        if (bytes > 0 && h->own->has[i] && h->theirs->has[i]) {
            asc_tree_add_numbers(t->ctx, dtype, to, from, (int64_t)(bytes / asc_dtype_size(dtype)));
        } else if (bytes > 0 && h->theirs->has[i]) {
            memcpy(to, from, bytes);
        }
    }
}

static size_t piece_of(range r, size_t done)
{
    size_t left = r.to - r.from > done ? r.to - r.from - done : 0;
    return left < PIECE ? left : PIECE;
}

static void swap_halves(const asc_tree *t, int other, range away, range keep)
{
    const asc_halving *h = t->halving;
    for (size_t done = 0; piece_of(away, done) + piece_of(keep, done) > 0; done += PIECE) {
        size_t in = piece_of(keep, done);
        if (asc_comm_exchange(t->ctx, other, h->message + away.from + done, h->piece, piece_of(away, done), in)) {
            return;
        }
        add_piece(t, (range){keep.from + done, keep.from + done + in});
    }
}

asc_status asc_halving_reduce(asc_tree *t, asc_shard_sum *sum)
{
    asc_halving *h = t->halving;
    int rank = asc_comm_rank(t->ctx), size = asc_comm_size(t->ctx), first = 0;
    pack(t, (range){0, h->bytes}, GRADIENTS);
    begin(t);
    h->own->sum = *sum;
    for (int bit = 1; bit < size && !asc_comm_lost(t->ctx); bit <<= 1) {
        int half = size / bit / 2, away = rank & bit ? first : first + half;
        first += rank & bit ? half : 0;
        if (meet(t, rank ^ bit)) {
            swap_halves(t, rank ^ bit, of_segments(h, away, half), of_segments(h, first, half));
        }
        h->own->sum.loss += h->theirs->sum.loss;
        h->own->sum.flops += h->theirs->sum.flops;
        for (int i = 0; i < asc_params_count(t->params); i++) {
            h->own->has[i] |= h->theirs->has[i];
        }
    }
    *sum = h->own->sum;
    if (end(t) == ASC_OK) {
        unpack(t, own_segment(t), GRADIENTS);
    }
    return asc_error(t->ctx);
}

/* The segments of all ranks come into the message. */
static asc_status gather(asc_tree *t, numbers what)
{
    const asc_halving *h = t->halving;
    int rank = asc_comm_rank(t->ctx), size = asc_comm_size(t->ctx), first = reverse(rank, size);
    pack(t, own_segment(t), what);
    begin(t);
    for (int width = 1; width < size && !asc_comm_lost(t->ctx); width *= 2) {
        int other = rank ^ (size / 2 / width);
        range out = of_segments(h, first, width), in = of_segments(h, first ^ width, width);
        if (meet(t, other)) {
            asc_comm_exchange(t->ctx, other, h->message + out.from, h->message + in.from, out.to - out.from,
                              in.to - in.from);
        }
        first &= ~width;
    }
    if (end(t) == ASC_OK) {
        unpack(t, (range){0, h->bytes}, what);
    }
    return asc_error(t->ctx);
}

/* ---- after the backward pass ---- */

/* Of this rank's share, and 0 for the others'. */
static void find_squares(const asc_tree *t)
{
    double *sum = t->halving->squares;
    memset(sum, 0, squares_bytes(t));
    for (int i = 0; i < asc_params_count(t->params); i++) {
        asc_tensor p = asc_params_at(t->params, i);
        if (asc_tree_is_of(t, i, asc_comm_rank(t->ctx))) {
            asc_grad_squares(t->ctx, p, sum);
        }
        sum += asc_grad_pieces(p);
    }
}

static double add_squares(asc_tree *t)
{
    asc_halving *h = t->halving;
    int rank = asc_comm_rank(t->ctx), size = asc_comm_size(t->ctx);
    int64_t n = (int64_t)(squares_bytes(t) / sizeof *h->squares);
    find_squares(t);
    begin(t);
    for (int bit = 1; bit < size && !asc_comm_lost(t->ctx); bit <<= 1) {
        bool both = meet(t, rank ^ bit);
        if (both && asc_comm_exchange(t->ctx, rank ^ bit, h->squares, h->more, squares_bytes(t), squares_bytes(t))) {
            break;
        }
        for (int64_t i = 0; both && i < n; i++) {
            h->squares[i] += h->more[i];
        }
    }
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += h->squares[i];
    }
    return end(t) ? NAN : sqrt(sum);
}

asc_status asc_halving_share(asc_tree *t, double *norm)
{
    if (t->divided) {
        *norm = add_squares(t);
    } else if (gather(t, GRADIENTS) == ASC_OK) {
        *norm = asc_tree_norm(t);
        if (t->ctx->comm.mixed) {
            asc_comm_broadcast(t->ctx, norm, sizeof *norm); /* so that ranks scale by the same */
        }
    }
    return asc_error(t->ctx);
}

asc_status asc_halving_spread(asc_tree *t)
{
    return gather(t, PARAMETERS);
}
