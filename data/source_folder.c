/* data/source_folder.c: a folder with a file for each split as a data source. */
#include <sys/stat.h>

#include <ascgrad/corpus.h>

#include "data/split_files.h"

typedef struct reader {
    asc_text *text;
} reader;

static bool takes(const char *spec)
{
    struct stat info;
    return stat(spec, &info) == 0 && S_ISDIR(info.st_mode);
}

static asc_status begin(asc_source_reader *s)
{
    asc_ctx *ctx = s->data->ctx;
    reader *r = s->self;
    char *path = asc_split_path(ctx, s->data->spec, s->split);
    if (path) {
        r->text = asc_text_open(ctx, path, 0);
        asc_split_path_free(ctx, path);
    }
    return r->text ? ASC_OK : asc_error(ctx);
}

static asc_status next(asc_source_reader *s, asc_text_piece *piece)
{
    return asc_text_next(((reader *)s->self)->text, &piece->text, &piece->bytes);
}

static void end(asc_source_reader *s)
{
    asc_text_close(((reader *)s->self)->text);
}

const asc_data_source asc_source_folder = {
    .abi = ASC_CORPUS_ABI,
    .name = "folder",
    .spec = "a folder with train, valid and test files",
    .is_path = true,
    .reader_size = sizeof(reader),
    .takes = takes,
    .begin = begin,
    .next = next,
    .end = end,
};
