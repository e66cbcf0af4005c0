/* data/record.h: lines that are records: objects of JSON, or rows of columns between tabs, under a header. */
#ifndef DATA_RECORD_H
#define DATA_RECORD_H

#include <ascgrad/corpus.h>
#include <jansson.h>

enum { ASC_RECORD_FIELDS = 3 };

/* What a record is asked for: fields by name, or in rows by number, from 1, which there then is no header for. */
typedef struct asc_fields {
    const char *name[ASC_RECORD_FIELDS]; /* NULL: not asked for */
    bool rows;                           /* no JSON */
} asc_fields;

/* A reader of records. */
typedef struct asc_records {
    asc_ctx *ctx;
    asc_text *text;
    const char *path;
    asc_fields fields;
    int column[ASC_RECORD_FIELDS], columns; /* of rows: where the fields are, and how many a row has; 0: any number */
    char *value[ASC_RECORD_FIELDS];         /* of the last record; NULL: not asked for */
    size_t capacity[ASC_RECORD_FIELDS];
} asc_records;

/* Opens a file, and reads the header that it may have. In any case asc_records_close. `path` is borrowed.
 * ASC_ERR_FORMAT: a field is not in the header; errors of asc_text_open and asc_text_next. */
asc_status asc_records_open(asc_records *r, asc_ctx *ctx, const char *path, const asc_fields *fields);
void asc_records_close(asc_records *r);

/* The next record that starts in bytes from … to-1 of the text, into r->value; *more is false where there is none.
 * Empty lines are passed over. ASC_ERR_FORMAT, with file and line: no object, a field is missing or neither text nor
 * a number, another number of columns than the header's. */
asc_status asc_records_next(asc_records *r, int64_t from, int64_t to, bool *more);

/* ASC_ERR_FORMAT about the record that was read last. */
asc_status asc_record_fail(const asc_records *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether a name of a header, or a key of the first object, is there: for guesses. false too where it can't be read. */
bool asc_records_have(asc_ctx *ctx, const char *path, bool rows, const char *const *names);

/* source_records.c */
extern const asc_data_source asc_source_records;
/* Whether a data set of records names files for others of its splits, and none for this one: so it is meant to be. */
bool asc_records_spare(const asc_dataset *data, asc_split_kind kind);

#endif
