/* tools/encode/file.c: states in a file for Python. They are features (ascgrad/encoder.h), kept in parts beside the
 * file until it is there, so that an encoding that was ended goes on. There may be more states than memory: they are
 * put into their places in a file without a name, which then is written as a whole. */
#define _GNU_SOURCE /* O_TMPFILE */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ascgrad/npz.h>
#include <ascgrad/safetensors.h>

#include "tools/encode/encode.h"

#define NPZ_MOST (UINT64_C(0xffffffff) - (1 << 20)) /* bytes, all else counted generously */

typedef struct states {
    encoding *e;
    int64_t n, rows, dim; /* of the array; rows 0: a state a sentence, and no dimension of rows */
    float *data;          /* [n, rows or 1, dim], mapped */
    size_t bytes;
    int64_t *lengths; /* [n] */
} states;

/* A file without a name in the folder of `path`, or where the system has no such, one whose name is gone at once. */
static int open_nameless(const char *path)
{
    char name[4096];
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 2;
    snprintf(name, sizeof name, "%.*s", folder, slash ? path : "./");
    int fd = open(name, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOSYS)) {
        snprintf(name, sizeof name, "%s.XXXXXX", path);
        fd = mkstemp(name);
        if (fd >= 0) {
            unlink(name);
        }
    }
    return fd;
}

/* Room for all states, as zeros, of which the disk is sure: a mapped file that it has no room for would end us. */
static asc_status make_room(states *s, const char *path)
{
    int fd = open_nameless(path);
    int reason = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)s->bytes);
    void *data = reason ? MAP_FAILED : mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    reason = reason ? reason : data == MAP_FAILED ? errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    if (reason) {
        return asc_fail(s->e->ctx, ASC_ERR_IO, "%s: can't write %.3g MB of states: %s", path, 1e-6 * (double)s->bytes,
                        strerror(reason));
    }
    s->data = data;
    return ASC_OK;
}

static void tell(void *user, double done)
{
    progress_part(&((encoding *)user)->bar, "encoding", done);
}

static void pass_on(void *user, const char *text)
{
    progress_clear(&((encoding *)user)->bar);
    cli_message("%s", text);
}

/* Computes the states, or finds them in the folder `parts`, and puts them into their places. */
static asc_status fill(states *s, const char *parts)
{
    encoding *e = s->e;
    int64_t each = s->rows > 0 ? s->rows : 1;
    asc_features *f =
        asc_features_open(e->encoder, e->sentences, &(asc_features_options){e->pooling, parts, tell, pass_on, e});
    asc_status status = asc_error(e->ctx);
    for (int64_t i = 0; i < s->n && !status; i++) {
        asc_sentences_at(e->sentences, i, &s->lengths[i], NULL);
        s->lengths[i] = e->pooling.kind == ASC_POOLING_WINDOWS ? asc_features_rows(f, i) : s->lengths[i];
        status = asc_features_read(f, i, s->data + i * each * s->dim);
    }
    asc_features_free(f);
    return status;
}

static void released(void *user, void *data)
{
    (void)user;
    (void)data;
}

static asc_status write_file(const states *s, const char *path, bool npz)
{
    asc_ctx *ctx = s->e->ctx;
    int64_t shape[3] = {s->n, s->rows > 0 ? s->rows : s->dim, s->dim};
    asc_tensor values = asc_wrap(ctx, ASC_F32, s->data, s->rows > 0 ? 3 : 2, shape, NULL, released, NULL);
    asc_tensor lengths = asc_wrap(ctx, ASC_I64, s->lengths, 1, &s->n, NULL, released, NULL);
    asc_status status = asc_error(ctx);
    if (!status && npz) {
        const asc_npz_array arrays[] = {{.name = "states", .tensor = values}, {.name = "lengths", .tensor = lengths}};
        status = asc_npz_write(ctx, path, arrays, 2);
    } else if (!status) {
        const asc_named_tensor tensors[] = {{"states", values}, {"lengths", lengths}};
        status = asc_safetensors_write(ctx, path, tensors, 2, NULL, 0);
    }
    asc_release(values);
    asc_release(lengths);
    return status;
}

/* ---- parts: FILE.parts/KEY.features/ ---- */

static bool is_named(const char *name, const char *ending)
{
    size_t n = strlen(name), own = strlen(ending);
    return n > own && strcmp(name + n - own, ending) == 0;
}

/* Removes the files of the folder `name` in another, and it. */
static void drop_features(int above, const char *name)
{
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (is_named(entry->d_name, ".safetensors") || is_named(entry->d_name, ".claim")) {
            unlinkat(fd, entry->d_name, 0);
        }
    }
    if (folder) {
        closedir(folder);
    } else if (fd >= 0) {
        close(fd);
    }
    unlinkat(above, name, AT_REMOVEDIR);
}

static void drop_parts(const char *parts)
{
    DIR *folder = opendir(parts);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (is_named(entry->d_name, ".features")) {
            drop_features(dirfd(folder), entry->d_name);
        }
    }
    if (folder) {
        closedir(folder);
        rmdir(parts);
    }
}

static void name_parts(const char *path, char parts[ENCODE_PATH])
{
    snprintf(parts, ENCODE_PATH, "%s" ENCODE_PARTS, path);
}

void encode_tell_parts(const char *path)
{
    char parts[ENCODE_PATH];
    struct stat about;
    name_parts(path, parts);
    if (stat(parts, &about) == 0 && S_ISDIR(about.st_mode) && !cli_quiet()) {
        cli_message("what is encoded by now lies in %s; the same command goes on with it", parts);
    }
}

/* ---- the file ---- */

static asc_status encode_into(states *s, const char *path, bool npz)
{
    char parts[ENCODE_PATH];
    encoding *e = s->e;
    name_parts(path, parts);
    asc_status status = make_room(s, path);
    if (!status) {
        status = fill(s, parts);
    }
    if (!status) {
        asc_set_interrupt(e->ctx, NULL, NULL); /* what is computed is written */
        status = write_file(s, path, npz);
    }
    if (s->data) {
        munmap(s->data, s->bytes);
    }
    if (!status) {
        drop_parts(parts);
    }
    return status;
}

asc_status encode_to_file(encoding *e, const char *path)
{
    bool one = e->pooling.kind == ASC_POOLING_MEAN || e->pooling.kind == ASC_POOLING_CLS;
    bool npz = strcmp(strrchr(path, '.'), ".npz") == 0;
    states s = {.e = e, .n = asc_sentences_count(e->sentences), .dim = asc_encoder_dim(e->encoder)};
    s.rows = one ? 0 : asc_pooling_rows(&e->pooling, asc_sentences_longest(e->sentences));
    s.bytes = (size_t)(s.n * (one ? 1 : s.rows) * s.dim) * sizeof *s.data;
    if (npz && (uint64_t)s.bytes + (uint64_t)s.n * sizeof *s.lengths > NPZ_MOST) {
        return asc_fail(e->ctx, ASC_ERR_IO, "%s: .npz holds less than 4 GiB, and these are %.1f; use FILE.safetensors",
                        path, (double)s.bytes / (double)(1 << 30));
    }
    s.lengths = asc_alloc(e->ctx, (size_t)s.n * sizeof *s.lengths);
    asc_status status = s.lengths ? encode_into(&s, path, npz) : ASC_ERR_MEMORY;
    asc_free(e->ctx, s.lengths, (size_t)s.n * sizeof *s.lengths);
    return status;
}
