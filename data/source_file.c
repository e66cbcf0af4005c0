/* data/source_file.c: one text file as a data source: its last 5 % are test, the 5 % before them valid. A line belongs
 * where its first byte is; where lines are so long that none begins in one of the splits, as in a text of one line,
 * they are cut between words. */
#include <sys/stat.h>

#include <ascgrad/corpus.h>

#include "data/split_files.h"

typedef struct file {
    int64_t cuts[ASC_SPLITS + 1]; /* split s is the lines that start at cuts[s] … cuts[s+1]-1 … */
    bool cuts_lines;              /* … or the words of lines that do */
    bool counted;                 /* cuts are known */
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

/* Whether no line begins in one of the splits. */
static asc_status has_empty_split(asc_ctx *ctx, const char *path, const int64_t *cuts, bool *empty)
{
    asc_text *text = asc_text_open(ctx, path, 0);
    int64_t lines[ASC_SPLITS] = {0};
    const char *line = "";
    asc_status status = asc_error(ctx);
    for (int split = 0; !status && line;) {
        int64_t start = asc_text_bytes(text);
        size_t bytes;
        status = asc_text_next(text, &line, &bytes);
        while (split < ASC_SPLITS - 1 && start >= cuts[split + 1]) {
            split++;
        }
        lines[split] += line != NULL;
    }
    asc_text_close(text);
    *empty = false;
    for (int split = 0; split < ASC_SPLITS; split++) {
        *empty |= lines[split] == 0;
    }
    return status;
}

static asc_status count(asc_ctx *ctx, const char *path, file *f)
{
    int64_t longest = 0;
    asc_status status = asc_file_cuts(ctx, path, f->cuts, &longest);
    if (!status && longest >= f->cuts[ASC_SPLITS] - f->cuts[ASC_SPLIT_TEST]) {
        status = has_empty_split(ctx, path, f->cuts, &f->cuts_lines);
    }
    f->counted = !status;
    return status;
}

static asc_status begin(asc_source_reader *s)
{
    file *f = s->data->self;
    reader *r = s->self;
    asc_status status = f->counted ? ASC_OK : count(s->data->ctx, s->data->spec, f);
    if (status) {
        return status;
    }
    r->from = f->cuts[s->split];
    r->to = f->cuts[s->split + 1];
    r->text = asc_text_open(s->data->ctx, s->data->spec, 0);
    return r->text ? ASC_OK : asc_error(s->data->ctx);
}

/* Of a text of a few words none may begin in its last part. */
static asc_status finish(const asc_source_reader *s)
{
    const reader *r = s->self;
    if (r->any || s->split == ASC_SPLIT_TRAIN) {
        return ASC_OK;
    }
    return asc_fail(s->data->ctx, ASC_ERR_FORMAT, "%s: the %s split has 0 bytes and 0 tokens, expected 2 or more: no "
                    "word begins in that part of the text, whose last 5 %% are test and the 5 %% before them valid; it "
                    "takes more of it, or a folder with train.txt, valid.txt and test.txt", s->data->spec,
                    asc_split_name(s->split));
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Where a line is cut that should be at byte `at`: before the next space, or without one before a letter. */
static size_t cut_of(const char *line, size_t n, int64_t at)
{
    size_t first = at < 0 ? 0 : at < (int64_t)n ? (size_t)at : n, i = first;
    while (i > 0 && i < n && !is_space(line[i])) {
        i++;
    }
    if (i > 0 && i == n) {
        for (i = first; i < n && ((unsigned char)line[i] & 0xc0) == 0x80; i++) {
        }
    }
    return i;
}

/* Leaves of a line what is in the split; whether there is something. */
static bool cut(const reader *r, int64_t start, asc_text_piece *piece)
{
    size_t from = cut_of(piece->text, piece->bytes, r->from - start);
    size_t to = cut_of(piece->text, piece->bytes, r->to - start);
    piece->text += from;
    piece->bytes = to - from;
    return to > from;
}

static asc_status next(asc_source_reader *s, asc_text_piece *piece)
{
    const file *f = s->data->self;
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
        if (status || (f->cuts_lines ? cut(r, start, piece) : start >= r->from)) {
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
