/* kernels/packed_floats.h: packed elements as floats, for instruction sets that multiply no bfloat16; included by
 * packed_impl.c. */

typedef float element;

enum { SIDE = 16 }; /* so many rows are turned at a time */

static inline void round_to(float *to, const float *x)
{
    uint32_t bits = rounded_at(x);
    memcpy(to, &bits, sizeof *to);
}

/* to[r][j] = x[r][j] of rows r, or x[j][r]; what lies past `columns` is 0 up to `width`. */
static void pack(float *restrict to, int64_t width, const float *restrict x, int64_t ld, bool turned, int64_t rows,
                 int64_t columns)
{
    for (int64_t r = 0; r < rows && !turned; r++) {
        for (int64_t j = 0; j < columns; j++) {
            round_to(to + r * width + j, x + r * ld + j);
        }
    }
    for (int64_t first = 0; first < rows && turned; first += SIDE) {
        int64_t end = first + at_most(rows - first, SIDE);
        for (int64_t j = 0; j < columns; j++) {
            for (int64_t r = first; r < end; r++) {
                round_to(to + r * width + j, x + j * ld + r);
            }
        }
    }
    for (int64_t r = 0; r < rows && width > columns; r++) {
        memset(to + r * width + columns, 0, (size_t)(width - columns) * sizeof *to);
    }
}

static void pack_rows(void *to, const float *x, int64_t ld, bool turned, int64_t rows, int64_t k)
{
    pack(to, rounded_up(k, UNIT), x, ld, turned, rows, k);
}

static void pack_panels(void *to, const float *x, int64_t ld, bool turned, int64_t k, int64_t n)
{
    float *panel = to;
    int64_t depth = rounded_up(k, UNIT);
    for (int64_t j = 0; j < n; j += COLUMNS, panel += depth * COLUMNS) {
        pack(panel, COLUMNS, x + (turned ? j * ld : j), ld, turned, k, at_most(n - j, COLUMNS));
        memset(panel + k * COLUMNS, 0, (size_t)((depth - k) * COLUMNS) * sizeof *panel);
    }
}

static void turn_rows(void *to, const void *from, int64_t rows, int64_t k, int64_t first, int64_t places)
{
    int64_t width = rounded_up(k, UNIT), width_to = rounded_up(rows, UNIT);
    const float *x = (const float *)from + first;
    float *y = to;
    for (int64_t r = 0; r < width_to; r++) {
        for (int64_t p = 0; p < at_most(places, width - first); p++) {
            y[p * width_to + r] = r < rows ? x[r * width + p] : 0;
        }
    }
}

/* sum += the products of a pair of places, the odd one first. */
static ALWAYS_INLINE void add_pair(const int rows, vector sum[ROWS][VECTORS], const float *a, int64_t lda,
                                   const float *b)
{
    for (int place = 1; place >= 0; place--) {
        vector x[VECTORS];
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            x[v] = *(const vector *)(b + place * COLUMNS + v * LANES);
        }
        UNROLL
        for (int r = 0; r < rows; r++) {
            vector y = broadcast(a[r * lda + place]);
            UNROLL
            for (int v = 0; v < VECTORS; v++) {
                sum[r][v] = multiply_add(y, x[v], sum[r][v]);
            }
        }
    }
}
