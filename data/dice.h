/* data/dice.h: random numbers one after another, of a seed and a place, the same wherever they are drawn. */
#ifndef DATA_DICE_H
#define DATA_DICE_H

#include <stdint.h>

/* Words of 32 bits: word i % 4 of Philox' output number i / 4. */
typedef struct asc_dice {
    uint32_t key[2], counter[4], words[4];
    int used;
} asc_dice;

/* The stream of a seed at the place (high, low): streams of different places have no number in common. */
asc_dice asc_dice_at(uint64_t seed, uint32_t high, uint32_t low);

/* Uniform on 0 … bound-1, bound >= 1, without bias. */
uint32_t asc_dice_below(asc_dice *d, uint32_t bound);
/* Uniform on (0, 1), with 32 bits. */
double asc_dice_unit(asc_dice *d);

#endif
