/* data/safetensors_dtypes.c: the dtypes of a safetensors file, and what they are turned into. */
#include <string.h>

#include "data/safetensors.h"

/* IEEE 754 binary16, subnormals, infinities and NaNs included; exact. */
static float from_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 0) {
        float small = (float)fraction * 0x1p-24f;
        return sign ? -small : small;
    }
    uint32_t bits = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* bfloat16 is the upper half of a binary32. */
static float from_bfloat(uint16_t b)
{
    uint32_t bits = (uint32_t)b << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define CONVERT(name, from, to, value)                                                                                 \
    static void name(void *out, const void *in, size_t n)                                                              \
    {                                                                                                                  \
        const from *x = in;                                                                                            \
        to *y = out;                                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                                               \
            y[i] = (to)(value);                                                                                        \
        }                                                                                                              \
    }

CONVERT(f16_f32, uint16_t, float, from_half(x[i]))
CONVERT(f16_f64, uint16_t, double, from_half(x[i]))
CONVERT(bf16_f32, uint16_t, float, from_bfloat(x[i]))
CONVERT(bf16_f64, uint16_t, double, from_bfloat(x[i]))
CONVERT(f32_f64, float, double, x[i])
CONVERT(f64_f32, double, float, x[i])
CONVERT(i8_i64, int8_t, int64_t, x[i])
CONVERT(i16_i64, int16_t, int64_t, x[i])
CONVERT(i32_i64, int32_t, int64_t, x[i])
CONVERT(u8_i64, uint8_t, int64_t, x[i])
CONVERT(u16_i64, uint16_t, int64_t, x[i])
CONVERT(u32_i64, uint32_t, int64_t, x[i])
CONVERT(bool_i64, uint8_t, int64_t, x[i] != 0)
CONVERT(bool_u8, uint8_t, uint8_t, x[i] != 0)

/* Stands in the table where the bytes are what the tensor holds, and are read into their place. */
void asc_stored_same(void *out, const void *in, size_t n)
{
    (void)out, (void)in, (void)n;
}

static const asc_stored_dtype dtypes[] = {
    {"F16", 2, ASC_F32, {[ASC_F32] = f16_f32, [ASC_F64] = f16_f64}},
    {"BF16", 2, ASC_F32, {[ASC_F32] = bf16_f32, [ASC_F64] = bf16_f64}},
    {"F32", 4, ASC_F32, {[ASC_F32] = asc_stored_same, [ASC_F64] = f32_f64}},
    {"F64", 8, ASC_F64, {[ASC_F32] = f64_f32, [ASC_F64] = asc_stored_same}},
    {"I64", 8, ASC_I64, {[ASC_I64] = asc_stored_same}},
    {"I32", 4, ASC_I64, {[ASC_I64] = i32_i64}},
    {"I16", 2, ASC_I64, {[ASC_I64] = i16_i64}},
    {"I8", 1, ASC_I64, {[ASC_I64] = i8_i64}},
    {"U32", 4, ASC_I64, {[ASC_I64] = u32_i64}},
    {"U16", 2, ASC_I64, {[ASC_I64] = u16_i64}},
    {"U8", 1, ASC_U8, {[ASC_I64] = u8_i64, [ASC_U8] = asc_stored_same}},
    {"BOOL", 1, ASC_U8, {[ASC_I64] = bool_i64, [ASC_U8] = bool_u8}},
};

const asc_stored_dtype *asc_stored_dtype_find(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            return &dtypes[i];
        }
    }
    return NULL;
}
