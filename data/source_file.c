/* data/source_file.c: one text file as a data source: its last 5 % are test, the 5 % before them valid. A line belongs
 * where its first byte is. */
#include <sys/stat.h>

#include <ascgrad/corpus.h>

#include "data/split_files.h"

typedef struct file {
    int64_t cuts[ASC_SPLITS + 1]; /* split s is the lines that start at cuts[s] … cuts[s+1]-1 */
    bool counted;               /* cuts are known */
} file;

typedef struct reader {
    asc_text *text;
    int64_t from, to;
    bool any; /* something was read */
} reader;

static bool takes(const char *spec)
{
    struct stat info;
    return stat(spec, &info) == 0 && S_ISREG(info.st_mode);
}

static asc_status begin(asc_source_reader *s)
{
    file *f = s->data->self;
    reader *r = s->self;
    asc_status status = f->counted ? ASC_OK : asc_file_cuts(s->data->ctx, s->data->spec, f->cuts);
    if (status) {
        return status;
    }
    f->counted = true;
    r->from = f->cuts[s->split];
    r->to = f->cuts[s->split + 1];
    r->text = asc_text_open(s->data->ctx, s->data->spec, 0);
    return r->text ? ASC_OK : asc_error(s->data->ctx);
}

/* Of a text of a few lines none may begin in its last part. */
static asc_status finish(const asc_source_reader *s)
{
    const reader *r = s->self;
    if (r->any || s->split == ASC_SPLIT_TRAIN) {
        return ASC_OK;
    }
    return asc_fail(s->data->ctx, ASC_ERR_FORMAT, "%s: the %s split has 0 bytes and 0 tokens, expected 2 or more: no "
                    "line begins in that part of the text, whose last 5 %% are test and the 5 %% before them valid; it "
                    "takes 20 lines or so, or a folder with train.txt, valid.txt and test.txt", s->data->spec,
                    asc_split_name(s->split));
}

static asc_status next(asc_source_reader *s, asc_text_piece *piece)
{
    reader *r = s->self;
    for (;;) {
        int64_t start = asc_text_bytes(r->text);
        *piece = (asc_text_piece){0};
        if (start >= r->to) {
            return finish(s);
        }
        asc_status status = asc_text_next(r->text, &piece->text, &piece->bytes);
        if (!status && !piece->text) {
            return finish(s);
        }
        if (status || start >= r->from) {
            r->any = true;
            return status;
        }
    }
}

static void end(asc_source_reader *s)
{
    asc_text_close(((reader *)s->self)->text);
}

const asc_data_source asc_source_file = {
    .abi = ASC_CORPUS_ABI,
    .name = "file",
    .spec = "a text file",
    .is_path = true,
    .size = sizeof(file),
    .reader_size = sizeof(reader),
    .takes = takes,
    .begin = begin,
    .next = next,
    .end = end,
};
