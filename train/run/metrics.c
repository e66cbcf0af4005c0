/* train/run/metrics.c: metrics.jsonl. */
#include "train/run/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/file.h"
#include "tensor/locale.h"
#include "train/run/events.h"

#define LINE_STEP "{\"step\": %lld" /* how a line begins */

static asc_status fail_io(const asc_metrics *m)
{
    return asc_fail(m->ctx, ASC_ERR_IO, "%s: %s", m->path, strerror(errno));
}

asc_status asc_metrics_open(asc_metrics *m, asc_ctx *ctx, const char *path, int64_t bytes)
{
    *m = (asc_metrics){.ctx = ctx, .path = path, .bytes = bytes};
    m->fd = asc_file_open(ctx, path, O_RDWR | O_NOFOLLOW | (bytes > 0 ? 0 : O_CREAT));
    struct stat now;
    if (m->fd < 0) {
        return asc_error(ctx);
    }
    if (fstat(m->fd, &now)) {
        return fail_io(m);
    }
    if (now.st_size < bytes) {
        return asc_fail(ctx, ASC_ERR_FORMAT, "%s: has %lld bytes, but the checkpoint goes with %lld", path,
                        (long long)now.st_size, (long long)bytes);
    }
    return ASC_OK;
}

/* The beginning of the last line before the mark, where that ends there; else "". ASC_ERR_IO. */
static asc_status read_last(const asc_metrics *m, char *line, size_t size)
{
    char part[4096];
    int64_t start = m->bytes;
    for (bool found = false; start > 0 && !found;) {
        size_t want = (size_t)start < sizeof part ? (size_t)start : sizeof part;
        ssize_t got = pread(m->fd, part, want, (off_t)(start - (int64_t)want));
        if (got != (ssize_t)want) {
            errno = got < 0 ? errno : EIO;
            return fail_io(m);
        }
        bool last = start == m->bytes;
        if (last && part[want - 1] != '\n') {
            break;
        }
        size_t at = last ? want - 1 : want;
        while (at > 0 && part[at - 1] != '\n') {
            at--;
        }
        found = at > 0;
        start -= (int64_t)(want - at);
    }
    int64_t n = m->bytes - start < (int64_t)size - 1 ? m->bytes - start : (int64_t)size - 1;
    line[n] = '\0';
    return n > 0 && pread(m->fd, line, (size_t)n, (off_t)start) != n ? fail_io(m) : ASC_OK;
}

asc_status asc_metrics_check(const asc_metrics *m, int64_t logged_step)
{
    char line[64] = "", expected[40] = ""; /* a line begins with its step */
    if (read_last(m, line, sizeof line)) {
        return asc_error(m->ctx);
    }
    if (logged_step >= 0) {
        snprintf(expected, sizeof expected, LINE_STEP ",", (long long)logged_step);
    }
    if (logged_step < 0 ? m->bytes > 0 : strncmp(line, expected, strlen(expected)) != 0) {
        return asc_fail(m->ctx, ASC_ERR_FORMAT, "%s: its first %lld bytes don't end in a line of step %lld, but the "
                        "checkpoint goes with that", m->path, (long long)m->bytes, (long long)logged_step);
    }
    return ASC_OK;
}

asc_status asc_metrics_cut(asc_metrics *m)
{
    return ftruncate(m->fd, (off_t)m->bytes) ? fail_io(m) : ASC_OK;
}

void asc_metrics_close(asc_metrics *m)
{
    if (m->fd >= 0) {
        close(m->fd);
        m->fd = -1;
    }
    asc_events_close(m->events);
    m->events = NULL;
}

asc_status asc_metrics_add_events(asc_metrics *m, const char *run)
{
    m->events = asc_events_open(m->ctx, run, m->path);
    return asc_error(m->ctx);
}

static asc_status append(asc_metrics *m, const char *line, size_t n)
{
    ssize_t written = pwrite(m->fd, line, n, (off_t)m->bytes);
    if (written < 0 || (size_t)written != n) {
        errno = written < 0 ? errno : ENOSPC;
        asc_status status = fail_io(m);
        (void)!ftruncate(m->fd, (off_t)m->bytes);
        return status;
    }
    m->bytes += (int64_t)n;
    return ASC_OK;
}

/* A member of the line, unless its value is none. */
static int print_share(char *line, size_t size, const char *key, double share)
{
    return isfinite(share) ? asc_snprintf(line, size, ", \"%s\": %.9g", key, share) : 0;
}

/* A perplexity overflows long before its loss does; JSON has no infinity. */
static const char *print_ppl(char text[32], double ppl)
{
    asc_snprintf(text, 32, isfinite(ppl) ? "%.9g" : "null", ppl);
    return text;
}

/* The line without its end. */
static int print_numbers(char *line, size_t size, const asc_train_progress *p, bool evaluated)
{
    char ppl[32];
    int n = asc_snprintf(line, size,
                         LINE_STEP ", \"epoch\": %.6g, \"tokens\": %lld, \"loss\": %.9g, \"lr\": %.9g, "
                         "\"grad_norm\": %.9g, \"tokens_per_s\": %.1f, \"elapsed_s\": %.3f",
                         (long long)p->step, p->epoch, (long long)p->tokens, p->loss, p->lr, p->grad_norm,
                         p->tokens_per_s, p->elapsed_s);
    if (evaluated) {
        n += asc_snprintf(line + n, size - (size_t)n,
                          ", \"valid_loss\": %.9g, \"valid_ppl\": %s, \"valid_bits_per_byte\": %.9g, "
                          "\"valid_unknown\": %.9g", p->valid.loss, print_ppl(ppl, p->valid.ppl),
                          p->valid.bits_per_byte, p->valid.unknown);
        n += print_share(line + n, size - (size_t)n, "valid_accuracy", p->valid.accuracy);
        n += print_share(line + n, size - (size_t)n, "valid_exact", p->valid.exact);
    }
    return n;
}

/* The members of an object as text that goes on a line's, "" for NULL; NULL without memory. To be freed with free(). */
static char *print_members(json_t *more)
{
    char *all = calloc(1, 1);
    size_t used = 0;
    const char *key;
    json_t *value;
    json_object_foreach(more, key, value) {
        char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(6));
        size_t bytes = text ? strlen(key) + strlen(text) + sizeof ", \"\": " : 0;
        char *longer = all && text ? realloc(all, used + bytes) : NULL;
        if (longer) {
            used += (size_t)snprintf(longer + used, bytes, ", \"%s\": %s", key, text);
        } else {
            free(all);
        }
        all = longer;
        free(text);
    }
    return all;
}

asc_status asc_metrics_write(asc_metrics *m, const asc_train_progress *p, bool evaluated, json_t *more)
{
    char numbers[600];
    print_numbers(numbers, sizeof numbers, p, evaluated);
    char *members = print_members(more);
    size_t size = strlen(numbers) + (members ? strlen(members) : 0) + sizeof "}\n";
    char *line = members ? asc_alloc(m->ctx, size) : NULL;
    asc_status status = ASC_OK;
    if (line) {
        status = append(m, line, (size_t)snprintf(line, size, "%s%s}\n", numbers, members));
        if (status == ASC_OK && m->events) {
            status = asc_events_write(m->events, line);
        }
    } else {
        status = asc_fail(m->ctx, ASC_ERR_MEMORY, "%s: out of memory", m->path);
    }
    asc_free(m->ctx, line, size);
    free(members);
    return status;
}

asc_status asc_metrics_sync(asc_metrics *m)
{
    return fsync(m->fd) ? fail_io(m) : ASC_OK;
}
