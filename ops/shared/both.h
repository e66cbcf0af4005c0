/* ops/shared/both.h: compiles the kernels of an op twice, for float and for double.
 *
 * An op's file defines ASC_SELF as its own name and includes this header, which includes the file again with ASC_REAL
 * defined: then only its kernels are seen, written for the type `real`, with names R(name) (name_f32, name_f64)
 * and the row primitives K (kernels/kernels.h). BY_DTYPE(dtype, name, (arguments)) calls the right one. No include guard:
 * each op includes it once. */
#define ASC_REAL
#define real float
#define R(name) name##_f32
#define K asc_k32()
#define REAL_DTYPE ASC_F32
#include ASC_SELF
#undef real
#undef R
#undef K
#undef REAL_DTYPE
#define real double
#define R(name) name##_f64
#define K asc_k64()
#define REAL_DTYPE ASC_F64
#include ASC_SELF
#undef real
#undef R
#undef K
#undef REAL_DTYPE
#undef ASC_REAL
