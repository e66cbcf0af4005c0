/*
 * tests/kernels/both.h: the tests in the file CASES, for float and for double. They are written for REAL, with the
 * functions of KERNELS, a table of kernels, and TOL, some units in the last place of REAL; names are F(name).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tensor/random.h"
#include "tests/suite.h"

#define REAL    float
#define KERNELS asc_kernels_f32
#define F(name) name##_f32
#define TOL     3e-7
#include "tests/kernels/fill.h"
#include CASES
#undef REAL
#undef KERNELS
#undef F
#undef TOL

#define REAL    double
#define KERNELS asc_kernels_f64
#define F(name) name##_f64
#define TOL     1e-15
#include "tests/kernels/fill.h"
#include CASES
#undef REAL
#undef KERNELS
#undef F
#undef TOL
