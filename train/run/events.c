/* train/run/events.c: the event file of a run, kept in line with its metrics.jsonl. */
#include "train/run/events.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <program/file.h>

#include "data/file.h"
#include "tensor/ctx.h"
#include "train/path.h"
#include "train/run/lines.h"

struct asc_events {
    asc_ctx *ctx;
    char *path;
    int fd;
    int64_t bytes; /* of whole records */
};

static double wall_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static asc_status append(asc_events *e, double wall, int64_t step, const double *values)
{
    unsigned char record[ASC_EVENT_BYTES];
    size_t n = asc_event_record(record, wall, step, values);
    ssize_t written = pwrite(e->fd, record, n, (off_t)e->bytes);
    if (written != (ssize_t)n) {
        asc_fail(e->ctx, ASC_ERR_IO, "%s: %s", e->path, strerror(written < 0 ? errno : ENOSPC));
        (void)!ftruncate(e->fd, (off_t)e->bytes);
        return asc_error(e->ctx);
    }
    e->bytes += written;
    return ASC_OK;
}

asc_status asc_events_write(asc_events *e, const char *line)
{
    double values[ASC_EVENT_VALUES];
    json_t *object = json_loads(line, 0, NULL);
    if (!object) {
        return asc_fail(e->ctx, ASC_ERR_MEMORY, "%s: out of memory", e->path);
    }
    for (int i = 0; i < ASC_EVENT_VALUES; i++) {
        const json_t *value = json_object_get(object, asc_event_names[i]);
        values[i] = json_is_number(value) ? json_number_value(value) : NAN;
    }
    append(e, wall_now(), json_integer_value(json_object_get(object, "step")), values);
    json_decref(object);
    return asc_error(e->ctx);
}

/* ---- in line with metrics.jsonl ---- */

/* What a line of metrics.jsonl has for an event. */
static int64_t values_of(const asc_run_lines *lines, size_t row, double values[ASC_EVENT_VALUES])
{
    for (int i = 0; i < ASC_EVENT_VALUES; i++) {
        values[i] = asc_run_lines_value(lines, row, asc_event_names[i]);
    }
    return (int64_t)asc_run_lines_value(lines, row, "step");
}

/* Whether the file goes on with the record of these values, whatever its time; then it is passed over. As all but the
 * time is known, the record is made again with that time and compared, checksums and all. */
static bool pass_over(asc_events *e, int64_t step, const double *values)
{
    enum { WALL = 12 + 1 }; /* behind the head and the field's key, in eight bytes of a double, the lowest first */
    unsigned char found[ASC_EVENT_BYTES], expected[ASC_EVENT_BYTES];
    size_t n = asc_event_record(expected, 0, step, values);
    if (pread(e->fd, found, n, (off_t)e->bytes) != (ssize_t)n) {
        return false;
    }
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) {
        bits |= (uint64_t)found[WALL + i] << 8 * i;
    }
    double wall;
    memcpy(&wall, &bits, sizeof wall);
    asc_event_record(expected, wall, step, values);
    if (memcmp(found, expected, n) != 0) {
        return false;
    }
    e->bytes += (int64_t)n;
    return true;
}

/* Keeps what the file has of the lines, cuts off the rest, and writes what is missing: as long before now as the line
 * is before the last one. */
static asc_status align(asc_events *e, const asc_run_lines *lines)
{
    double values[ASC_EVENT_VALUES], now = wall_now();
    size_t row = 0;
    bool begun = pass_over(e, 0, NULL);
    while (begun && row < lines->n) {
        int64_t step = values_of(lines, row, values);
        if (!pass_over(e, step, values)) {
            break;
        }
        row++;
    }
    if (ftruncate(e->fd, (off_t)e->bytes)) {
        return asc_fail(e->ctx, ASC_ERR_IO, "%s: %s", e->path, strerror(errno));
    }
    double last = lines->n > 0 ? asc_run_lines_value(lines, lines->n - 1, "elapsed_s") : 0;
    if (!begun && append(e, now - (isnan(last) ? 0 : last), 0, NULL)) {
        return asc_error(e->ctx);
    }
    for (; row < lines->n; row++) {
        int64_t step = values_of(lines, row, values);
        double before = last - asc_run_lines_value(lines, row, "elapsed_s");
        if (append(e, now - (isnan(before) ? 0 : before), step, values)) {
            return asc_error(e->ctx);
        }
    }
    return ASC_OK;
}

/* ---- the file ---- */

static asc_status open_file(asc_events *e, const char *run)
{
    char *folder = asc_path_join(e->ctx, run, "tensorboard");
    if (folder && asc_folder_make(e->ctx, folder) == ASC_OK) {
        e->path = asc_path_join(e->ctx, folder, "events.out.tfevents.ascgrad");
        e->fd = e->path ? asc_file_open(e->ctx, e->path, O_RDWR | O_CREAT | O_NOFOLLOW) : -1;
    }
    asc_path_free(e->ctx, folder);
    return asc_error(e->ctx);
}

asc_events *asc_events_open(asc_ctx *ctx, const char *run, const char *metrics)
{
    asc_events *e = asc_alloc(ctx, sizeof *e);
    if (!e) {
        return NULL;
    }
    *e = (asc_events){.ctx = ctx, .fd = -1};
    asc_run_lines lines = {0};
    if (open_file(e, run) == ASC_OK && asc_run_lines_read(&lines, ctx, metrics) == ASC_OK) {
        align(e, &lines);
    }
    asc_run_lines_free(&lines);
    if (asc_error(ctx)) {
        asc_events_close(e);
        return NULL;
    }
    return e;
}

void asc_events_close(asc_events *e)
{
    if (e) {
        if (e->fd >= 0) {
            close(e->fd);
        }
        asc_path_free(e->ctx, e->path);
        asc_free(e->ctx, e, sizeof *e);
    }
}
