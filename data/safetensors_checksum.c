/* data/safetensors_checksum.c: the checksums of a safetensors file, see ascgrad/safetensors.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "data/safetensors.h"

enum { DIGITS = 8 };

static const char *header_of(const asc_safetensors *file)
{
    return asc_safetensors_metadata(file, ASC_SAFETENSORS_CRC);
}

static const char *tensors_of(const asc_safetensors *file)
{
    return asc_safetensors_metadata(file, ASC_SAFETENSORS_CRC_TENSORS);
}

static uLong add_text(uLong crc, const char *text)
{
    return crc32_z(crc, (const Bytef *)text, strlen(text) + 1); /* its end, too, so that two texts are not one */
}

static int by_key(const void *a, const void *b)
{
    const asc_safetensors_pair *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

asc_status asc_safetensors_sum(asc_ctx *ctx, const asc_safetensors_pair *pairs, int64_t n_pairs,
                               const asc_safetensors_entry *const *by_name, int64_t n, uint32_t *crc)
{
    size_t bytes = (size_t)n_pairs * sizeof(asc_safetensors_pair *);
    const asc_safetensors_pair **sorted = asc_alloc(ctx, bytes);
    if (!sorted) {
        return ASC_ERR_MEMORY;
    }
    for (int64_t i = 0; i < n_pairs; i++) {
        sorted[i] = &pairs[i];
    }
    qsort(sorted, (size_t)n_pairs, sizeof *sorted, by_key);
    uLong sum = crc32_z(0, NULL, 0);
    for (int64_t i = 0; i < n_pairs; i++) {
        if (strcmp(sorted[i]->key, ASC_SAFETENSORS_CRC) != 0) {
            sum = add_text(add_text(sum, sorted[i]->key), sorted[i]->value);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        const asc_safetensors_entry *e = by_name[i];
        sum = add_text(add_text(sum, e->name), e->stored);
        for (int d = 0; d < e->ndim; d++) {
            char size[24];
            snprintf(size, sizeof size, "%" PRId64, e->shape[d]);
            sum = add_text(sum, size);
        }
        sum = add_text(sum, "");
    }
    *crc = (uint32_t)sum;
    asc_free(ctx, sorted, bytes);
    return ASC_OK;
}

/* ---- of a file that is read ---- */

static asc_status wrong(const asc_safetensors *file, const char *tensor, const char *got, const char *expected)
{
    return asc_safetensors_fail(file, ASC_ERR_FORMAT, tensor,
                                "is damaged: its checksum is %s, expected %.20s", got, expected ? expected : "one");
}

/* "1a2b3c4d 00000000 …", in the order of the names. */
static asc_status read_tensors(asc_safetensors *file, const char *text)
{
    file->crc = asc_alloc(file->ctx, (size_t)file->count * sizeof *file->crc);
    if (!file->crc) {
        return ASC_ERR_MEMORY;
    }
    for (int64_t i = 0; i < file->count; i++) {
        bool last = i == file->count - 1;
        if (strspn(text, "0123456789abcdef") != DIGITS || text[DIGITS] != (last ? '\0' : ' ')) {
            return asc_safetensors_fail(file, ASC_ERR_FORMAT, NULL, "its %s are not %lld checksums",
                                        ASC_SAFETENSORS_CRC_TENSORS, (long long)file->count);
        }
        file->crc[file->by_name[i] - file->entries] = (uint32_t)strtoul(text, NULL, 16);
        text += last ? DIGITS : DIGITS + 1;
    }
    return ASC_OK;
}

asc_status asc_safetensors_check_header(asc_safetensors *file)
{
    const char *expected = header_of(file), *tensors = tensors_of(file);
    if (!expected && !tensors) {
        return ASC_OK;
    }
    uint32_t crc;
    if (asc_safetensors_sum(file->ctx, file->metadata, file->n_metadata, file->by_name, file->count, &crc)) {
        return ASC_ERR_MEMORY;
    }
    char got[DIGITS + 1];
    snprintf(got, sizeof got, "%08" PRIx32, crc);
    if (!expected || !tensors || strcmp(got, expected) != 0) {
        return wrong(file, NULL, got, expected);
    }
    return read_tensors(file, tensors);
}

asc_status asc_safetensors_check_values(const asc_safetensors *file, const asc_safetensors_entry *e, uint32_t crc)
{
    if (!file->crc || file->crc[e - file->entries] == crc) {
        return ASC_OK;
    }
    char got[DIGITS + 1], expected[DIGITS + 1];
    snprintf(got, sizeof got, "%08" PRIx32, crc);
    snprintf(expected, sizeof expected, "%08" PRIx32, file->crc[e - file->entries]);
    return wrong(file, e->name, got, expected);
}
