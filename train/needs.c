/* train/needs.c: what a training will need, looked at before it begins: the time and memory of a step, and the space
 * for the run's files. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <ascgrad/op.h>

#include "optim/optim.h"
#include "tensor/locale.h"
#include "tensor/processors.h"
#include "train/path.h"
#include "train/trainer.h"

#define MIB (1024. * 1024)
#define GIB (1024 * MIB)

/* ---- a step ---- */

/* A step this small takes neither a minute nor much memory: it is not looked at. In elements of an activation, over all
 * layers. */
#define SMALL 3e7

/* A step's passes are said to reach this part of a matrix product's speed, where the arithmetic is known and its time
 * is not. */
#define EFFICIENCY 0.4

/* The sequences of a batch: no more than there are. */
static int64_t sequences_of(const asc_trainer *t)
{
    return t->stepper.batch < t->blocks ? t->stepper.batch : t->blocks;
}

/* Goes through a batch's passes without computing them: the products of the forward pass. */
static double rehearse(asc_trainer *t)
{
    const asc_stepper *s = &t->stepper;
    asc_ctx *ctx = t->ctx;
    asc_set_rehearsal(ctx, true);
    asc_lm_set_dropout(s->lm, s->dropout);
    int64_t shards = asc_stepper_shards(s), rows = (sequences_of(t) + shards - 1) / shards; /* of a shard, at most */
    for (int64_t i = 0; t->streams && i < asc_trainer_streams(t); i++) {
        asc_run_up(s, t->streams[i], rows);
    }
    double loss, before = asc_flops(ctx);
    asc_scope_begin(ctx);
    asc_tensor x = asc_zeros(ctx, ASC_I64, ASC_SHAPE(rows, s->block));
    asc_tensor labels = asc_zeros(ctx, ASC_I64, 1, &rows);
    asc_tensor objective = asc_lm_classes(s->lm) > 0 ? asc_lm_class_objective(s->lm, x, asc_null(), labels, &loss)
                                                     : asc_lm_objective(s->lm, x, x, &loss);
    double flops = (asc_flops(ctx) - before) * (double)shards;
    if (asc_error(ctx) == ASC_OK) {
        asc_backward(ctx, objective, asc_scalar(ctx, asc_dtype_of(objective), 1), false);
    }
    asc_scope_end(ctx);
    asc_lm_set_carried(s->lm, NULL);
    asc_params_zero_grad(asc_lm_params(s->lm));
    asc_set_rehearsal(ctx, false);
    return flops;
}

static void say_long(const asc_trainer *t, double flops)
{
    enum { SIZE = 512 };
    double batches = (double)t->blocks / (double)sequences_of(t); /* that there are */
    double step = 3 * flops * fmin((double)t->settings->values.accumulate, batches);
    double speed = step > 60e9 ? asc_gemm_speed(t->ctx, SIZE, SIZE, SIZE) : 0; /* no processor is that slow */
    double s = speed > 0 ? step / (EFFICIENCY * speed * 1e9) : 0;
    if (s > 60) {
        char text[240];
        asc_snprintf(text, sizeof text, "a step has %.3g TFLOP and will take about %.0f minutes here: a smaller block, "
                     "batch or accumulate makes it shorter", step * 1e-12, s / 60);
        asc_trainer_say(t, text);
    }
}

#define LESS "; a smaller batch or block needs less, and so does --recompute"

static asc_status check_memory(asc_trainer *t, double peak, double held)
{
    double all = asc_memory_bytes(), available = asc_memory_available();
    if (peak > all) {
        return asc_fail(t->ctx, ASC_ERR_MEMORY, "a step needs %.1f GiB of memory or more, but there are %.1f" LESS,
                        peak / GIB, all / GIB);
    }
    if (peak - held > available) {
        char text[240];
        asc_snprintf(text, sizeof text, "a step needs %.1f GiB of memory or more, but %.1f are free: the system may "
                     "end the training" LESS, (peak - held) / GIB, available / GIB);
        asc_trainer_say(t, text);
    }
    return ASC_OK;
}

asc_status asc_trainer_check_step(asc_trainer *t)
{
    const asc_stepper *s = &t->stepper;
    double width = 0;
    for (int i = 0; i < asc_params_count(asc_lm_params(t->lm)); i++) {
        asc_tensor p = asc_params_at(asc_lm_params(t->lm), i);
        bool table = asc_size(p, 0) == asc_lm_vocab(t->lm);
        width += asc_ndim(p) == 2 && !table ? (double)asc_size(p, 0) : 0; /* what layers make of a token, roughly */
    }
    bool pairs = asc_lm_pair_inputs(t->lm).pairs; /* of short sentences: small */
    if (pairs || (double)sequences_of(t) * (double)s->block * width < SMALL) {
        return ASC_OK;
    }
    double held = (double)asc_memory(t->ctx).bytes, flops = rehearse(t);
    if (asc_error(t->ctx) == ASC_ERR_MEMORY) {
        asc_error_extend(t->ctx, "a step", LESS);
    }
    double peak = (double)asc_memory(t->ctx).peak_bytes + asc_tree_bytes(s->tree, t->settings->values.accumulate > 1);
    if (asc_error(t->ctx) || check_memory(t, peak, held)) {
        return asc_error(t->ctx);
    }
    say_long(t, flops);
    return asc_error(t->ctx);
}

/* ---- space ---- */

/* What a file takes now. */
static double size_of(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 ? (double)s.st_size : 0;
}

/* The file system that `path` is on, or will be: of the nearest folder that is there. */
static bool find_space(asc_ctx *ctx, const char *path, double *bytes)
{
    char *folder = asc_path_copy(ctx, path);
    struct statvfs s;
    bool found = false;
    while (folder && !(found = statvfs(folder, &s) == 0) && errno == ENOENT && strcmp(folder, ".") != 0 &&
           strcmp(folder, "/") != 0) {
        char *above = asc_path_folder(ctx, folder);
        asc_path_free(ctx, folder);
        folder = above;
    }
    asc_path_free(ctx, folder);
    found = found && s.f_blocks > 0;
    *bytes = found ? (double)s.f_bavail * (double)s.f_frsize : 0;
    return found;
}

/* Model and checkpoint, each twice: the new one stands beside the old until it takes its name. */
asc_status asc_trainer_check_space(asc_trainer *t, const char *run)
{
    double each = (double)asc_dtype_size(asc_settings_dtype(t->settings)), free_bytes;
    double model = each * (double)asc_params_numel(asc_lm_params(t->lm));
    double need = 2 * (2 * model + each * asc_optim_numbers_of_all(t->optim));
    need *= asc_trainer_falls_from(t) >= 0 ? 1.5 : 1; /* and once more from where the learning rate falls */
    if (t->folder.model) { /* of a run that goes on */
        need -= size_of(t->folder.model) + size_of(t->folder.checkpoint);
    }
    if (!find_space(t->ctx, run, &free_bytes)) {
        char text[200];
        if (asc_error(t->ctx) == ASC_OK && need > GIB) {
            asc_snprintf(text, sizeof text, "the run needs %.1f GiB of space; how much there is, the system does not "
                         "tell", need / GIB);
            asc_trainer_say(t, text);
        }
        return asc_error(t->ctx);
    }
    if (need > free_bytes) {
        return asc_fail(t->ctx, ASC_ERR_IO, "%s: the run needs %.1f MiB of space, for the model and the checkpoint and "
                        "each once more while it is written, but %.1f MiB are free there", run, need / MIB,
                        free_bytes / MIB);
    }
    return ASC_OK;
}
