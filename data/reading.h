/*
 * data/reading.h: a split of a data set, piece by piece.
 *
 *     asc_source_reader reader;
 *     asc_text_piece piece;
 *     asc_status status = asc_reading_begin(&reader, data, ASC_SPLIT_TRAIN);
 *     if (!status) {
 *         while (!(status = asc_reading_next(&reader, &piece)) && piece.text) {
 *             …
 *         }
 *         asc_reading_end(&reader);
 *     }
 */
#ifndef DATA_READING_H
#define DATA_READING_H

#include <ascgrad/corpus.h>

/* On failure there is nothing to end. */
asc_status asc_reading_begin(asc_source_reader *reader, asc_dataset *data, asc_split_kind split);

/* The next piece; text NULL: there are no more. */
asc_status asc_reading_next(asc_source_reader *reader, asc_text_piece *piece);

void asc_reading_end(asc_source_reader *reader);

#endif
