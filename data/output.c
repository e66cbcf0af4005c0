/* data/output.c: a file of results, for those who don't see asc_file. */
#include <program/file.h>

#include "data/file.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

struct asc_output {
    asc_file file;
};

asc_output *asc_output_begin(asc_ctx *ctx, const char *path)
{
    asc_output *o = ASC_NEED(ctx, "output_begin: path", path) || asc_error(ctx) ? NULL : asc_alloc(ctx, sizeof *o);
    if (o && asc_file_begin(&o->file, ctx, path)) {
        asc_free(ctx, o, sizeof *o);
        o = NULL;
    }
    return o;
}

asc_status asc_output_check(asc_ctx *ctx, const char *path)
{
    asc_status status = ASC_NEED(ctx, "output_check: path", path);
    asc_file file;
    if (!status && !(status = asc_error(ctx)) && !(status = asc_file_begin(&file, ctx, path))) {
        asc_file_discard(&file);
    }
    return status;
}

asc_status asc_output_write(asc_output *o, const void *bytes, size_t n)
{
    asc_status status = ASC_NEED(o ? o->file.ctx : NULL, "output_write: output bytes", o,
                                 asc_unless_empty(bytes, n > 0));
    return status ? status : asc_file_write(&o->file, bytes, n);
}

asc_status asc_output_end(asc_output *o)
{
    asc_ctx *ctx = o ? o->file.ctx : NULL;
    asc_status status = ASC_NEED(ctx, "output_end: output", o);
    if (status) {
        return status;
    }
    if ((status = asc_error(ctx))) {
        asc_file_discard(&o->file);
    } else {
        status = asc_file_commit(&o->file);
    }
    asc_free(ctx, o, sizeof *o);
    return status;
}
