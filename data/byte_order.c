/* data/byte_order.c: elements turned from a file's order of bytes to the machine's, and back. */
#include "data/byte_order.h"

#include <string.h>
#include <zlib.h>

void asc_file_order(void *values, size_t n, size_t width)
{
    unsigned char *at = values;
    for (size_t i = 0; asc_turned_in_files(width) && i < n; i++, at += width) {
        for (size_t low = 0, high = width - 1; low < high; low++, high--) {
            unsigned char byte = at[low];
            at[low] = at[high];
            at[high] = byte;
        }
    }
}

uint32_t asc_file_crc(uint32_t crc, const void *values, size_t n, size_t width)
{
    if (!asc_turned_in_files(width)) {
        return (uint32_t)crc32_z(crc, values, n * width);
    }
    unsigned char turned[1024];
    const unsigned char *from = values;
    for (size_t piece; n > 0; n -= piece, from += piece * width) {
        piece = n < sizeof turned / width ? n : sizeof turned / width;
        memcpy(turned, from, piece * width);
        asc_file_order(turned, piece, width);
        crc = (uint32_t)crc32_z(crc, turned, piece * width);
    }
    return crc;
}
