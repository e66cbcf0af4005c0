/* train/compare/items.c: blocks, or passages of the text where models have other tokens or other blocks. */
#include "train/compare/items.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/ctx.h"

/* ---- what the models have in common ---- */

/* A model among all of the systems'. */
typedef struct walk {
    const asc_system *systems;
    int64_t n, system, seed;
} walk;

static const asc_scores *next(walk *w)
{
    while (w->system < w->n && w->seed == w->systems[w->system].seeds) {
        w->system++;
        w->seed = 0;
    }
    return w->system < w->n ? w->systems[w->system].scores[w->seed++] : NULL;
}

static walk begin(const asc_system *systems, int64_t n)
{
    return (walk){systems, n, 0, 0};
}

/* For a message that begins with the first system. */
static const char *other_name(const walk *w)
{
    return w->system > 0 ? w->systems[w->system].name : "another seed of it";
}

static asc_status check_texts(asc_ctx *ctx, const asc_system *systems, int64_t n)
{
    const asc_scores *first = systems[0].scores[0], *s;
    for (walk w = begin(systems, n); (s = next(&w));) {
        if (s->text_checksum != first->text_checksum) {
            return asc_fail(ctx, ASC_ERR_FORMAT,
                            "%s and %s were scored on different texts: checksums %08" PRIx32 " and %08" PRIx32,
                            systems[0].name, other_name(&w), first->text_checksum, s->text_checksum);
        }
    }
    return ASC_OK;
}

/* The first difference that keeps blocks from being the items, into reason[bytes]; "" without one. */
static void find_reason(const asc_system *systems, int64_t n, char *reason, size_t bytes)
{
    const asc_scores *first = systems[0].scores[0], *s;
    const char *name = systems[0].name;
    *reason = '\0';
    for (walk w = begin(systems, n); (s = next(&w));) {
        const char *other = other_name(&w);
        bool same = s->token_checksum == first->token_checksum;
        if (!same || (s->block == first->block && s->n_blocks != first->n_blocks)) {
            snprintf(reason, bytes, "%s and %s have different tokens", name, other);
            return;
        }
        if (s->block != first->block) {
            snprintf(reason, bytes, "%s has blocks of %" PRId64 " tokens, %s of %" PRId64, name, first->block, other,
                     s->block);
            return;
        }
    }
}

/* ---- blocks ---- */

static void take_blocks(const asc_scores *s, asc_items *items)
{
    for (int64_t i = 0; i < s->n_blocks; i++) {
        if (s->blocks[i].tokens > 0) {
            items->first[items->n++] = i;
        }
    }
}

/* ---- passages ---- */

static asc_status check_lines(asc_ctx *ctx, const asc_system *systems, int64_t n, const char *reason)
{
    const asc_scores *first = systems[0].scores[0], *s;
    for (walk w = begin(systems, n); (s = next(&w));) {
        const char *name = systems[w.system].name;
        if (!s->lines) {
            return asc_fail(ctx, ASC_ERR_FORMAT, "%s, and %s has no scores of lines to compare instead", reason, name);
        }
        bool same = first->lines && s->n_lines == first->n_lines;
        for (int64_t i = 0; same && i < s->n_lines; i++) {
            same = s->lines[i].bytes == first->lines[i].bytes;
        }
        if (first->lines && !same) {
            return asc_fail(ctx, ASC_ERR_FORMAT, "%s, and the lines of %s and %s are not the same", reason,
                            systems[0].name, other_name(&w));
        }
    }
    return ASC_OK;
}

/* The line behind the first in which every model predicts a token: the text's first token is predicted by none. */
static int64_t first_line(const asc_system *systems, int64_t n)
{
    int64_t line = 0;
    const asc_scores *s;
    for (walk w = begin(systems, n); (s = next(&w));) {
        int64_t i = 0;
        while (i < s->n_lines && s->lines[i].tokens == 0) {
            i++;
        }
        line = i > line ? i : line;
    }
    return line + 1;
}

static double block_bytes(const asc_system *systems, int64_t n)
{
    double longest = 0, bytes = 0;
    const asc_scores *s = systems[0].scores[0];
    for (int64_t i = 0; i < s->n_lines; i++) {
        bytes += (double)s->lines[i].bytes;
    }
    for (walk w = begin(systems, n); (s = next(&w));) {
        longest = fmax(longest, bytes / (double)s->n_blocks);
    }
    return longest;
}

static asc_status take_passages(asc_ctx *ctx, const asc_system *systems, int64_t n, asc_items *items)
{
    const asc_scores *s = systems[0].scores[0];
    double enough = block_bytes(systems, n), bytes = 0;
    int64_t first = first_line(systems, n), lines = s->n_lines;
    items->first[0] = first;
    for (int64_t i = first; i < lines; i++) {
        bytes += (double)s->lines[i].bytes;
        if (bytes >= enough) {
            items->first[++items->n] = i + 1;
            bytes = 0;
        }
    }
    if (items->n < 2) {
        return asc_fail(ctx, ASC_ERR_FORMAT,
                        "%s, and the text's %" PRId64 " lines are too few to cut it into passages of %.0f bytes",
                        items->reason, lines, enough);
    }
    items->first[items->n] = lines;
    return ASC_OK;
}

/* ---- items ---- */

asc_status asc_items_choose(asc_ctx *ctx, const asc_system *systems, int64_t n, asc_items *items)
{
    const asc_scores *s = systems[0].scores[0];
    *items = (asc_items){0};
    if (check_texts(ctx, systems, n)) {
        return asc_error(ctx);
    }
    find_reason(systems, n, items->reason, sizeof items->reason);
    items->unit = *items->reason ? ASC_UNIT_TEXT : s->pairs ? ASC_UNIT_PAIR : ASC_UNIT_BLOCK;
    if (*items->reason && check_lines(ctx, systems, n, items->reason)) {
        return asc_error(ctx);
    }
    items->capacity = (*items->reason ? s->n_lines : s->n_blocks) + 1;
    items->first = asc_alloc(ctx, (size_t)items->capacity * sizeof *items->first);
    if (!items->first) {
        return ASC_ERR_MEMORY;
    }
    if (*items->reason) {
        return take_passages(ctx, systems, n, items);
    }
    take_blocks(s, items);
    return ASC_OK;
}

void asc_items_clear(asc_ctx *ctx, asc_items *items)
{
    asc_free(ctx, items->first, (size_t)items->capacity * sizeof *items->first);
}

/* Nats a token of a block, bits a byte of a passage. */
static double score_of(const asc_items *items, const asc_scores *s, int64_t i)
{
    if (items->unit != ASC_UNIT_TEXT) {
        const asc_score_part *block = &s->blocks[items->first[i]];
        return block->nats / (double)block->tokens;
    }
    double nats = 0, bytes = 0;
    for (int64_t line = items->first[i]; line < items->first[i + 1]; line++) {
        nats += s->lines[line].nats;
        bytes += (double)s->lines[line].bytes;
    }
    return nats * (1 / (log(2) * bytes));
}

void asc_items_add(const asc_items *items, const asc_scores *scores, double share, double *score)
{
    for (int64_t i = 0; i < items->n; i++) {
        score[i] += share * score_of(items, scores, i);
    }
}

/* ---- classifiers ---- */

bool asc_items_classes(const asc_items *items, const asc_system *systems, int64_t n)
{
    const asc_scores *s;
    for (walk w = begin(systems, n); (s = next(&w));) {
        if (s->classes == 0) {
            return false;
        }
    }
    return items->unit != ASC_UNIT_TEXT;
}

void asc_items_right(const asc_items *items, const asc_scores *scores, uint8_t *right)
{
    for (int64_t i = 0; i < items->n; i++) {
        right[i] = scores->blocks[items->first[i]].right != 0;
    }
}
