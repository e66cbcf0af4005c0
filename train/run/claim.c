/* train/run/claim.c: who works on something. */
#include "train/run/claim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH = 4096, ID = 20, ATTEMPTS = 100, CONTENT = 1024 };

/* What a claim says. `boot` and `space` tell hosts of one name apart, and containers that number their processes
 * themselves. */
typedef struct identity {
    asc_claim_holder who;
    char boot[48], space[48], start[32], id[ID];
} identity;

/* A claim's file, of this process: first under a name of its own, then under the claim's. */
typedef struct mark {
    char path[PATH], temporary[PATH];
    identity own;
    int fd;
} mark;

struct asc_claim {
    asc_ctx *ctx;
    mark mark;
    int quit[2]; /* a pipe; closed at one end, it ends the thread */
    pthread_t beat;
};

typedef enum outcome { TAKEN, BUSY, AGAIN, FAILED } outcome;

/* ---- processes ---- */

/* The first line of a file, without its end; "" if there is none. */
static void read_line(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

/* State and time of start of a process, since the machine's; false where the system does not tell. */
static bool look_at(long long pid, char *state, char start[32])
{
    enum { START_FIELD = 20 }; /* behind the name, which may hold anything, in brackets */
    char path[64], line[CONTENT];
    snprintf(path, sizeof path, "/proc/%lld/stat", pid);
    read_line(path, line, sizeof line);
    char *name_end = strrchr(line, ')'), *rest;
    char *word = name_end ? strtok_r(name_end + 1, " ", &rest) : NULL;
    *state = word ? *word : '\0';
    for (int field = 1; word && field < START_FIELD; field++) {
        word = strtok_r(NULL, " ", &rest);
    }
    snprintf(start, 32, "%.31s", word ? word : "");
    return word;
}

/* Where the system does not tell of other processes, as in a cage, `beats` does: the claim's file is touched. */
static bool lives(const identity *of, bool beats)
{
    char state, start[32];
    if (of->who.pid <= 0 || (getpgid((pid_t)of->who.pid) < 0 && errno == ESRCH)) {
        return false;
    }
    if (!look_at(of->who.pid, &state, start)) {
        return beats;
    }
    return state != 'Z' && state != 'X' && strcmp(start, of->start) == 0;
}

static void identify(identity *own)
{
    char state;
    *own = (identity){.who.pid = getpid()};
    gethostname(own->who.host, sizeof own->who.host - 1);
    for (char *c = own->who.host; *c; c++) {
        *c = *c < '-' || *c > 'z' || *c == '\\' ? '_' : *c; /* what a host's name may hold needs no quoting */
    }
    read_line("/proc/sys/kernel/random/boot_id", own->boot, sizeof own->boot);
    ssize_t n = readlink("/proc/self/ns/pid", own->space, sizeof own->space - 1);
    own->space[n > 0 ? n : 0] = '\0';
    look_at(own->who.pid, &state, own->start);
}

static bool same_host(const identity *a, const identity *b)
{
    return strcmp(a->who.host, b->who.host) == 0 && strcmp(a->boot, b->boot) == 0 && strcmp(a->space, b->space) == 0;
}

/* An id that no other claim ever has. */
static void draw_id(identity *own)
{
    static _Atomic unsigned count;
    char text[CONTENT];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(text, sizeof text, "%s %s %s %lld %s %lld %ld %u", own->who.host, own->boot, own->space, own->who.pid,
             own->start, (long long)now.tv_sec, now.tv_nsec, atomic_fetch_add(&count, 1));
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (const char *c = text; *c; c++) {
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    }
    snprintf(own->id, sizeof own->id, "%016llx", (unsigned long long)hash);
}

/* ---- files ---- */

static void copy_text(json_t *object, const char *key, char *text, size_t size)
{
    const char *value = json_string_value(json_object_get(object, key));
    snprintf(text, size, "%s", value ? value : "");
}

/* What stands in a claim's file, all "" where that is no claim, and when it was touched. 0, or errno; EINVAL: it is no
 * regular file. */
static int read_claim(const char *path, identity *found, time_t *touched)
{
    char text[CONTENT];
    struct stat s;
    *found = (identity){0};
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return errno == ELOOP ? EINVAL : errno;
    }
    bool regular = fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
    ssize_t n = regular ? read(fd, text, sizeof text) : -1;
    int reason = errno;
    close(fd);
    if (n < 0) {
        return regular ? reason : EINVAL;
    }
    *touched = s.st_mtime;
    json_t *object = json_loadb(text, (size_t)n, 0, NULL);
    copy_text(object, "host", found->who.host, sizeof found->who.host);
    copy_text(object, "boot", found->boot, sizeof found->boot);
    copy_text(object, "space", found->space, sizeof found->space);
    copy_text(object, "start", found->start, sizeof found->start);
    copy_text(object, "id", found->id, sizeof found->id);
    found->who.pid = json_integer_value(json_object_get(object, "pid"));
    json_decref(object);
    return 0;
}

/* `now` by the clock that stamps the files. */
static bool alive(const identity *found, const identity *own, time_t touched, time_t now)
{
    if (!*found->id) {
        return now - touched <= ASC_CLAIM_WRITING_S;
    }
    bool beats = now - touched <= ASC_CLAIM_STALE_S;
    return same_host(found, own) ? lives(found, beats) : beats;
}

static bool write_content(const mark *m)
{
    char text[CONTENT];
    int n = snprintf(text, sizeof text,
                     "{\"host\": \"%s\", \"pid\": %lld, \"start\": \"%s\", \"boot\": \"%s\", \"space\": \"%s\", "
                     "\"id\": \"%s\"}\n", m->own.who.host, m->own.who.pid, m->own.start, m->own.boot, m->own.space,
                     m->own.id);
    ssize_t done = write(m->fd, text, (size_t)n);
    errno = done >= 0 ? ENOSPC : errno;
    return done == n;
}

/* Makes the file under a name of its own. */
static bool mark_begin(mark *m, const char *path)
{
    *m = (mark){.fd = -1};
    identify(&m->own);
    draw_id(&m->own);
    snprintf(m->path, sizeof m->path, "%s", path);
    if (snprintf(m->temporary, sizeof m->temporary, "%s.%s.tmp", path, m->own.id) >= (int)sizeof m->temporary) {
        errno = ENAMETOOLONG;
        return false;
    }
    m->fd = open(m->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return m->fd >= 0 && write_content(m);
}

static void mark_end(mark *m)
{
    if (m->fd >= 0) {
        unlink(m->temporary);
        close(m->fd);
    }
    m->fd = -1;
}

static bool is_own(const mark *m)
{
    identity found;
    time_t touched;
    return read_claim(m->path, &found, &touched) == 0 && strcmp(found.id, m->own.id) == 0;
}

static void remove_own(const mark *m)
{
    if (is_own(m)) {
        unlink(m->path);
    }
}

/* Where the file system has no links: a file that nobody else made. Who stood still before it was written may find that
 * another has taken it for what a loss of power left. */
static bool put_alone(mark *m)
{
    int fd = open(m->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        return false;
    }
    unlink(m->temporary);
    close(m->fd);
    m->fd = fd;
    if (!write_content(m)) {
        return false;
    }
    errno = EEXIST;
    return is_own(m);
}

/* The file takes the claim's name, if nothing has it. */
static bool put(mark *m)
{
    struct stat s;
    bool linked = link(m->temporary, m->path) == 0;
    int reason = errno;
    if (!linked && fstat(m->fd, &s) == 0 && s.st_nlink == 2) {
        linked = true; /* NFS: the answer was lost, not the link */
    }
    if (linked) {
        unlink(m->temporary);
        return true;
    }
    bool without = reason == EPERM || reason == ENOTSUP || reason == EOPNOTSUPP || reason == ENOSYS;
    errno = reason;
    return without && put_alone(m);
}

/* ---- taking ---- */

static outcome mark_take(mark *m, const char *path, asc_claim_holder *other);

/* Claims the right to replace or remove the claim of that id. */
static outcome take_right(mark *right, const char *path, const char *id, asc_claim_holder *other)
{
    char over[PATH];
    if (snprintf(over, sizeof over, "%s.%s.over", path, *id ? id : "unknown") >= (int)sizeof over) {
        errno = ENAMETOOLONG;
        return FAILED;
    }
    return mark_take(right, over, other);
}

static outcome replace(mark *m, const identity *stale, asc_claim_holder *other)
{
    mark right = {.fd = -1};
    outcome got = take_right(&right, m->path, stale->id, other);
    if (got == TAKEN) {
        identity found;
        time_t touched;
        got = AGAIN;
        if (read_claim(m->path, &found, &touched) == 0 && strcmp(found.id, stale->id) == 0) {
            got = rename(m->temporary, m->path) == 0 ? TAKEN : FAILED;
        }
        remove_own(&right);
    }
    int reason = errno;
    mark_end(&right);
    errno = reason;
    return got;
}

static outcome try_to_take(mark *m, asc_claim_holder *other)
{
    identity found;
    struct stat own;
    time_t touched;
    if (put(m)) {
        return TAKEN;
    }
    if (errno != EEXIST) {
        return FAILED;
    }
    int reason = read_claim(m->path, &found, &touched);
    if (reason) {
        errno = reason;
        return reason == ENOENT ? AGAIN : FAILED; /* it has just been dropped */
    }
    *other = found.who;
    if (fstat(m->fd, &own)) {
        return FAILED;
    }
    return alive(&found, &m->own, touched, own.st_mtime) ? BUSY : replace(m, &found, other);
}

/* To be ended in any case. */
static outcome mark_take(mark *m, const char *path, asc_claim_holder *other)
{
    if (!mark_begin(m, path)) {
        return FAILED;
    }
    outcome got = AGAIN;
    for (int i = 0; i < ATTEMPTS && got == AGAIN; i++) {
        got = try_to_take(m, other);
    }
    return got == AGAIN ? BUSY : got; /* others take and drop it all the time */
}

/* Whether a file of this name goes with the claim `base`: "BASE.ID.over", the right to replace a claim, or to replace
 * that right, and so on; or, with ".ID.tmp" behind it, one of these or the claim that has not taken its name yet. */
static bool goes_with(const char *name, const char *base)
{
    size_t n = strlen(base);
    const char *at = name + n;
    if (strncmp(name, base, n) != 0 || *at != '.') {
        return false;
    }
    while (*at == '.') {
        const char *end = at + 1 + strcspn(at + 1, "."); /* of an id */
        if (strncmp(end, ".over", 5) != 0) {
            return strcmp(end, ".tmp") == 0;
        }
        at = end + 5;
    }
    return *at == '\0';
}

/* What processes left that were killed while they took or dropped this claim before. It stands in the place of the
 * claims that their rights were for, so that nobody asks for those any more. */
static void sweep(const mark *m)
{
    const char *slash = strrchr(m->path, '/'), *base = slash ? slash + 1 : m->path;
    char name[PATH];
    snprintf(name, sizeof name, "%.*s", slash ? (int)(slash - m->path) + 1 : 2, slash ? m->path : "./");
    struct stat own;
    identity left;
    time_t touched;
    DIR *folder = fstat(m->fd, &own) == 0 ? opendir(name) : NULL;
    size_t at = strlen(name);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (goes_with(entry->d_name, base) &&
            snprintf(name + at, sizeof name - at, "%s", entry->d_name) < (int)(sizeof name - at) &&
            read_claim(name, &left, &touched) == 0 && !alive(&left, &m->own, touched, own.st_mtime)) {
            unlink(name);
        }
    }
    if (folder) {
        closedir(folder);
    }
}

/* ---- the claim ---- */

static void *beat(void *arg)
{
    const asc_claim *c = arg;
    struct pollfd quit = {.fd = c->quit[0]};
    while (poll(&quit, 1, 1000 * ASC_CLAIM_BEAT_S) == 0) {
        futimens(c->mark.fd, NULL); /* the file that is ours, whatever has its name by now */
    }
    return NULL;
}

/* The thread takes no signals: they are for those that the program started. */
static bool start_beating(asc_claim *c)
{
    sigset_t all, before;
    if (pipe(c->quit)) {
        return false;
    }
    fcntl(c->quit[0], F_SETFD, FD_CLOEXEC);
    fcntl(c->quit[1], F_SETFD, FD_CLOEXEC);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int reason = pthread_create(&c->beat, NULL, beat, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (reason) {
        close(c->quit[0]);
        close(c->quit[1]);
        errno = reason;
    }
    return reason == 0;
}

asc_status asc_claim_take(asc_ctx *ctx, const char *path, asc_claim **claim, asc_claim_holder *other)
{
    *claim = NULL;
    *other = (asc_claim_holder){0};
    asc_claim *c = asc_alloc(ctx, sizeof *c);
    if (!c) {
        return ASC_ERR_MEMORY;
    }
    c->ctx = ctx;
    outcome got = mark_take(&c->mark, path, other);
    if (got == TAKEN && start_beating(c)) {
        sweep(&c->mark);
        *claim = c;
        return ASC_OK;
    }
    int reason = errno;
    if (got == TAKEN) {
        remove_own(&c->mark);
    }
    mark_end(&c->mark);
    asc_free(ctx, c, sizeof *c);
    return got == BUSY       ? ASC_OK
           : reason == EINVAL ? asc_fail(ctx, ASC_ERR_IO, "%s: is no regular file", path)
                              : asc_fail(ctx, ASC_ERR_IO, "%s: %s", path, strerror(reason));
}

bool asc_claim_held(const asc_claim *claim)
{
    return is_own(&claim->mark);
}

void asc_claim_drop(asc_claim *c)
{
    if (!c) {
        return;
    }
    close(c->quit[1]);
    pthread_join(c->beat, NULL);
    close(c->quit[0]);
    mark right = {.fd = -1};
    asc_claim_holder other;
    outcome got = take_right(&right, c->mark.path, c->mark.own.id, &other);
    if (got == TAKEN) { /* nobody replaces it meanwhile */
        remove_own(&c->mark);
        remove_own(&right);
    }
    if (got != BUSY && is_own(&c->mark)) { /* as on a full disk; others, and we, would wait until this process ends */
        (void)!ftruncate(c->mark.fd, 0);
        futimens(c->mark.fd, (struct timespec[2]){{0}, {0}}); /* nobody is about to write it */
    }
    mark_end(&right);
    mark_end(&c->mark);
    asc_free(c->ctx, c, sizeof *c);
}

bool asc_claim_alive(const char *path, asc_claim_holder *holder)
{
    identity own, found;
    time_t touched;
    identify(&own);
    if (read_claim(path, &found, &touched)) {
        return false;
    }
    if (holder) {
        *holder = found.who;
    }
    return alive(&found, &own, touched, time(NULL));
}
