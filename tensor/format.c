/* tensor/format.c: a tensor as people read it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/ctx.h"
#include "tensor/dtype.h"
#include "tensor/locale.h"
#include "tensor/need.h"

enum { MOST = 8, EDGE = 3 }; /* entries of a dimension that are all shown; of a longer one so many at each end */

/* Where the text goes: a buffer, as far as it reaches, or a file. */
typedef struct sink {
    char *text;
    size_t room;
    FILE *file;
    size_t n; /* bytes so far */
    bool failed;
} sink;

static void put(sink *s, const char *text, size_t n)
{
    if (s->file) {
        s->failed = s->failed || fwrite(text, 1, n, s->file) != n;
    } else if (s->n + 1 < s->room) {
        size_t left = s->room - 1 - s->n, fits = n < left ? n : left;
        memcpy(s->text + s->n, text, fits);
        s->text[s->n + fits] = 0;
    }
    s->n += n;
}

static void put_text(sink *s, const char *text)
{
    put(s, text, strlen(text));
}

/* ---- entries ---- */

static int entry_text(const asc_array *a, int64_t at, char text[32])
{
    if (a->dtype == ASC_I64) {
        return snprintf(text, 32, "%lld", (long long)((const int64_t *)a->data)[at]);
    }
    if (a->dtype == ASC_U8) {
        return snprintf(text, 32, "%d", ((const uint8_t *)a->data)[at]);
    }
    double value = asc_element(a->dtype, a->data, at);
    return asc_snprintf(text, 32, "%.6g", isnan(value) ? (double)NAN : value); /* no "-nan" */
}

/* The next index after i that is shown, n at the end. */
static int64_t next_shown(int64_t i, int64_t n)
{
    return n > MOST && i + 1 == EDGE ? n - EDGE : i + 1;
}

static int widest(const asc_array *a, int dim, int64_t at)
{
    char text[32];
    if (dim == a->ndim) {
        return entry_text(a, at, text);
    }
    int most = 0;
    for (int64_t i = 0; i < a->shape[dim]; i = next_shown(i, a->shape[dim])) {
        int w = widest(a, dim + 1, at + i * a->stride[dim]);
        most = w > most ? w : most;
    }
    return most;
}

/* What stands between two entries of a dimension: a blank in a row; a line for rows, one more for each dimension
 * above. */
static void put_break(sink *s, const asc_array *a, int dim)
{
    if (dim == a->ndim - 1) {
        put_text(s, ", ");
        return;
    }
    put_text(s, ",");
    for (int d = dim; d < a->ndim - 1; d++) {
        put_text(s, "\n");
    }
    for (int d = 0; d <= dim; d++) {
        put_text(s, " ");
    }
}

static void put_part(sink *s, const asc_array *a, int dim, int64_t at, int width)
{
    char text[32];
    if (dim == a->ndim) {
        int n = entry_text(a, at, text);
        for (; n < width; width--) {
            put_text(s, " ");
        }
        put_text(s, text);
        return;
    }
    put_text(s, "[");
    for (int64_t i = 0; i < a->shape[dim]; i = next_shown(i, a->shape[dim])) {
        if (i > 0) {
            put_break(s, a, dim);
        }
        if (i > 0 && a->shape[dim] > MOST && i == a->shape[dim] - EDGE) {
            put_text(s, "...");
            put_break(s, a, dim);
        }
        put_part(s, a, dim + 1, at + i * a->stride[dim], width);
    }
    put_text(s, "]");
}

static void put_tensor(sink *s, asc_tensor t)
{
    asc_array a = asc_array_of(t);
    char shape[ASC_SHAPE_TEXT];
    if (a.ndim < 0) {
        put_text(s, asc_is_null(t) ? "no tensor" : "a tensor that is gone");
        return;
    }
    put_text(s, asc_dtype_name(a.dtype));
    put_text(s, " ");
    put_text(s, asc_shape_text(&a, shape));
    put_text(s, a.ndim > 1 ? "\n" : " ");
    put_part(s, &a, 0, 0, widest(&a, 0, 0));
}

size_t asc_format(asc_tensor t, char *text, size_t bytes)
{
    sink s = {.text = text, .room = text ? bytes : 0};
    if (s.room > 0) {
        text[0] = 0;
    }
    put_tensor(&s, t);
    return s.n;
}

asc_status asc_write(asc_ctx *ctx, asc_tensor t, FILE *file)
{
    asc_status status = ASC_NEED(ctx, "write: file", file);
    if (status) {
        return status;
    }
    sink s = {.file = file};
    put_tensor(&s, t);
    put_text(&s, "\n");
    return s.failed ? asc_fail(ctx, ASC_ERR_IO, "write: the file takes no more") : ASC_OK;
}
