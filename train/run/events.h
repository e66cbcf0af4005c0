/*
 * train/run/events.h: the lines of metrics.jsonl as scalars in an event file, which TensorBoard shows.
 *
 * RUN/tensorboard/events.out.tfevents.ascgrad is a file of records: length, its checksum, data, their checksum
 * (TensorFlow's guide "TFRecord and tf.train.Example"). The first one says "brain.Event:2", each other one is an Event
 * (TensorBoard's event.proto and summary.proto) with one line's numbers. So the file follows from metrics.jsonl but for
 * its times, and is brought in line with it when it is opened: what a checkpoint does not know of goes, what is missing
 * or damaged is written again.
 */
#ifndef TRAIN_EVENTS_H
#define TRAIN_EVENTS_H

#include <ascgrad/base.h>

/* The numbers of an event, NaN for those that it does not have, by their names in metrics.jsonl. */
enum { ASC_EVENT_VALUES = 7 };
extern const char *const asc_event_names[ASC_EVENT_VALUES];

typedef struct asc_events asc_events;

/* Opens the file of the run in the folder `run`, whose lines are in `metrics`; it is made if it is not there. New; NULL
 * with the error set: ASC_ERR_IO, also where links stand in its place; ASC_ERR_FORMAT: of `metrics`; ASC_ERR_MEMORY. */
asc_events *asc_events_open(asc_ctx *ctx, const char *run, const char *metrics);
void asc_events_close(asc_events *events); /* NULL is accepted */

/* Appends the event of a line, at the time of now, all of it or nothing. ASC_ERR_IO, ASC_ERR_MEMORY. */
asc_status asc_events_write(asc_events *events, const char *line);

/* ---- the format ---- */

/* CRC-32C (Castagnoli; RFC 3720, section 12.1). */
uint32_t asc_crc32c(const void *bytes, size_t n);

/* The record of an event; `wall` in seconds since 1970. `values` NULL: the file's first one. Its length. */
enum { ASC_EVENT_BYTES = 512 };
size_t asc_event_record(unsigned char record[ASC_EVENT_BYTES], double wall, int64_t step,
                        const double values[ASC_EVENT_VALUES]);

#endif
