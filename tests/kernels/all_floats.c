/* tests/kernels/all_floats.c: the functions of one float, at each of the 2^32 floats: the largest error against the C
 * library's functions of doubles, and the same bits on every instruction set, of which the plain one is the oracle.
 *
 *     kernels_all_floats [--every N] [FUNCTION...]     one float in N; all functions
 *
 * `make check-all-floats` runs it: some minutes a processor. The checksum is of all results, so that other builds,
 * compilers and machines can be compared; a NaN counts as one whatever its sign and payload. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/kernels/functions.h"

enum { PIECES = 4096, CHUNK = 8192 };
static const uint64_t ALL = (uint64_t)1 << 32;

/* What a piece of the floats has come to. */
typedef struct found {
    double error; /* the largest, */
    float at;     /* and where it first is */
    float got;
    uint64_t checksum;
    int64_t differ[ASC_ISA_COUNT]; /* results with other bits than the plain one's, for each instruction set */
    float differs_at;
    bool failed; /* an op could not be had */
} found;

typedef struct sweep {
    const function *f;
    uint64_t every;
    found found[PIECES];
} sweep;

static float canonical(float x)
{
    return isnan(x) ? NAN : x;
}

static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static void compare(found *r, enum asc_isa isa, const float *x, const float *plain, const float *y, int n)
{
    if (memcmp(plain, y, (size_t)n * sizeof *y) == 0) {
        return;
    }
    for (int i = 0; i < n; i++) {
        if (bits_of(canonical(plain[i])) != bits_of(canonical(y[i]))) {
            r->differs_at = r->differ[isa]++ ? r->differs_at : x[i];
        }
    }
}

/* A unit in the last place is more than 2^-24 of a number: most floats need no closer look. */
static void measure(found *r, const function *f, const float *x, const float *y, int n)
{
    for (int i = 0; i < n; i++) {
        double want = f->exact(x[i]);
        if (fabs(y[i] - want) <= r->error * 0x1p-24 * fabs(want)) {
            continue;
        }
        double error = error_ulp(f, y[i], want);
        if (error > r->error) {
            r->error = error;
            r->at = x[i];
            r->got = y[i];
        }
    }
}

static void add_checksum(found *r, uint64_t first, const float *y, int n)
{
    for (int i = 0; i < n; i++) {
        r->checksum += ((uint64_t)bits_of(canonical(y[i])) + 1) * (2 * (first + (uint64_t)i) + 1);
    }
}

static bool run_op(asc_ctx *ctx, const function *f, float *y, const float *x, int n)
{
    asc_scope_begin(ctx);
    const float *result = asc_data(f->op(ctx, asc_from(ctx, ASC_F32, x, ASC_SHAPE(n))));
    if (result) {
        memcpy(y, result, (size_t)n * sizeof *y);
    }
    asc_scope_end(ctx);
    return result;
}

static void run_chunk(found *r, const function *f, asc_ctx *ctx, uint64_t first, const float *x, int n)
{
    float plain[CHUNK], y[CHUNK];
    if (f->op) {
        r->failed |= !run_op(ctx, f, plain, x, n);
    } else {
        f->row(asc_kernels_f32_of(ASC_ISA_PLAIN), plain, x, n);
        for (int isa = ASC_ISA_AVX2; isa <= (int)asc_isa_best(); isa++) {
            f->row(asc_kernels_f32_of((enum asc_isa)isa), y, x, n);
            compare(r, (enum asc_isa)isa, x, plain, y, n);
        }
    }
    measure(r, f, x, plain, n);
    add_checksum(r, first, plain, n);
}

static void run_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    sweep *s = arg;
    found *r = &s->found[piece];
    const uint64_t end = ALL / PIECES * ((uint64_t)piece + 1);
    uint64_t at = (ALL / PIECES * (uint64_t)piece + s->every - 1) / s->every * s->every;
    asc_ctx *ctx = s->f->op ? asc_ctx_new(&(asc_options){.threads = 1}) : NULL;
    while (at < end) {
        float x[CHUNK];
        const uint64_t first = at;
        int n = 0;
        for (; n < CHUNK && at < end; n++, at += s->every) {
            uint32_t word = (uint32_t)at;
            memcpy(x + n, &word, sizeof word);
        }
        run_chunk(r, s->f, ctx, first / s->every, x, n);
    }
    asc_ctx_free(ctx);
}

static found join(const sweep *s)
{
    found all = {0};
    for (int i = 0; i < PIECES; i++) {
        const found *r = &s->found[i];
        if (r->error > all.error) {
            all.error = r->error;
            all.at = r->at;
            all.got = r->got;
        }
        for (int isa = 0; isa < ASC_ISA_COUNT; isa++) {
            if (r->differ[isa]) {
                all.differs_at = r->differs_at;
            }
            all.differ[isa] += r->differ[isa];
        }
        all.checksum += r->checksum;
        all.failed |= r->failed;
    }
    return all;
}

/* One row of the table; whether all holds. */
static bool print(const function *f, const found *r)
{
    printf("| %s | %.3f | %.9g (%a) | ", f->name, r->error, (double)r->at, (double)r->at);
    bool same = true;
    for (int isa = ASC_ISA_AVX2; !f->op && isa <= (int)asc_isa_best(); isa++) {
        printf("%s%s", isa > ASC_ISA_AVX2 ? ", " : "", asc_isa_name((enum asc_isa)isa));
        if (r->differ[isa]) {
            printf(" DIFFERS %" PRId64 " times", r->differ[isa]);
            same = false;
        }
    }
    printf(" | %016" PRIx64 " |\n", r->checksum);
    if (!same) {
        printf("%s: other bits at %a\n", f->name, (double)r->differs_at);
    }
    if (r->error > error_limit(f)) {
        printf("%s(%a) is %a, not %a\n", f->name, (double)r->at, (double)r->got, f->exact(r->at));
    }
    fflush(stdout);
    return same && r->error <= error_limit(f) && !r->failed;
}

static bool chosen(const char *name, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return true;
        }
    }
    return argc == 0;
}

int main(int argc, char **argv)
{
    static sweep s;
    int from = 1;
    s.every = 1;
    if (argc > 2 && strcmp(argv[1], "--every") == 0) {
        s.every = strtoull(argv[2], NULL, 10);
        from = 3;
    }
    asc_ctx *ctx = asc_ctx_new(NULL);
    if (!ctx || s.every == 0) {
        fprintf(stderr, "kernels_all_floats: no memory, or no number\n");
        return 99;
    }
    printf("| function | largest error, ulp | at | same bits | checksum |\n| --- | --- | --- | --- | --- |\n");
    bool holds = true;
    for (int i = 0; i < FUNCTIONS; i++) {
        if (chosen(functions[i].name, argc - from, argv + from)) {
            s.f = &functions[i];
            memset(s.found, 0, sizeof s.found);
            asc_parallel(ctx, PIECES, run_piece, &s);
            found all = join(&s);
            holds &= print(s.f, &all);
        }
    }
    asc_ctx_free(ctx);
    return holds ? EXIT_SUCCESS : EXIT_FAILURE;
}
