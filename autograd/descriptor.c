/* autograd/descriptor.c: what an op's descriptor, which may be a user's, says, and whether it can be called. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "autograd/engine.h"
#include "tensor/locale.h"

/* ---- its inputs ---- */

/* The i-th word of `names`; a last "..." repeats the word before it. Returns its length, 0 past the end. */
static size_t word_at(const char *names, int i, const char **word)
{
    size_t n = 0;
    for (const char *p = names;; i--) {
        p += strspn(p, " ");
        size_t length = strcspn(p, " ");
        if (length == 0) {
            return 0;
        }
        if (strncmp(p, "...", length) == 0) {
            return n;
        }
        *word = p;
        n = length;
        if (i == 0) {
            return n;
        }
        p += length;
    }
}

static bool variadic(const asc_op *op)
{
    return strstr(op->inputs, "...") != NULL;
}

const char *asc_input_name(const asc_op *op, int i, char *text)
{
    const char *word = "";
    size_t n = word_at(op->inputs, i, &word);
    if (n > 0 && word[n - 1] == '?') {
        n--;
    }
    if (variadic(op)) {
        snprintf(text, 32, "%.*s[%d]", (int)(n < 20 ? n : 20), word, i);
    } else {
        snprintf(text, 32, "%.*s", (int)(n < 31 ? n : 31), word);
    }
    return text;
}

bool asc_input_optional(const asc_op *op, int i)
{
    const char *word = "";
    size_t n = word_at(op->inputs, i, &word);
    return n > 0 && word[n - 1] == '?';
}

int asc_inputs_most(const asc_op *op)
{
    if (variadic(op)) {
        return ASC_MAX_IN;
    }
    const char *word;
    int n = 0;
    while (n <= ASC_MAX_IN && word_at(op->inputs, n, &word) > 0) {
        n++;
    }
    return n;
}

int asc_inputs_least(const asc_op *op)
{
    const char *word, *last = NULL;
    int n = 0, none = variadic(op) ? 1 : 0;
    while (n <= ASC_MAX_IN && word_at(op->inputs, n, &word) > 0 && word != last) { /* "..." gives the last one again */
        last = word;
        n++;
    }
    while (n > none && asc_input_optional(op, n - 1)) {
        n--;
    }
    return n;
}

bool asc_saves_input(const asc_op *op, int i)
{
    return op->saves_in & 1u << (variadic(op) ? 0 : i);
}

/* ---- whether it can be called ---- */

/* The cheap checks, which every call makes. */
static bool fits(const asc_op *op)
{
    return op->abi == ASC_OP_ABI && op->name && op->equation && op->inputs && op->infer && op->forward &&
           op->n_out >= 1 && op->n_out <= ASC_MAX_OUT && op->attrs_size <= ASC_ATTRS_BYTES;
}

asc_status asc_op_check_call(asc_ctx *ctx, const asc_op *op)
{
    return fits(op) ? ASC_OK : asc_op_check(ctx, "apply", op);
}

/* A word in messages, tables and JSON. */
static bool is_name(const char *name)
{
    const char *c = name;
    while (asc_is_printable(*c) && *c != ' ') {
        c++;
    }
    return *c == 0 && c > name;
}

/* Whether a word is the name of an input, with a ? behind it or without. */
static bool is_input(const char *word, size_t n)
{
    size_t letters = n - (word[n - 1] == '?');
    bool sound = letters > 0 && word[0] != '.';
    for (size_t i = 0; i < letters && sound; i++) {
        sound = (unsigned char)word[i] > ' ' && word[i] != '?' && strncmp(word + i, "...", 3) != 0;
    }
    return sound;
}

static bool are_inputs(const char *names)
{
    const char *p = names + strspn(names, " "), *first = p;
    bool sound = true;
    while (*p && sound) {
        size_t n = strcspn(p, " ");
        const char *next = p + n + strspn(p + n, " ");
        bool more = n == 3 && strncmp(p, "...", n) == 0;
        sound = more ? p > first && *next == 0 : is_input(p, n);
        p = next;
    }
    return sound;
}

/* Bits beyond the arrays would be passed over. */
static asc_status check_bits(asc_ctx *ctx, const char *by, const asc_op *op)
{
    int n_in = variadic(op) ? 1 : asc_inputs_most(op);
    const struct {
        const char *name, *of;
        uint32_t bits;
        int n;
    } field[] = {{"saves_in", variadic(op) ? "all of the inputs" : "each input", op->saves_in, n_in},
                 {"saves_out", "each output", op->saves_out, op->n_out},
                 {"no_grad_out", "each output", op->no_grad_out, op->n_out}};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        uint32_t most = (uint32_t)((UINT64_C(1) << field[i].n) - 1);
        if (field[i].bits > most) {
            return asc_fail(ctx, ASC_ERR_ARG, "%s: %s: %s is 0x%x, expected at most 0x%x, a bit for %s", by, op->name,
                            field[i].name, (unsigned)field[i].bits, (unsigned)most, field[i].of);
        }
    }
    return ASC_OK;
}

#define WHOLE 0x1p53 /* up to here all whole numbers are doubles */

/* What is wrong with input i of a sample, into text; else NULL. */
static const char *fault_of(const asc_sample_input *s, int i, char text[200])
{
    bool negative = false;
    asc_array a = {.ndim = s->ndim};
    char shape[ASC_SHAPE_TEXT];
    for (int d = 0; d < s->ndim && d < ASC_MAX_DIMS; d++) {
        a.shape[d] = s->shape[d];
        negative = negative || s->shape[d] < 0;
    }
    if (s->ndim < 0 || s->ndim > ASC_MAX_DIMS) {
        snprintf(text, 200, "has %d dimensions, expected 0 to %d", s->ndim, ASC_MAX_DIMS);
    } else if (!s->kind) {
        return NULL;
    } else if (!strchr("fuib=", s->kind)) {
        snprintf(text, 200, "has kind '%c', expected f, u, i, b or =", s->kind);
    } else if (s->kind == '=') {
        if (s->lo >= 0 && s->lo < i) {
            return NULL;
        }
        asc_snprintf(text, 200, "is to be the same as input %g, expected one before it", s->lo);
    } else if (s->kind == 'i' && !(fabs(s->lo) <= WHOLE && fabs(s->hi) <= WHOLE && s->lo <= s->hi)) {
        asc_snprintf(text, 200, "has lo %g and hi %g, expected whole numbers of at most 2^53, lo no larger than hi",
                     s->lo, s->hi);
    } else if (s->kind == 'u' && !(isfinite(s->lo) && isfinite(s->hi) && s->lo <= s->hi)) {
        asc_snprintf(text, 200, "has lo %g and hi %g, expected numbers, lo no larger than hi", s->lo, s->hi);
    } else if (s->kind == 'b' && !(s->hi >= 0 && s->hi <= 1)) {
        asc_snprintf(text, 200, "has hi %g, expected a probability", s->hi);
    } else if (!isfinite(s->kink) || !isfinite(s->away)) {
        asc_snprintf(text, 200, "has kink %g and away %g, expected numbers", s->kink, s->away);
    } else if (negative) {
        snprintf(text, 200, "is %s, expected sizes of at least 0", asc_shape_text(&a, shape));
    } else {
        return NULL;
    }
    return text;
}

static asc_status check_sample(asc_ctx *ctx, const char *by, const asc_op *op, const asc_sample *sample,
                               const char *which)
{
    char text[200], name[32];
    int most = asc_inputs_most(op);
    for (int i = 0; i < ASC_MAX_IN; i++) {
        const asc_sample_input *s = &sample->in[i];
        if (s->kind && i >= most) {
            return asc_fail(ctx, ASC_ERR_ARG, "%s: %s: %s: input %d is given, expected at most %d inputs", by, op->name,
                            which, i, most);
        }
        const char *fault = fault_of(s, i, text);
        if (fault) {
            return asc_fail(ctx, ASC_ERR_ARG, "%s: %s: %s: %s %s", by, op->name, which, asc_input_name(op, i, name),
                            fault);
        }
    }
    return ASC_OK;
}

static asc_status check_samples(asc_ctx *ctx, const char *by, const asc_op *op)
{
    asc_status status = op->bench ? check_sample(ctx, by, op, op->bench, "bench") : ASC_OK;
    for (int k = 0; k < op->n_samples && !status; k++) {
        char which[32];
        snprintf(which, sizeof which, "sample %d", k);
        status = check_sample(ctx, by, op, &op->samples[k], which);
    }
    return status;
}

asc_status asc_op_check(asc_ctx *ctx, const char *by, const asc_op *op)
{
    if (op->abi != ASC_OP_ABI) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: the op has ABI %u, expected %u", by, op->abi, ASC_OP_ABI);
    }
    const char *name = op->name && is_name(op->name) ? op->name : "(no name)";
    if (!op->name || !op->equation || !op->inputs || !op->infer || !op->forward) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: %s: name, equation, inputs, infer and forward are needed", by, name);
    }
    if (!is_name(op->name)) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: an op's name is %s, expected letters, digits and signs of ASCII", by,
                        op->name[0] ? "of other characters" : "empty");
    }
    if (!are_inputs(op->inputs)) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: %s: inputs is \"%s\", expected names with blanks between, each with a ? "
                        "behind it if it is optional, and \"...\" behind the last alone", by, name, op->inputs);
    }
    if (asc_inputs_most(op) > ASC_MAX_IN || !fits(op)) {
        return asc_fail(ctx, ASC_ERR_ARG,
                        "%s: %s: %d inputs, %d outputs, %zu bytes of attributes; at most %d, 1 to %d "
                        "and %d fit",
                        by, name, asc_inputs_most(op), op->n_out, op->attrs_size, ASC_MAX_IN, ASC_MAX_OUT,
                        ASC_ATTRS_BYTES);
    }
    if (op->n_samples < 0 || (op->n_samples > 0 && !op->samples)) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: %s: n_samples is %d, samples is %s", by, name, op->n_samples,
                        op->samples ? "given" : "NULL");
    }
    asc_status status = check_bits(ctx, by, op);
    return status ? status : check_samples(ctx, by, op);
}
