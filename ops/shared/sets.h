/* ops/shared/sets.h: sets of k out of 0 … n-1, i_0 < … < i_{k-1}, in lexicographic order. */
#ifndef OPS_SHARED_SETS_H
#define OPS_SHARED_SETS_H

#include <stdint.h>

/* C(n, k), how many there are; -1 where that is beyond int64_t. */
static inline int64_t asc_sets_count(int64_t n, int64_t k)
{
    int64_t c = k <= n ? 1 : 0;
    for (int64_t i = 0; i < k && c > 0; i++) {
        if (c > INT64_MAX / (n - i)) {
            return -1;
        }
        c = c * (n - i) / (i + 1);
    }
    return c;
}

/* The place of the set i, of k out of n, but for i[out], among all of k - 1. */
static inline int64_t asc_set_place_without(const int64_t *i, int k, int out, int64_t n)
{
    int64_t place = 0, next = 0; /* the least that the next entry may be */
    for (int a = 0, left = k - 1; a < k; a++) {
        if (a == out) {
            continue;
        }
        left--;
        for (; next < i[a]; next++) {
            place += asc_sets_count(n - 1 - next, left);
        }
        next = i[a] + 1;
    }
    return place;
}

/* The next set. */
static inline void asc_set_advance(int64_t *i, int k, int64_t n)
{
    int a = k - 1;
    while (a > 0 && i[a] == n - k + a) {
        a--;
    }
    i[a]++;
    for (int b = a + 1; b < k; b++) {
        i[b] = i[b - 1] + 1;
    }
}

#endif
