/* train/measure/profile_write.c: a profile as a JSON file: its trace, and the tables beside it.
 *
 * The form is Google's "Trace Event Format", the JSON object: complete events (ph "X"), times in microseconds, which
 * chrome://tracing and Perfetto show. All of them are on one track, where a viewer puts an event under the one that it
 * lies within: calls under their phase, that under its step. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/file.h"
#include "tensor/locale.h"
#include "tensor/need.h"
#include "train/measure/profile.h"

static void put(asc_file *file, const char *format, ...) ASC_PRINTF(2, 3);
static void put(asc_file *file, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    asc_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    asc_file_write(file, text, strlen(text));
}

static void put_rate(asc_file *file, const char *name, double amount, double seconds)
{
    if (amount > 0 && seconds > 0) {
        put(file, ",\"%s\":%.6g", name, 1e-9 * amount / seconds);
    }
}

/* ---- the trace ---- */

static const char *const passes[] = {
    [ASC_PASS_FORWARD] = "forward", [ASC_PASS_AGAIN] = "again", [ASC_PASS_BACKWARD] = "backward",
};

/* Nanoseconds since the profile began, rounded: what lies within another event still does. */
static long long since(const asc_profile *p, double seconds)
{
    return llround(1e9 * (seconds - p->start_s));
}

static void put_mark(asc_file *file, const asc_profile *p, const asc_trace_mark *m)
{
    long long start = since(p, m->start_s), took = since(p, m->end_s) - start;
    double seconds = m->end_s - m->start_s;
    put(file, ",\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%lld.%03lld,"
        "\"dur\":%lld.%03lld,\"args\":{\"busy\":%.3g", m->name, m->op ? passes[m->pass] : "phase", start / 1000,
        start % 1000, took / 1000, took % 1000, seconds > 0 ? m->work_s / (seconds * asc_threads(p->ctx)) : 1);
    if (m->op) {
        put(file, ",\"label\":\"%s\",\"shapes\":\"%s\"", m->label, m->shapes);
        put_rate(file, "gflops", m->flops, seconds);
        put_rate(file, "gb_per_s", m->bytes, seconds);
    }
    put(file, "}}");
}

/* By their beginnings, the outer of two first. */
static int compare(const void *a, const void *b)
{
    const asc_trace_mark *x = a, *y = b;
    int later = (x->start_s > y->start_s) - (x->start_s < y->start_s);
    return later ? later : (x->end_s < y->end_s) - (x->end_s > y->end_s);
}

static void put_trace(asc_file *file, asc_profile *p)
{
    asc_trace *t = &p->trace;
    if (t->n > 0) {
        qsort(t->mark, t->n, sizeof *t->mark, compare);
    }
    put(file, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"ascgrad\"}},\n"
        "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"%d threads together\"}}",
        asc_threads(p->ctx));
    for (size_t i = 0; i < t->n; i++) {
        put_mark(file, p, &t->mark[i]);
    }
    put(file, "\n]");
}

/* ---- the tables ---- */

static void put_row(asc_file *file, const asc_profile *p, asc_profile_table table, const asc_profile_row *r)
{
    put(file, "{\"name\":\"%s\",\"calls\":%lld,\"seconds\":%.6g,\"busy\":%.3g", r->name, (long long)r->calls,
        r->seconds, r->seconds > 0 ? r->work / (r->seconds * asc_threads(p->ctx)) : 1);
    if (table == ASC_PROFILE_TABLE_OPS) {
        put(file, ",\"pass\":\"%s\"", passes[r->pass]);
    }
    for (int i = 0; table == ASC_PROFILE_TABLE_PARTS && i < ASC_PASSES; i++) {
        put(file, ",\"%s_s\":%.6g", passes[i], r->by_pass[i]);
    }
    put_rate(file, "gflops", r->flops, r->seconds);
    put_rate(file, "gb_per_s", r->bytes, r->seconds);
    put(file, "}");
}

static void put_table(asc_file *file, asc_profile *p, asc_profile_table table, const char *name)
{
    const asc_profile_row *row;
    int n = asc_profile_rows(p, table, &row);
    put(file, ",\n\"%s\":[", name);
    for (int i = 0; i < n; i++) {
        put(file, i ? ",\n" : "\n");
        put_row(file, p, table, &row[i]);
    }
    put(file, "\n]");
}

asc_status asc_profile_write(asc_profile *p, const char *path, double sgemm)
{
    asc_status status = ASC_NEED(p ? p->ctx : NULL, "profile_write: path", path);
    if (status) {
        return status;
    }
    asc_file file;
    asc_profile_total sum = asc_profile_sum(p);
    asc_file_begin(&file, p->ctx, path);
    put_trace(&file, p);
    put(&file, ",\n\"profile\":{\"threads\":%d,\"seconds\":%.6g,\"steps\":%lld,\"step_seconds\":%.6g",
        asc_threads(p->ctx), sum.seconds, (long long)sum.steps, sum.step_seconds);
    put_rate(&file, "gflops", sum.flops, sum.step_seconds);
    put_rate(&file, "sgemm_gflops", 1e9 * sgemm, 1);
    put_table(&file, p, ASC_PROFILE_TABLE_PHASES, "phases");
    put_table(&file, p, ASC_PROFILE_TABLE_PARTS, "parts");
    put_table(&file, p, ASC_PROFILE_TABLE_OPS, "ops");
    put(&file, "}}\n");
    return asc_file_commit(&file);
}
