/*
 * kernels/kernels_impl.c: the row primitives, compiled once for each instruction set with ASC_ISA defined
 * as plain, avx2 or avx512. Each compilation exports two tables and nothing else.
 *
 * The loops are written for the compiler's vectoriser. Where their order of operations matters, in sums,
 * it is spelled out.
 */
#include "kernels/kernels.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

#include "kernels/math_f32.h"
#include "kernels/math_f64.h"
#include "kernels/philox.h"

/* An output is one of the inputs or apart from all of them: no iteration reads what another one writes. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* loops that call the C library stay scalar */
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#endif

/* Loops take a function of one element as an argument, and vectorise only once it is inlined. */
#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

/* Partial sums in flight: two vectors of the widest instruction set in float, four in double. */
#define LANES 32

/* A vector of four of the eight elements of a and b, by their places, a vector of the type `places`. */
#if defined(__clang__) || __GNUC__ >= 12
#define PICK(places, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PICK(places, a, b, ...) __builtin_shuffle(a, b, (places){__VA_ARGS__})
#endif

/* As wide as a float, and as a double. */
typedef int32_t integer_f32;
typedef int64_t integer_f64;

#define PASTE(a, b)          a##_##b
#define PASTE_EXPANDED(a, b) PASTE(a, b)
#define TABLE(name)          PASTE_EXPANDED(name, ASC_ISA)

#include "kernels/strip_pairs.h"

#include "kernels/wide_rows.h"
#include "kernels/rows.h"
#include "kernels/power_rows.h"
#include "kernels/update_rows.h"
#include "kernels/strip_rows.h"
#include "kernels/strip_forms.h"
#include "kernels/scan_rows.h"
#include "kernels/pair_tiles.h"
#include "kernels/ascender_rows.h"
#include "kernels/background_rows.h"
#include "kernels/gather_rows.h"

/* ---- float, and f64.awk makes the same for double ---- */
const asc_kernel_table_f32 TABLE(asc_kernels_f32) = {
#define KERNEL(result, name, arguments) .name = name##_f32,
#include "kernels/list.h"
};
/* ---- end of float ---- */
#include "kernels/kernels_impl.f64.h"
