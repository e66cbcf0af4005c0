/* tests/kernels/both.h: what the tests of kernels include, and their tolerances: some units in the last place. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tensor/random.h"
#include "tests/suite.h"

#define TOL_f32 3e-7
#define TOL_f64 1e-15
#include "tests/kernels/fill.h"
