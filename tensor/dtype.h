/* tensor/dtype.h: what depends on whether an array is of float or of double. */
#ifndef TENSOR_DTYPE_H
#define TENSOR_DTYPE_H

#include <ascgrad/tensor.h>

/* name_f32 or name_f64: functions that are written once, for float; see kernels/f64.awk. */
#define BY_DTYPE(dtype, name) ((dtype) == ASC_F32 ? name##_f32 : name##_f64)

/* Element i of `data`, f32 or f64. */
static inline double asc_element(asc_dtype dtype, const void *data, int64_t i)
{
    return dtype == ASC_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static inline void asc_set_element(asc_dtype dtype, void *data, int64_t i, double value)
{
    if (dtype == ASC_F32) {
        ((float *)data)[i] = (float)value;
    } else {
        ((double *)data)[i] = value;
    }
}

/* The same of any dtype. */
static inline void asc_set_any(asc_dtype dtype, void *data, int64_t i, double value)
{
    switch (dtype) {
    case ASC_F32: ((float *)data)[i] = (float)value; break;
    case ASC_F64: ((double *)data)[i] = value; break;
    case ASC_I64: ((int64_t *)data)[i] = (int64_t)value; break;
    case ASC_U8: ((uint8_t *)data)[i] = (uint8_t)value; break;
    }
}

/* Whether a number is one of the dtype's; of integers it is cut towards 0. */
static inline bool asc_dtype_holds(asc_dtype dtype, double value)
{
    return dtype == ASC_I64  ? value >= -0x1p63 && value < 0x1p63
           : dtype == ASC_U8 ? value > -1 && value < 256
                             : true;
}

#endif
