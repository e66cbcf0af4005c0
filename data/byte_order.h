/*
 * data/byte_order.h: files hold numbers with their low byte first, whatever the machine's order is.
 *
 * On most machines both are the same, and nothing of this costs anything.
 */
#ifndef DATA_BYTE_ORDER_H
#define DATA_BYTE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether elements of that many bytes stand otherwise in memory than in a file. */
static inline bool asc_turned_in_files(size_t width)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ && width > 1;
}

/* Turns n elements from a file's order to the machine's, or back, in their place. */
void asc_file_order(void *values, size_t n, size_t width);

/* The CRC-32 `crc` continued with n elements as a file holds them. */
uint32_t asc_file_crc(uint32_t crc, const void *values, size_t n, size_t width);

#endif
