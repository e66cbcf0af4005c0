/* data/dice.c: random numbers one after another, from Philox. */
#include "data/dice.h"

#include "tensor/random.h"

asc_dice asc_dice_at(uint64_t seed, uint32_t high, uint32_t low)
{
    return (asc_dice){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)}, .counter = {0, 0, low, high}, .used = 4};
}

static uint32_t next_word(asc_dice *d)
{
    if (d->used == 4) {
        asc_philox(d->key, d->counter, d->words);
        d->counter[0]++;
        d->counter[1] += d->counter[0] == 0;
        d->used = 0;
    }
    return d->words[d->used++];
}

/* Lemire, "Fast random integer generation in an interval", ACM TOMACS 2019. */
uint32_t asc_dice_below(asc_dice *d, uint32_t bound)
{
    uint64_t product = (uint64_t)next_word(d) * bound;
    if ((uint32_t)product < bound) {
        uint32_t least = -bound % bound;
        while ((uint32_t)product < least) {
            product = (uint64_t)next_word(d) * bound;
        }
    }
    return (uint32_t)(product >> 32);
}

double asc_dice_unit(asc_dice *d)
{
    return ((double)next_word(d) + .5) * 0x1p-32;
}
