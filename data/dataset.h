/* data/dataset.h: where the text of a data set's splits comes from. */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include <ascgrad/data.h>

enum { ASC_N_SPLITS = 3 };

typedef enum asc_dataset_source { ASC_FROM_BUILTIN, ASC_FROM_FILE, ASC_FROM_FOLDER } asc_dataset_source;

struct asc_dataset {
    asc_ctx *ctx;
    asc_dataset_source source;
    int64_t words; /* builtin */
    uint64_t seed;
    int64_t cuts[ASC_N_SPLITS + 1]; /* file: split s is the lines that start at cuts[s] … cuts[s+1]-1 */
    bool counted;                   /* file: cuts are known */
    size_t path_bytes;
    char path[]; /* file, folder: the path; builtin: the spec */
};

/* The lines of one split, one after another. */
typedef struct asc_lines {
    asc_ctx *ctx;
    asc_text *text;
    int64_t from, to; /* offsets: the split's lines start at from … to-1 */
    char *memory;     /* builtin: the text */
    size_t memory_bytes;
    double source_nats; /* see asc_split */
    int64_t source_tokens;
} asc_lines;

/* Opens a split of a data set; errors as asc_split_load. On failure there is nothing to close. */
asc_status asc_lines_open(asc_lines *lines, asc_dataset *dataset, asc_split_kind kind);

/* As asc_text_next, within the split. */
asc_status asc_lines_next(asc_lines *lines, const char **line, size_t *bytes);

void asc_lines_close(asc_lines *lines);

/* The path of a folder's file for a split, new: free it with asc_free(ctx, path, strlen(path) + 1). NULL with the
 * error set: there is none, or there are several. */
char *asc_folder_find(asc_ctx *ctx, const char *folder, asc_split_kind kind);

#endif
