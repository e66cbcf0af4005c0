/* train/run/format.c: versions of models and checkpoints, and the numbers in their metadata. */
#include "train/run/format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/safetensors.h"
#include "tensor/ctx.h"
#include "tensor/locale.h"

int asc_format_version(const asc_safetensors *file)
{
    return asc_safetensors_metadata(file, ASC_FORMAT_KEY) ? 2 : 1;
}

static bool has_checksums(const asc_safetensors *file)
{
    return asc_safetensors_metadata(file, ASC_SAFETENSORS_CRC) != NULL; /* then the opening has checked them */
}

static asc_status check_version(const asc_safetensors *file)
{
    const char *version = asc_safetensors_metadata(file, ASC_FORMAT_KEY);
    if (version && strcmp(version, ASC_FORMAT) != 0) {
        return asc_safetensors_fail(file, ASC_ERR_FORMAT, NULL, "its " ASC_FORMAT_KEY " is '%.20s', expected "
                                    ASC_FORMAT " or none: a later program may have written it", version);
    }
    if (!has_checksums(file) && asc_safetensors_metadata(file, ASC_SAFETENSORS_CRC_TENSORS)) {
        return asc_safetensors_fail(file, ASC_ERR_FORMAT, NULL,
                                    "is damaged: it has checksums of its tensors, and no " ASC_SAFETENSORS_CRC
                                    " beside them");
    }
    return ASC_OK;
}

asc_safetensors *asc_format_open(asc_ctx *ctx, const char *path, bool own)
{
    asc_safetensors *file = asc_safetensors_open_with(ctx, path, own ? O_NOFOLLOW : 0);
    if (file && check_version(file)) {
        asc_safetensors_close(file);
        return NULL;
    }
    return file;
}

void asc_format_note(const asc_safetensors *file)
{
    if (!has_checksums(file)) {
        asc_note(file->ctx, "%s: has no checksum over tensors and metadata: whether it is damaged can't be told",
                 file->path);
    }
}

asc_status asc_format_check_tensors(const asc_safetensors *file)
{
    const asc_safetensors_entry *e;
    for (int64_t i = 0; (e = asc_safetensors_at(file, i)) && !asc_error(file->ctx); i++) {
        asc_release(asc_safetensors_read(file->ctx, file, e->name, ASC_SAFETENSORS_STORED));
    }
    return asc_error(file->ctx);
}

/* ---- numbers ---- */

/* The file may be an old one, whose metadata nothing protects. */
static const char *text_of(const asc_safetensors *file, const char *key)
{
    const char *text = asc_safetensors_metadata(file, key);
    return text ? text : "missing";
}

asc_status asc_format_int(const asc_safetensors *file, const char *key, int64_t least, int64_t most, int64_t *value)
{
    const char *text = text_of(file, key);
    char *end;
    errno = 0;
    long long got = strtoll(text, &end, 10);
    bool plain = text[strspn(text, "-0123456789")] == '\0'; /* neither a space nor a plus before it */
    if (end == text || *end || errno || !plain || got < least || got > most) {
        return asc_safetensors_fail(file, ASC_ERR_FORMAT, NULL, "its %s is '%.40s', expected a whole number from %"
                                    PRId64 " to %" PRId64, key, text, least, most);
    }
    *value = got;
    return ASC_OK;
}

asc_status asc_format_real(const asc_safetensors *file, const char *key, double most, bool nan, double *value)
{
    const char *text = text_of(file, key);
    char *end;
    errno = 0;
    double got = asc_strtod(text, &end);
    bool plain = text[strspn(text, "+-.0123456789einfa")] == '\0', overflow = errno && isinf(got);
    bool within = isnan(got) ? nan : got >= 0 && got <= most;
    if (end == text || *end || !plain || overflow || !within) {
        return asc_safetensors_fail(file, ASC_ERR_FORMAT, NULL, "its %s is '%.40s', expected a number from 0 to %g%s",
                                    key, text, most, nan ? ", or nan" : "");
    }
    *value = got;
    return ASC_OK;
}
