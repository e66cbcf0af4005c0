/* data/gunzip.c: the bytes of a file, plain or gzip, through zlib. A gzip file is members one behind the other (RFC
 * 1952), of which zlib's own reader takes a damaged one but the first for something else that follows; here each has to
 * be one. Zeros may follow, as a tape has them. */
#include "data/gunzip.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "tensor/ctx.h"

enum { BLOCK = 1 << 18, GZIP = 15 + 16 }; /* inflateInit2's largest window, and gzip's header */

struct asc_gunzip {
    asc_ctx *ctx;
    int fd;
    const char *name;
    const int64_t *lines;
    z_stream z; /* next_in, avail_in: what is read and not unpacked, of plain text, too */
    enum { UNKNOWN, PLAIN, WITHIN, BETWEEN, PADDING } state; /* of gzip within a member, between two, or in zeros */
    bool at_end;                                             /* of the file */
    unsigned char block[BLOCK];
};

asc_gunzip *asc_gunzip_new(asc_ctx *ctx, int fd, const char *name, const int64_t *lines)
{
    asc_gunzip *u = asc_alloc(ctx, sizeof *u);
    if (!u) {
        close(fd);
        return NULL;
    }
    u->ctx = ctx;
    u->fd = fd;
    u->name = name;
    u->lines = lines;
    u->z = (z_stream){.next_in = u->block};
    u->state = UNKNOWN;
    u->at_end = false;
    return u;
}

void asc_gunzip_free(asc_gunzip *u)
{
    if (u) {
        inflateEnd(&u->z); /* an error of one that was not begun */
        close(u->fd);
        asc_free(u->ctx, u, sizeof *u);
    }
}

static asc_status refuse(const asc_gunzip *u, const char *what)
{
    return asc_fail(u->ctx, ASC_ERR_FORMAT, "%s: line %lld: the gzip data %s", u->name, (long long)*u->lines + 1, what);
}

/* Has at least `least` bytes of the file in the block, or all that are left. */
static asc_status refill(asc_gunzip *u, size_t least)
{
    if (u->z.avail_in >= least || u->at_end) {
        return ASC_OK;
    }
    memmove(u->block, u->z.next_in, u->z.avail_in);
    u->z.next_in = u->block;
    while (u->z.avail_in < least && !u->at_end) {
        ssize_t n = read(u->fd, u->block + u->z.avail_in, BLOCK - u->z.avail_in);
        if (n < 0 && errno != EINTR) {
            return asc_fail(u->ctx, ASC_ERR_IO, "%s: line %lld: can't read: %s", u->name, (long long)*u->lines + 1,
                            strerror(errno));
        }
        u->at_end = n == 0;
        u->z.avail_in += n > 0 ? (unsigned)n : 0;
    }
    return ASC_OK;
}

static bool is_member(const asc_gunzip *u)
{
    return u->z.avail_in >= 2 && u->z.next_in[0] == 0x1f && u->z.next_in[1] == 0x8b;
}

/* What stands at the beginning of the file, or behind a member. */
static asc_status begin(asc_gunzip *u)
{
    if (refill(u, 1) || (u->z.avail_in > 0 && *u->z.next_in == 0x1f && refill(u, 2))) {
        return asc_error(u->ctx);
    }
    if (u->state == UNKNOWN && !is_member(u)) {
        u->state = PLAIN;
        return ASC_OK;
    }
    if (!is_member(u)) {
        u->state = PADDING;
        return ASC_OK;
    }
    int code = u->state == UNKNOWN ? inflateInit2(&u->z, GZIP) : inflateReset(&u->z);
    u->state = WITHIN;
    return code == Z_OK ? ASC_OK : asc_fail(u->ctx, ASC_ERR_MEMORY, "%s: out of memory for zlib", u->name);
}

/* Nothing but zeros. */
static asc_status pass_padding(asc_gunzip *u)
{
    for (; u->z.avail_in > 0; u->z.avail_in--) {
        if (*u->z.next_in++ != 0) {
            return refuse(u, "is damaged: what follows its end is none");
        }
    }
    return refill(u, 1);
}

static asc_status inflate_some(asc_gunzip *u)
{
    if (refill(u, 1)) {
        return asc_error(u->ctx);
    }
    if (u->z.avail_in == 0) {
        return refuse(u, "ends too early: the file was cut short");
    }
    char what[120];
    int code = inflate(&u->z, Z_NO_FLUSH);
    switch (code) {
    case Z_OK:
    case Z_BUF_ERROR:
        return ASC_OK;
    case Z_STREAM_END:
        u->state = BETWEEN;
        return ASC_OK;
    case Z_MEM_ERROR:
        return asc_fail(u->ctx, ASC_ERR_MEMORY, "%s: out of memory for zlib", u->name);
    default:
        snprintf(what, sizeof what, "is damaged: %s", u->z.msg ? u->z.msg : "unknown");
        return refuse(u, what);
    }
}

static asc_status copy_some(asc_gunzip *u)
{
    if (refill(u, 1)) {
        return asc_error(u->ctx);
    }
    size_t n = u->z.avail_in < u->z.avail_out ? u->z.avail_in : u->z.avail_out;
    memcpy(u->z.next_out, u->z.next_in, n);
    u->z.next_in += n;
    u->z.avail_in -= (unsigned)n;
    u->z.next_out += n;
    u->z.avail_out -= (unsigned)n;
    return ASC_OK;
}

asc_status asc_gunzip_read(asc_gunzip *u, char *buffer, size_t n, size_t *got)
{
    asc_status status = ASC_OK;
    u->z.next_out = (unsigned char *)buffer;
    u->z.avail_out = (unsigned)n;
    bool more = true;
    while (!status && more && u->z.avail_out > 0) {
        switch (u->state) {
        case UNKNOWN:
        case BETWEEN:
            status = begin(u);
            break;
        case PLAIN:
            status = copy_some(u);
            more = false; /* who types a line waits for its answer */
            break;
        case WITHIN:
            status = inflate_some(u);
            break;
        case PADDING:
            status = pass_padding(u);
            more = u->z.avail_in > 0;
            break;
        }
    }
    *got = n - u->z.avail_out;
    return status;
}

bool asc_gunzip_waits(const asc_gunzip *u)
{
    struct pollfd in = {.fd = u->fd, .events = POLLIN};
    return u->state == PLAIN && u->z.avail_in == 0 && !u->at_end && poll(&in, 1, 0) == 0;
}
