/* train/bench.h: what the measurements share. */
#ifndef TRAIN_BENCH_H
#define TRAIN_BENCH_H

#include <stdint.h>

/* The median of n >= 1 times, which it sorts. */
double asc_median(double *times, int64_t n);

#endif
