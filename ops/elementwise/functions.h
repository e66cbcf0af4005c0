/* ops/elementwise/functions.h: the functions of one element, y = f(x), a row each, in the order of the list of ops.
 *
 *   FUNCTION(name, "equation", domain, y, saved, dx)     y and dx are formulas
 *   PRIMITIVE(name, "equation", domain, saved, dx)       y is by the row primitive `name`
 *   PRIMITIVES(name, "equation", domain, saved)          dx too is by row primitives: name_grad_f32 in elementwise.c
 *
 * y of x; dx = f' dy, of dy and of the saved one of x and y; domain: of the samples, in elementwise.c. A row makes the
 * kernels name_f32 and name_grad_f32 (and _f64), the descriptor asc_op_name, its entry in the list of ops, and the
 * builder asc_name, which ascgrad/ops.h declares. Includers who need the op alone define
 * ELEMENTWISE(name, equation, domain, saved).
 *
 * Formulas may use <math.h> in double, constants as (float)0.5, and choices whose sides are both computed; at ±∞ y is
 * the limit, and NaN stays NaN. Domain: off_zero where f' jumps at 0, everywhere where it is continuous; positive,
 * above_minus_1, far_from_zero where f asks for it. */
/* ---- float, and f64.awk makes the same for double ---- */
#ifdef ELEMENTWISE
#define FUNCTION(name, equation, domain, y, saved, dx) ELEMENTWISE(name, equation, domain, saved)
#define PRIMITIVE(name, equation, domain, saved, dx)   ELEMENTWISE(name, equation, domain, saved)
#define PRIMITIVES(name, equation, domain, saved)      ELEMENTWISE(name, equation, domain, saved)
#endif
/* clang-format off */

/* NaN < 0 is false: y is NaN where x is. */
FUNCTION(relu, "y = max(x, 0), dy/dx = 0 at 0", off_zero, x < 0 ? 0 : x, y, y <= 0 ? 0 : dy)
PRIMITIVE(tanh, "y = tanh x", everywhere, y, dy * (1 - y * y))
PRIMITIVE(sigmoid, "y = 1/(1 + exp -x)", everywhere, y, dy * (y * (1 - y)))
PRIMITIVES(gelu, "y = x Φ(x), Φ the normal distribution function (Hendrycks and Gimpel 2016)", everywhere, x)
PRIMITIVE(exp, "y = exp x", everywhere, y, dy * y)
PRIMITIVE(log, "y = log x", positive, x, dy / x)
PRIMITIVE(sqrt, "y = √x", positive, y, dy / (2 * y))
FUNCTION(square, "y = x²", everywhere, x * x, x, dy * (2 * x))
PRIMITIVES(abs, "y = |x|, dy/dx = 0 at 0", off_zero, x)
PRIMITIVES(sin, "y = sin x", everywhere, x)
PRIMITIVES(cos, "y = cos x", everywhere, x)
PRIMITIVES(erf, "y = erf x = 2/√π ∫₀ˣ exp(-t²) dt", everywhere, x)
PRIMITIVES(softplus, "y = log(1 + exp x)", everywhere, x)
PRIMITIVES(silu, "y = x/(1 + exp -x) (Elfwing et al. 2018)", everywhere, x)
PRIMITIVES(gelu_tanh, "y = x (1 + tanh(√(2/π) (x + 0.044715 x³)))/2 (Hendrycks and Gimpel 2016)", everywhere, x)
PRIMITIVE(log1p, "y = log(1 + x)", above_minus_1, x, dy / (1 + x))
PRIMITIVE(expm1, "y = exp x - 1", everywhere, y, dy * (y + 1))
FUNCTION(reciprocal, "y = 1/x", far_from_zero, 1 / x, y, -dy * y * y)
PRIMITIVE(rsqrt, "y = 1/√x", positive, y, (float)-0.5 * dy * y * y * y)

/* clang-format on */
#undef FUNCTION
#undef PRIMITIVE
#undef PRIMITIVES
#undef ELEMENTWISE
/* ---- end of float ---- */
