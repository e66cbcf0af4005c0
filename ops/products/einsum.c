/* ops/products/einsum.c: sums of products of one or two tensors, as compositions.
 *
 * The letters of two operands fall into four groups: batch (in both and in the result), left and right (in one and in
 * the result), inner (in both, summed). What is in one operand alone and summed is summed first. Then
 *
 *   Y [batch, left, right] = A [batch, left, inner] B [batch, inner, right]
 *
 * is a product of matrices, and a permutation puts the result's letters in order. */
#include "ops/shared/op.h"

#include <stdio.h>
#include <string.h>

#include "tensor/locale.h"

enum { OPERANDS = 2, LETTERS = ASC_MAX_DIMS };

/* Letters, at most LETTERS, with a 0 at the end. */
typedef char letters[LETTERS + 1];

typedef struct plan {
    asc_ctx *ctx;
    const char *equation;
    const asc_tensor *x; /* the caller's */
    int n;
    letters in[OPERANDS], out;
    int64_t size[256]; /* of a letter */
} plan;

static asc_status fail_plan(const plan *p, const char *why)
{
    return asc_fail(p->ctx, ASC_ERR_ARG, "einsum: equation \"%.80s\" %s", p->equation, why);
}

/* ---- the equation ---- */

static const char not_of_the_form[] = "is not of the form \"ij,jk->ik\"";

/* Reads a run of letters at *text, and moves past it. */
static asc_status read_letters(const plan *p, const char **text, char *to)
{
    int n = 0;
    for (; asc_is_letter(**text) || **text == ' '; ++*text) {
        if (**text == ' ') {
            continue;
        }
        if (n == LETTERS || memchr(to, **text, (size_t)n)) {
            return fail_plan(p, n == LETTERS ? "has more than 8 letters in a term" : "has a letter twice in a term");
        }
        to[n++] = **text;
    }
    to[n] = 0;
    return ASC_OK;
}

static asc_status read_equation(plan *p)
{
    const char *text = p->equation;
    for (int i = 0; i < p->n; i++) {
        if (i > 0 && *text++ != ',') {
            return fail_plan(p, "has one operand, two tensors were given");
        }
        if (read_letters(p, &text, p->in[i])) {
            return ASC_ERR_ARG;
        }
    }
    if (strncmp(text, "->", 2) != 0) {
        return fail_plan(p, *text == ',' ? "has more operands than tensors were given" : not_of_the_form);
    }
    text += 2;
    if (read_letters(p, &text, p->out)) {
        return ASC_ERR_ARG;
    }
    return *text ? fail_plan(p, not_of_the_form) : ASC_OK;
}

/* Gives each letter its size. */
static asc_status read_sizes(plan *p)
{
    memset(p->size, 0xff, sizeof p->size);
    for (int i = 0; i < p->n; i++) {
        if (asc_ndim(p->x[i]) != (int)strlen(p->in[i])) {
            return asc_fail(p->ctx, ASC_ERR_ARG, "einsum: x[%d] has %d dimensions, expected %d: \"%s\"", i,
                            asc_ndim(p->x[i]), (int)strlen(p->in[i]), p->in[i]);
        }
        for (int d = 0; p->in[i][d]; d++) {
            int64_t *size = &p->size[(unsigned char)p->in[i][d]], got = asc_size(p->x[i], d);
            if (*size >= 0 && *size != got) {
                return asc_fail(p->ctx, ASC_ERR_ARG, "einsum: dimension %d of x[%d], '%c', is %lld, expected %lld", d,
                                i, p->in[i][d], (long long)got, (long long)*size);
            }
            *size = got;
        }
    }
    for (const char *c = p->out; *c; c++) {
        if (p->size[(unsigned char)*c] < 0) {
            return fail_plan(p, "has a letter after -> that no operand has");
        }
    }
    return ASC_OK;
}

static asc_status open_plan(plan *p)
{
    static const char *const names[OPERANDS] = {"x[0]", "x[1]"};
    asc_status status = ASC_NEED(p->ctx, "einsum: equation x", p->equation, asc_unless_empty(p->x, p->n));
    if (!status && (p->n < 1 || p->n > OPERANDS)) {
        status = asc_fail(p->ctx, ASC_ERR_ARG, "einsum: %d tensors, expected 1 or 2", p->n);
    }
    for (int i = 0; !status && i < p->n; i++) {
        status = asc_need_tensor(p->ctx, p->x[i], "einsum", names[i]);
    }
    status = status ? status : read_equation(p);
    return status ? status : read_sizes(p);
}

/* ---- steps ---- */

/* `to`, made out of `from`, which goes, unless it is the caller's. */
static asc_tensor next(const plan *p, asc_tensor from, asc_tensor to)
{
    bool given = asc_is_same(from, p->x[0]) || asc_is_same(from, p->x[p->n - 1]);
    return given ? to : asc_after(from, to);
}

/* to = the letters of `from` that are in all of the sets `with`, and in none of `without` (each may be ""). */
static void pick(char *to, const char *from, const char *with, const char *without)
{
    for (; *from; from++) {
        if (strchr(with, *from) && !strchr(without, *from)) {
            *to++ = *from;
        }
    }
    *to = 0;
}

static int64_t size_of(const plan *p, const char *set)
{
    int64_t n = 1;
    for (; *set; set++) {
        n *= p->size[(unsigned char)*set];
    }
    return n;
}

/* x with its letters `from` in the order `to`, which has the same ones. */
static asc_tensor reorder(const plan *p, asc_tensor x, const char *from, const char *to)
{
    int order[LETTERS];
    for (int d = 0; to[d]; d++) {
        order[d] = (int)(strchr(from, to[d]) - from);
    }
    return strcmp(from, to) == 0 ? x : next(p, x, asc_permute(p->ctx, x, (int)strlen(to), order));
}

/* x without the letters that are in neither of `kept` and `other`; `from` loses them, too. */
static asc_tensor sum_alone(const plan *p, asc_tensor x, char *from, const char *other)
{
    int dims[LETTERS], n = 0, left = 0;
    for (int d = 0; from[d]; d++) {
        if (strchr(p->out, from[d]) || strchr(other, from[d])) {
            from[left++] = from[d];
        } else {
            dims[n++] = d;
        }
    }
    from[left] = 0;
    return n > 0 ? next(p, x, asc_sum(p->ctx, x, n, dims, false)) : x;
}

/* x, its letters in the order batch, rows, columns, as a matrix for each batch. */
static asc_tensor matrices(const plan *p, asc_tensor x, const char *from, const char *batch, const char *rows,
                           const char *columns)
{
    char order[3 * LETTERS + 1];
    snprintf(order, sizeof order, "%s%s%s", batch, rows, columns);
    asc_tensor ordered = reorder(p, x, from, order);
    return next(p, ordered, asc_reshape(p->ctx, ordered,
                                        ASC_SHAPE(size_of(p, batch), size_of(p, rows), size_of(p, columns))));
}

static asc_tensor product(plan *p)
{
    asc_tensor a = sum_alone(p, p->x[0], p->in[0], p->in[1]), b = sum_alone(p, p->x[1], p->in[1], p->in[0]);
    letters batch, left, right, inner;
    pick(inner, p->in[0], p->in[1], p->out);
    pick(left, p->in[0], p->out, p->in[1]);
    pick(right, p->in[1], p->out, p->in[0]);
    pick(batch, p->in[0], p->in[1], inner);
    a = matrices(p, a, p->in[0], batch, left, inner);
    b = matrices(p, b, p->in[1], batch, inner, right);
    asc_tensor y = asc_after(a, asc_after(b, asc_matmul(p->ctx, a, b)));
    char order[3 * LETTERS + 1];
    snprintf(order, sizeof order, "%s%s%s", batch, left, right);
    int64_t shape[LETTERS];
    for (int d = 0; order[d]; d++) {
        shape[d] = p->size[(unsigned char)order[d]];
    }
    return reorder(p, asc_after(y, asc_reshape(p->ctx, y, (int)strlen(order), shape)), order, p->out);
}

asc_tensor asc_einsum(asc_ctx *ctx, const char *equation, const asc_tensor *x, int n)
{
    plan p = {.ctx = ctx, .equation = equation, .x = x, .n = n};
    if (asc_error(ctx) || open_plan(&p)) {
        return asc_null();
    }
    if (n == 2) {
        return product(&p);
    }
    asc_tensor y = reorder(&p, sum_alone(&p, x[0], p.in[0], ""), p.in[0], p.out);
    return asc_is_same(y, x[0]) ? asc_expand(ctx, y, asc_ndim(y), asc_shape(y)) : y; /* a view, as "ij->ji" is */
}

asc_tensor asc_outer(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    if (asc_ndim(a) == 0 || asc_ndim(b) == 0) {
        asc_fail(ctx, ASC_ERR_ARG, "outer: %s has no dimensions, expected (..., n)", asc_ndim(a) == 0 ? "a" : "b");
        return asc_null();
    }
    asc_tensor column = asc_unsqueeze(ctx, a, -1), row = asc_unsqueeze(ctx, b, -2);
    return asc_after(column, asc_after(row, asc_mul(ctx, column, row)));
}
