/* data/lines.c: the lines of a split, from the built-in corpus, a part of a file, or a file of a folder. */
#include "data/dataset.h"

#include <math.h>
#include <string.h>

#include <ascgrad/builtin.h>

static asc_status open_builtin(asc_lines *lines, const asc_dataset *dataset, asc_split_kind kind)
{
    size_t bytes = 0;
    asc_status status =
        asc_builtin_text(dataset->ctx, dataset->words, dataset->seed, asc_split_name(kind), &lines->memory, &bytes,
                         &lines->memory_bytes, &lines->source_nats, &lines->source_tokens);
    if (!status) {
        lines->text = asc_text_open_memory(dataset->ctx, dataset->path, lines->memory, bytes, 0);
        status = lines->text ? ASC_OK : asc_error(dataset->ctx);
    }
    return status;
}

/* Finds where the splits of a file begin: that takes its uncompressed length, and so a pass over it. */
static asc_status count_file(asc_dataset *dataset)
{
    asc_text *text = asc_text_open(dataset->ctx, dataset->path, 0);
    if (!text) {
        return asc_error(dataset->ctx);
    }
    const char *line;
    size_t bytes;
    asc_status status;
    do {
        status = asc_text_next(text, &line, &bytes);
    } while (!status && line);
    int64_t total = asc_text_bytes(text);
    asc_text_close(text);
    if (!status) {
        dataset->cuts[ASC_VALID] = total - total / 10;
        dataset->cuts[ASC_TEST] = total - total / 20;
        dataset->cuts[ASC_N_SPLITS] = total;
        dataset->counted = true;
    }
    return status;
}

static asc_status open_file(asc_lines *lines, asc_dataset *dataset, asc_split_kind kind)
{
    asc_status status = dataset->counted ? ASC_OK : count_file(dataset);
    if (!status) {
        lines->from = dataset->cuts[kind];
        lines->to = dataset->cuts[kind + 1];
        lines->text = asc_text_open(dataset->ctx, dataset->path, 0);
        status = lines->text ? ASC_OK : asc_error(dataset->ctx);
    }
    return status;
}

static asc_status open_in_folder(asc_lines *lines, const asc_dataset *dataset, asc_split_kind kind)
{
    char *path = asc_folder_find(dataset->ctx, dataset->path, kind);
    if (path) {
        lines->text = asc_text_open(dataset->ctx, path, 0);
        asc_free(dataset->ctx, path, strlen(path) + 1);
    }
    return lines->text ? ASC_OK : asc_error(dataset->ctx);
}

asc_status asc_lines_open(asc_lines *lines, asc_dataset *dataset, asc_split_kind kind)
{
    *lines = (asc_lines){.ctx = dataset->ctx, .to = INT64_MAX, .source_nats = NAN};
    asc_status status = dataset->source == ASC_FROM_BUILTIN ? open_builtin(lines, dataset, kind)
                        : dataset->source == ASC_FROM_FILE  ? open_file(lines, dataset, kind)
                                                            : open_in_folder(lines, dataset, kind);
    if (status) {
        asc_lines_close(lines);
    }
    return status;
}

asc_status asc_lines_next(asc_lines *lines, const char **line, size_t *bytes)
{
    for (;;) {
        int64_t start = asc_text_bytes(lines->text);
        *line = NULL;
        *bytes = 0;
        if (start >= lines->to) {
            return ASC_OK;
        }
        asc_status status = asc_text_next(lines->text, line, bytes);
        if (status || !*line || start >= lines->from) {
            return status;
        }
    }
}

void asc_lines_close(asc_lines *lines)
{
    asc_text_close(lines->text);
    asc_free(lines->ctx, lines->memory, lines->memory_bytes);
    lines->text = NULL;
    lines->memory = NULL;
}
