/* train/compare/score.c: what a model makes of each block and each line of a split. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <ascgrad/runs.h>

#include "data/byte_order.h"
#include "data/json.h"
#include "tensor/need.h"
#include "train/compare/scores.h"
#include "train/path.h"

/* An evaluation on its way. */
typedef struct scorer {
    asc_scores *scores;
    const asc_split *split;
    const asc_eval_options *options; /* the caller's */
    asc_score_part *blocks, *lines;
    int64_t at, line, line_end; /* a token's number, the line that it is in, and the first token behind that */
} scorer;

/* Gives each token to its line. */
static asc_status take_tokens(void *user, const int64_t *ids, const double *losses, int64_t n)
{
    scorer *s = user;
    for (int64_t i = 0; s->lines && i < n; i++, s->at++) {
        while (s->at >= s->line_end) {
            s->line_end += s->split->lines[++s->line].tokens;
        }
        s->lines[s->line].nats += losses[i];
        s->lines[s->line].tokens += ids[i] >= 0;
    }
    return s->options->tokens ? s->options->tokens(s->options->user, ids, losses, n) : ASC_OK;
}

static asc_status take_block(void *user, int64_t number, double nats, int64_t tokens)
{
    scorer *s = user;
    s->blocks[number].nats = nats;
    s->blocks[number].tokens = tokens;
    return s->options->block ? s->options->block(s->options->user, number, nats, tokens) : ASC_OK;
}

static asc_status take_class(void *user, int64_t number, int64_t label, int64_t found, double loss)
{
    scorer *s = user;
    s->blocks[number].right = found == label;
    return s->options->sequence ? s->options->sequence(s->options->user, number, label, found, loss) : ASC_OK;
}

static bool pass_progress(void *user, double done)
{
    const scorer *s = user;
    return !s->options->progress || s->options->progress(s->options->user, done);
}

static asc_status evaluate(asc_ctx *ctx, const asc_model *model, scorer *s)
{
    asc_eval_options own = *s->options;
    own.tokens = take_tokens;
    own.block = take_block;
    own.sequence = take_class;
    own.progress = pass_progress;
    own.user = s;
    return asc_evaluate(ctx, model->lm, s->split, &own, &s->scores->result);
}

/* Of what is predicted: of a classifier the classes, which compare however their sequences are cut into tokens. */
static uint32_t token_checksum(const asc_lm *lm, const asc_split *split)
{
    if (asc_lm_classes(lm) > 0 && split->labels) {
        return asc_file_crc(0, split->labels, (size_t)split->n_sequences, sizeof *split->labels);
    }
    uint32_t crc = asc_file_crc(0, split->tokens, (size_t)split->n_tokens, sizeof *split->tokens);
    return split->given ? asc_file_crc(crc, split->given, (size_t)split->n_tokens, sizeof *split->given) : crc;
}

static int64_t whole_number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* What the order of a run's blocks follows from, beside its text and its seed: of a stream their length, where they
 * are read at random one by one. */
static uint32_t fold_order(uint32_t crc, const json_t *config, bool stream)
{
    const json_t *plan = json_object_get(config, "plan");
    const char *blocks = json_string_value(json_object_get(plan, "block_schedule"));
    const char *batches = json_string_value(json_object_get(plan, "batch_schedule"));
    bool carried = whole_number(json_object_get(config, "model"), "carry") > 0;
    bool grouped = json_is_true(json_object_get(config, "group_by_length"));
    char text[80] = "";
    if (carried || grouped) {
        snprintf(text, sizeof text, "%s %" PRId64, carried ? "carried" : "grouped",
                 whole_number(config, "batch") * (carried ? whole_number(config, "accumulate") : 1));
    }
    if (stream) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, " block %" PRId64, whole_number(json_object_get(config, "model"), "block"));
    }
    crc = blocks ? (uint32_t)crc32_z(crc, (const Bytef *)blocks, strlen(blocks)) : crc;
    crc = batches && carried ? (uint32_t)crc32_z(crc, (const Bytef *)batches, strlen(batches)) : crc;
    return *text ? (uint32_t)crc32_z(crc, (const Bytef *)text, strlen(text)) : crc;
}

/* What the run knows of how its model was trained. */
static asc_status read_run(asc_ctx *ctx, const char *folder, bool stream, asc_scores *scores)
{
    char *path = asc_path_join(ctx, folder, "config.json");
    json_t *config = path ? asc_json_read(ctx, path, true) : NULL, *seed = json_object_get(config, "seed");
    const char *train = json_string_value(json_object_get(json_object_get(config, "data_checksum"), "train"));
    scores->seed = json_is_integer(seed) ? json_integer_value(seed) : -1;
    scores->train_checksum = train ? fold_order((uint32_t)strtoul(train, NULL, 16), config, stream) : 0;
    json_decref(config);
    asc_path_free(ctx, path);
    asc_run *run = asc_error(ctx) ? NULL : asc_run_read(ctx, folder);
    if (run) {
        scores->tokens_per_s = asc_run_info_of(run)->tokens_per_s;
    }
    asc_run_free(run);
    return asc_error(ctx);
}

/* Zeroed parts, and of lines their bytes. */
asc_scores *asc_scores_new(asc_ctx *ctx, int64_t n_blocks, int64_t n_lines, bool with_lines)
{
    asc_scores *s = asc_alloc(ctx, sizeof *s);
    if (!s) {
        return NULL;
    }
    *s = (asc_scores){.seed = -1, .tokens_per_s = NAN, .n_blocks = n_blocks, .n_lines = with_lines ? n_lines : 0};
    size_t block_bytes = (size_t)s->n_blocks * sizeof *s->blocks, line_bytes = (size_t)s->n_lines * sizeof *s->lines;
    asc_score_part *blocks = asc_alloc(ctx, block_bytes), *lines = with_lines ? asc_alloc(ctx, line_bytes) : NULL;
    s->blocks = blocks;
    s->lines = lines;
    if (!blocks || (with_lines && !lines)) {
        asc_scores_free(ctx, s);
        return NULL;
    }
    memset(blocks, 0, block_bytes);
    if (lines) {
        memset(lines, 0, line_bytes);
    }
    return s;
}

void asc_scores_free(asc_ctx *ctx, asc_scores *scores)
{
    if (ctx && scores) {
        asc_free(ctx, (void *)scores->blocks, (size_t)scores->n_blocks * sizeof *scores->blocks);
        asc_free(ctx, (void *)scores->lines, (size_t)scores->n_lines * sizeof *scores->lines);
        asc_free(ctx, scores, sizeof *scores);
    }
}

asc_scores *asc_score(asc_ctx *ctx, const asc_model *model, const asc_split *split, const asc_eval_options *options)
{
    if (ASC_NEED(ctx, "score: model split options", model, split, options) || asc_error(ctx)) {
        return NULL;
    }
    int64_t length = options->length > 0 ? options->length : asc_lm_block(model->lm);
    int64_t blocks = asc_split_blocks(split, length, true);
    asc_scores *scores = asc_scores_new(ctx, blocks, split->n_lines, split->lines != NULL);
    if (!scores) {
        return NULL;
    }
    scores->parameters = asc_params_numel(asc_lm_params(model->lm));
    scores->pairs = asc_lm_pair_inputs(model->lm).pairs;
    scores->classes = asc_lm_classes(model->lm);
    scores->block = scores->classes ? 1 : split->n_sequences > 0 ? asc_split_longest(split) : length;
    scores->carry = options->carry;
    scores->text_checksum = split->checksum;
    scores->token_checksum = token_checksum(model->lm, split);
    memcpy(scores->model_checksum, model->checksum, sizeof scores->model_checksum);
    scorer s = {scores,  split,     options, (asc_score_part *)scores->blocks, (asc_score_part *)scores->lines,
                .at = 1, .line = -1};
    for (int64_t i = 0; i < scores->n_lines; i++) {
        s.lines[i].bytes = split->lines[i].bytes;
    }
    if ((model->run && read_run(ctx, model->run, split->n_sequences == 0, scores)) || evaluate(ctx, model, &s)) {
        asc_scores_free(ctx, scores);
        return NULL;
    }
    return scores;
}
