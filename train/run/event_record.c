/* train/run/event_record.c: an event as a record: protocol buffers' wire format within a frame of lengths and
 * checksums. */
#include <math.h>
#include <string.h>

#include "train/run/events.h"

const char *const asc_event_names[ASC_EVENT_VALUES] = {"loss",       "lr",        "grad_norm",          "tokens_per_s",
                                                       "valid_loss", "valid_ppl", "valid_bits_per_byte"};

/* ---- checksums ---- */

uint32_t asc_crc32c(const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0); /* the polynomial, its bits reversed */
        }
    }
    return ~crc;
}

/* A record's checksum is turned and moved, so that one over data that have checksums in them is none of theirs. */
static uint32_t masked(const void *bytes, size_t n)
{
    uint32_t crc = asc_crc32c(bytes, n);
    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

/* ---- the wire format: a field's number and kind, then its value ---- */

enum { VARINT = 0, EIGHT_BYTES = 1, LENGTH = 2, FOUR_BYTES = 5 };

typedef struct bytes {
    unsigned char *at;
    size_t n;
} bytes;

static void put_fixed(bytes *b, uint64_t value, int size)
{
    for (int i = 0; i < size; i++) {
        b->at[b->n++] = (unsigned char)(value >> 8 * i);
    }
}

static void put_varint(bytes *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        b->at[b->n++] = (unsigned char)(value | 0x80);
    }
    b->at[b->n++] = (unsigned char)value;
}

static void put_key(bytes *b, int field, int kind)
{
    put_varint(b, (uint64_t)(field << 3 | kind));
}

static void put_bytes(bytes *b, int field, const void *text, size_t n)
{
    put_key(b, field, LENGTH);
    put_varint(b, n);
    memcpy(b->at + b->n, text, n);
    b->n += n;
}

/* Summary.Value: tag = 1, simple_value = 2. Summary: value = 1. */
static void put_value(bytes *summary, const char *name, double value)
{
    unsigned char room[64];
    bytes b = {room, 0};
    float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    put_bytes(&b, 1, name, strlen(name));
    put_key(&b, 2, FOUR_BYTES);
    put_fixed(&b, bits, 4);
    put_bytes(summary, 1, room, b.n);
}

/* Event: wall_time = 1, step = 2, file_version = 3, summary = 5. */
static void put_event(bytes *b, double wall, int64_t step, const double values[ASC_EVENT_VALUES])
{
    static const char version[] = "brain.Event:2";
    unsigned char room[ASC_EVENT_BYTES];
    bytes summary = {room, 0};
    uint64_t bits;
    memcpy(&bits, &wall, sizeof bits);
    put_key(b, 1, EIGHT_BYTES);
    put_fixed(b, bits, 8);
    if (!values) {
        put_bytes(b, 3, version, sizeof version - 1);
        return;
    }
    put_key(b, 2, VARINT);
    put_varint(b, (uint64_t)step);
    for (int i = 0; i < ASC_EVENT_VALUES; i++) {
        if (!isnan(values[i])) {
            put_value(&summary, asc_event_names[i], values[i]);
        }
    }
    put_bytes(b, 5, room, summary.n);
}

size_t asc_event_record(unsigned char record[ASC_EVENT_BYTES], double wall, int64_t step,
                        const double values[ASC_EVENT_VALUES])
{
    enum { HEAD = 12 };
    bytes head = {record, 0}, data = {record + HEAD, 0};
    put_event(&data, wall, step, values);
    put_fixed(&head, data.n, 8);
    put_fixed(&head, masked(record, 8), 4);
    uint32_t checksum = masked(data.at, data.n);
    put_fixed(&data, checksum, 4);
    return HEAD + data.n;
}
