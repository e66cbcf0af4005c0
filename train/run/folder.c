/* train/run/folder.c: the folder of a run. */
#include "train/run/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/file.h"
#include "tensor/ctx.h"
#include "train/run/claim.h"
#include "train/run/format.h"
#include "train/run/no_run.h"
#include "train/path.h"

static const struct {
    const char *name;
    size_t at;
} files[] = {
    {"config.json", offsetof(asc_folder, config)},
    {"vocab.txt", offsetof(asc_folder, vocab)},
    {"metrics.jsonl", offsetof(asc_folder, metrics)},
    {"checkpoint.safetensors", offsetof(asc_folder, checkpoint)},
    {"model.safetensors", offsetof(asc_folder, model)},
    {"model.next.safetensors", offsetof(asc_folder, next)},
    {"model.kept.safetensors", offsetof(asc_folder, kept)},
    {"model.extra.safetensors", offsetof(asc_folder, extra)},
    {"summary.json", offsetof(asc_folder, summary)},
    {"checkpoint.stable.safetensors", offsetof(asc_folder, stable)},
    {"model.stable.safetensors", offsetof(asc_folder, stable_model)},
};
enum { N_FILES = sizeof files / sizeof *files };

static char **name_of(asc_folder *f, int i)
{
    return (char **)(void *)((char *)f + files[i].at);
}

static asc_status fail_io(asc_ctx *ctx, const char *path)
{
    return asc_fail(ctx, ASC_ERR_IO, "%s: %s", path, strerror(errno));
}

static bool is_claim(const char *name)
{
    size_t n = sizeof ASC_FOLDER_CLAIM - 1;
    return strncmp(name, ASC_FOLDER_CLAIM, n) == 0 && (name[n] == 0 || name[n] == '.');
}

/* Whether a start that was killed may have left a file of this name: before config.json is there, nothing else is, but
 * for vocab.txt. */
static bool early(const char *name)
{
    static const char *const names[] = {".", "..", "vocab.txt" ASC_FILE_TEMPORARY, "config.json" ASC_FILE_TEMPORARY};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return is_claim(name);
}

/* A vocabulary is a killed start's where that has left its claim or its settings, too; else it is a person's. */
bool asc_folder_taken(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        return asc_path_exists(path);
    }
    bool taken = false, vocabulary = false, begun = false;
    for (const struct dirent *entry; !taken && (entry = readdir(folder));) {
        bool vocab = strcmp(entry->d_name, "vocab.txt") == 0;
        vocabulary |= vocab;
        begun |= is_claim(entry->d_name) || strcmp(entry->d_name, "config.json" ASC_FILE_TEMPORARY) == 0;
        taken = !vocab && !early(entry->d_name);
    }
    closedir(folder);
    return taken || (vocabulary && !begun);
}

static asc_status make(asc_folder *f)
{
    if (asc_folder_taken(f->path)) {
        return asc_fail_taken(f->ctx, f->path);
    }
    asc_path_make_parents(f->path);
    if (mkdir(f->path, 0777) && errno != EEXIST) {
        return fail_io(f->ctx, f->path);
    }
    asc_path_sync(f->path);
    return ASC_OK;
}

static asc_status claim(asc_folder *f)
{
    f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->fd < 0) {
        return fail_io(f->ctx, f->path);
    }
    char *path = asc_path_join(f->ctx, f->path, ASC_FOLDER_CLAIM);
    asc_claim_holder other;
    asc_status status = path ? asc_claim_take(f->ctx, path, &f->claim, &other) : ASC_ERR_MEMORY;
    asc_path_free(f->ctx, path);
    if (status || f->claim) {
        return status;
    }
    return other.pid ? asc_fail(f->ctx, ASC_ERR_ARG, "%s: another process trains in it: %lld on host %s", f->path,
                                other.pid, other.host)
                     : asc_fail(f->ctx, ASC_ERR_ARG, "%s: another process trains in it", f->path);
}

asc_status asc_folder_check_claim(asc_folder *f)
{
    if (asc_claim_held(f->claim)) {
        return ASC_OK;
    }
    return asc_fail(f->ctx, ASC_ERR_IO, "%s: another process has taken it over, or removed its file %s; nothing more "
                    "is written", f->path, ASC_FOLDER_CLAIM);
}

/* What file i is while it is written; false: too long a name. */
static bool name_temporary(asc_folder *f, int i, char name[4200])
{
    return snprintf(name, 4200, "%s" ASC_FILE_TEMPORARY, *name_of(f, i)) < 4200;
}

/* All that lies in a run is regular files. What does not is refused before anything is read or written. */
static asc_status check_files(asc_folder *f)
{
    for (int i = 0; i < N_FILES; i++) {
        char temporary[4200];
        bool fits = name_temporary(f, i, temporary);
        if (asc_file_check_own(f->ctx, *name_of(f, i)) || (fits && asc_file_check_own(f->ctx, temporary))) {
            return asc_error(f->ctx);
        }
    }
    return ASC_OK;
}

asc_status asc_folder_name(asc_folder *f, asc_ctx *ctx, const char *path)
{
    *f = (asc_folder){.ctx = ctx, .path = asc_path_copy(ctx, path), .fd = -1};
    for (int i = 0; i < N_FILES; i++) {
        *name_of(f, i) = asc_path_join(ctx, path, files[i].name);
    }
    return asc_error(ctx);
}

asc_status asc_folder_open(asc_folder *f, asc_ctx *ctx, const char *path, bool resume)
{
    if (asc_folder_name(f, ctx, path) || (!resume && make(f))) {
        return asc_error(ctx);
    }
    asc_status status = claim(f);
    if (status == ASC_OK && !resume && asc_folder_taken(f->path)) {
        status = asc_fail_taken(f->ctx, f->path); /* another process has trained there since `make` looked */
    }
    if (status == ASC_OK) {
        status = check_files(f);
    }
    f->created = !resume && status == ASC_OK; /* what another process is making, or a person has put there, stays */
    return status;
}

void asc_folder_close(asc_folder *f)
{
    for (int i = 0; i < N_FILES; i++) {
        char **name = name_of(f, i);
        if (f->created && *name) {
            unlink(*name);
        }
        asc_path_free(f->ctx, *name);
    }
    asc_claim_drop(f->claim);
    if (f->created) {
        rmdir(f->path);
    }
    if (f->fd >= 0) {
        close(f->fd);
    }
    asc_path_free(f->ctx, f->path);
    *f = (asc_folder){.fd = -1};
}

void asc_folder_complete(asc_folder *f)
{
    f->created = false;
}

/* ---- the names of the models ---- */

asc_best asc_best_none(void)
{
    return (asc_best){-1, INFINITY, NAN, 0};
}

bool asc_best_beats(const asc_best *a, const asc_best *b)
{
    bool none = a->step < 0 || b->step < 0; /* which has an infinite loss, and nothing wrong */
    return none || a->wrong == b->wrong ? a->loss < b->loss : a->wrong < b->wrong;
}

static asc_status rename_file(asc_folder *f, const char *from, const char *to)
{
    if (rename(from, to)) {
        return fail_io(f->ctx, from);
    }
    fsync(f->fd); /* the change of names, to the disk */
    return ASC_OK;
}

asc_status asc_folder_promote(asc_folder *f)
{
    asc_status status = rename_file(f, f->next, f->model);
    if (status == ASC_OK) {
        unlink(f->kept);
    }
    return status;
}

asc_status asc_folder_put_by(asc_folder *f)
{
    return rename_file(f, f->next, f->kept);
}

asc_status asc_folder_keep_model(asc_folder *f)
{
    if (link(f->model, f->kept) == 0 || errno == ENOENT || errno == EEXIST) {
        return ASC_OK;
    }
    return rename_file(f, f->model, f->kept); /* no hard links here */
}

asc_status asc_folder_restore(asc_folder *f)
{
    asc_status status = rename_file(f, f->model, f->extra);
    return status ? status : rename_file(f, f->kept, f->model);
}

void asc_folder_mark(asc_folder *f)
{
    unlink(f->stable); /* first: alone, the model is of no account */
    unlink(f->stable_model);
    const char *own = asc_path_exists(f->kept) ? f->kept : f->model; /* which waits where a stranger's stands */
    if (link(own, f->stable_model) == 0 || errno == ENOENT) {
        (void)!link(f->checkpoint, f->stable);
    }
    fsync(f->fd);
}

asc_status asc_folder_go_back(asc_folder *f)
{
    return rename_file(f, f->stable, f->checkpoint); /* recovery puts its model by, also where this was killed here */
}

/* What a killed writer left. */
static void remove_leftovers(asc_folder *f)
{
    for (int i = 0; i < N_FILES; i++) {
        char temporary[4200];
        if (name_temporary(f, i, temporary)) {
            unlink(temporary);
        }
    }
}

/* The evaluation that a model file is of; none if there is no such file, or if it is one that does not say. `note`: it
 * is looked at as a whole, and the user is told where it has no checksum. */
static asc_status read_evaluation(asc_folder *f, const char *path, bool note, asc_best *best)
{
    *best = asc_best_none();
    asc_safetensors *file = asc_path_exists(path) ? asc_format_open(f->ctx, path, true) : NULL;
    if (file && note) {
        asc_format_note(file);
        asc_format_check_tensors(file);
    }
    if (file && (asc_format_version(file) > 1 || asc_safetensors_metadata(file, "step"))) {
        asc_format_int(file, "step", 0, INT64_MAX, &best->step);
        asc_format_real(file, "valid_loss", INFINITY, false, &best->loss);
        if (asc_safetensors_metadata(file, "valid_wrong")) {
            asc_format_real(file, "valid_wrong", 1, false, &best->wrong);
        }
    }
    asc_safetensors_close(file);
    return asc_error(f->ctx);
}

static bool same_evaluation(const asc_best *a, const asc_best *b)
{
    return a->step == b->step && a->loss == b->loss;
}

asc_status asc_folder_check(asc_folder *f, const asc_best *best, bool *lost)
{
    static const char remedy[] = "; put it back, or remove it to go on without it";
    asc_best model, next, kept, stable; /* bits unknown */
    if (read_evaluation(f, f->model, true, &model) || read_evaluation(f, f->next, true, &next) ||
        read_evaluation(f, f->kept, true, &kept) || read_evaluation(f, f->stable_model, true, &stable)) {
        asc_error_extend(f->ctx, "", asc_error(f->ctx) == ASC_ERR_FORMAT ? remedy : "");
        return asc_error(f->ctx);
    }
    bool own = same_evaluation(&model, best) || same_evaluation(&next, best) || same_evaluation(&kept, best) ||
               same_evaluation(&stable, best);
    *lost = best->step >= 0 && !own && !asc_best_beats(&model, best);
    if (*lost && asc_path_exists(f->model)) {
        return asc_fail(f->ctx, ASC_ERR_FORMAT, "%s: is not the run's best model, which is of step %lld; put that in "
                        "its place, or remove this one to go on without it", f->model, (long long)best->step);
    }
    return ASC_OK;
}

/* Finishes what the checkpoint has committed, or undoes what it has not. */
static asc_status settle_next(asc_folder *f, const asc_best *best)
{
    asc_best next, model;
    if (read_evaluation(f, f->next, false, &next) || read_evaluation(f, f->model, false, &model)) {
        return asc_error(f->ctx);
    }
    if (best->step < 0 || next.step != best->step) {
        unlink(f->next);
        return ASC_OK;
    }
    return asc_best_beats(&model, &next) ? asc_folder_put_by(f) : asc_folder_promote(f);
}

/* Where the run went back, the best model of then is the checkpoint's, and has no other name: it is put by. */
static asc_status settle_stable(asc_folder *f, const asc_best *best)
{
    asc_best was, model;
    if (asc_path_exists(f->stable) || !asc_path_exists(f->stable_model) ||
        read_evaluation(f, f->stable_model, false, &was) || read_evaluation(f, f->model, false, &model)) {
        return asc_error(f->ctx);
    }
    bool alone = same_evaluation(&was, best) && !same_evaluation(&model, best);
    return alone ? rename_file(f, f->stable_model, f->kept) : ASC_OK;
}

asc_status asc_folder_recover(asc_folder *f, const asc_best *best, asc_best *stranger)
{
    remove_leftovers(f);
    *stranger = asc_best_none();
    asc_best model;
    if (settle_stable(f, best) ||
        (!asc_path_exists(f->model) && asc_path_exists(f->kept) && rename_file(f, f->kept, f->model)) ||
        (asc_path_exists(f->next) && settle_next(f, best)) || read_evaluation(f, f->model, false, &model)) {
        return asc_error(f->ctx);
    }
    bool own = same_evaluation(&model, best); /* after the run went back another may be of the same step */
    if (!own && asc_best_beats(&model, best)) {
        *stranger = model;
        return ASC_OK;
    }
    bool waits = !own && asc_path_exists(f->kept);
    if (waits && rename_file(f, f->kept, f->model)) {
        return asc_error(f->ctx);
    }
    unlink(f->kept); /* the model itself under its other name, if it is there */
    return ASC_OK;
}
