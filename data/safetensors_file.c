/* data/safetensors_file.c: an open safetensors file: its bytes, and what is wrong with it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data/safetensors.h"
#include "tensor/locale.h"

asc_status asc_safetensors_fail(const asc_safetensors *file, asc_status status, const char *name, const char *format,
                                ...)
{
    char text[256], shown[80];
    va_list args;
    va_start(args, format);
    asc_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(shown, sizeof shown, "%s", name ? name : "");
    for (char *part = text; part; part = part == text ? shown : NULL) {
        for (char *c = part; *c; c++) {
            *c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c;
        }
    }
    return name ? asc_fail(file->ctx, status, "%s: tensor '%s': %s", file->path, shown, text)
                : asc_fail(file->ctx, status, "%s: %s", file->path, text);
}

asc_status asc_safetensors_fetch(const asc_safetensors *file, void *buffer, int64_t bytes, int64_t offset)
{
    char *to = buffer;
    while (bytes > 0) {
        ssize_t got = pread(file->fd, to, (size_t)bytes, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return asc_safetensors_fail(file, ASC_ERR_IO, NULL, "can't read: %s", strerror(errno));
        }
        if (got == 0) {
            return asc_safetensors_fail(file, ASC_ERR_FORMAT, NULL,
                                        "ends at %lld, %lld bytes before what its header declares", (long long)offset,
                                        (long long)bytes);
        }
        to += got;
        bytes -= got;
        offset += got;
    }
    return ASC_OK;
}

const asc_safetensors_pair *asc_safetensors_metadata_at(const asc_safetensors *file, int64_t i)
{
    return file && i >= 0 && i < file->n_metadata ? &file->metadata[i] : NULL;
}

const char *asc_safetensors_metadata(const asc_safetensors *file, const char *key)
{
    const asc_safetensors_pair *pair;
    for (int64_t i = 0; key && (pair = asc_safetensors_metadata_at(file, i)); i++) {
        if (strcmp(pair->key, key) == 0) {
            return pair->value;
        }
    }
    return NULL;
}
