/* tests/train/test_ranks.c: a training on several ranks, which are threads here, with a communicator of the test's own:
 * the same bits for any number of them. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <ascgrad/comm.h>

#include "tests/train/runs.h"

enum { MOST = 8 };

/* ---- messages by sockets ---- */

typedef struct job job;

typedef struct rank {
    job *of;
    int number;
    heap memory;
    asc_ctx *ctx;
    asc_status status;
    bool lost;
    char message[300];
    double clock;         /* of the network below, in seconds */
    int64_t large, bytes; /* messages sent that are no heads, and what is in them */
} rank;

/* What a message costs: overhead at either end and time for each byte, as in LogGP. Nobody waits for it: messages carry
 * their sender's clock, and computing takes no time. */
static const double overhead = 5e-6, per_byte = 0.8e-9;
enum { LARGE = 5000 };

struct job {
    int size;
    int socket[MOST][MOST]; /* [a][b]: of a, to b */
    const char *path;
    bool resume;
    const pair *pairs, *more, *others, *odd; /* settings of all, twice; more of all ranks but 0; of the last one */
    int stop_at;             /* the call of rank 0's hook that stops; -1: none */
    int dies_at;             /* the message at which the last rank goes; -1: none */
    int messages;            /* of the last rank */
    bool in_turns;           /* no exchange in the table */
    int64_t parameters;      /* of the model, once it is trained */
    rank rank[MOST];
};

static bool dies(const rank *r)
{
    return r->number == r->of->size - 1 && r->of->dies_at >= 0 && r->of->messages++ >= r->of->dies_at;
}

static int move(const rank *r, int other, char *data, size_t bytes, bool out)
{
    int fd = r->of->socket[r->number][other];
    if (dies(r)) {
        for (int i = 0; i < r->of->size; i++) {
            shutdown(r->of->socket[r->number][i], SHUT_RDWR);
        }
        return 1;
    }
    while (bytes > 0) {
        ssize_t n = out ? send(fd, data, bytes, MSG_NOSIGNAL) : recv(fd, data, bytes, 0);
        if (n <= 0) {
            return 1;
        }
        data += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static void count(rank *r, size_t bytes)
{
    r->large += bytes >= LARGE;
    r->bytes += bytes >= LARGE ? (int64_t)bytes : 0;
}

static int send_to(void *user, int to, const void *data, size_t bytes)
{
    rank *r = user;
    r->clock += overhead + (double)bytes * per_byte;
    count(r, bytes);
    double stamp = r->clock;
    return move(r, to, (char *)&stamp, sizeof stamp, true) || move(r, to, (char *)(uintptr_t)data, bytes, true);
}

static int receive_from(void *user, int from, void *data, size_t bytes)
{
    rank *r = user;
    double stamp = 0;
    if (move(r, from, (char *)&stamp, sizeof stamp, false) || move(r, from, data, bytes, false)) {
        return 1;
    }
    r->clock = (r->clock > stamp ? r->clock : stamp) + overhead;
    return 0;
}

/* One side of an exchange. */
typedef struct flow {
    char *data;
    size_t bytes;
} flow;

static int step_flow(int fd, flow *f, bool out)
{
    ssize_t n = f->bytes == 0 ? 0
                : out         ? send(fd, f->data, f->bytes, MSG_NOSIGNAL | MSG_DONTWAIT)
                              : recv(fd, f->data, f->bytes, MSG_DONTWAIT);
    if (f->bytes > 0 && (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK))) {
        return 1;
    }
    f->data += n > 0 ? n : 0;
    f->bytes -= n > 0 ? (size_t)n : 0;
    return 0;
}

static int move_both(const rank *r, int other, flow out, flow in)
{
    int fd = r->of->socket[r->number][other];
    if (dies(r)) {
        return move(r, other, NULL, 0, true);
    }
    while (out.bytes + in.bytes > 0) {
        struct pollfd p = {fd, (short)((out.bytes > 0 ? POLLOUT : 0) | (in.bytes > 0 ? POLLIN : 0)), 0};
        if (poll(&p, 1, -1) < 0 || step_flow(fd, &out, true) || step_flow(fd, &in, false)) {
            return 1;
        }
    }
    return 0;
}

static int exchange_with(void *user, int other, const void *out, void *in, size_t out_bytes, size_t in_bytes)
{
    rank *r = user;
    double theirs = 0, own = r->clock + (out_bytes > 0 ? overhead + (double)out_bytes * per_byte : 0);
    count(r, out_bytes);
    if (move_both(r, other, (flow){(char *)&own, sizeof own}, (flow){(char *)&theirs, sizeof theirs}) ||
        move_both(r, other, (flow){(char *)(uintptr_t)out, out_bytes}, (flow){in, in_bytes})) {
        return 1;
    }
    r->clock = in_bytes == 0 ? own : fmax(own, theirs) + overhead;
    return 0;
}

/* ---- a job ---- */

static bool stop_rank(void *user, const asc_train_progress *p)
{
    job *j = user;
    (void)p;
    return j->stop_at < 0 || j->stop_at-- > 0;
}

static void set_all(asc_settings *s, const pair *pairs)
{
    for (int i = 0; pairs && pairs[i][0]; i++) {
        asc_settings_set(s, pairs[i][0], pairs[i][1]);
    }
}

static void *run_rank(void *arg)
{
    rank *r = arg;
    job *j = r->of;
    const asc_comm comm = {.rank = r->number, .size = j->size, .send = send_to, .receive = receive_from, .user = r,
                           .exchange = j->in_turns ? NULL : exchange_with};
    asc_settings *s = j->resume ? asc_settings_new(r->ctx) : make_settings(r->ctx);
    if (!j->resume) {
        asc_settings_set(s, "shards", "4");
    }
    set_all(s, j->pairs);
    set_all(s, j->more);
    set_all(s, r->number > 0 ? j->others : NULL);
    set_all(s, r->number == j->size - 1 ? j->odd : NULL);
    asc_set_comm(r->ctx, &comm);
    if (j->resume) {
        asc_settings_resume(s, j->path);
    }
    const asc_train_hooks hooks = {.progress = stop_rank, .user = j};
    asc_train_result result = {0};
    r->status = asc_train(r->ctx, s, j->path, j->resume, &hooks, &result);
    if (r->number == 0) {
        j->parameters = result.parameters;
    }
    r->lost = asc_comm_lost(r->ctx);
    snprintf(r->message, sizeof r->message, "%s", asc_error_message(r->ctx));
    for (int i = 0; r->lost && i < j->size; i++) {
        shutdown(j->socket[r->number][i], SHUT_RDWR); /* as ending the job would */
    }
    asc_settings_free(s);
    return NULL;
}

/* Runs the job; all ranks end with the status of rank 0, unless they lost each other. */
static void run_job(job *j)
{
    pthread_t thread[MOST];
    for (int a = 0; a < j->size; a++) {
        for (int b = a; b < j->size; b++) {
            int ends[2];
            ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
            j->socket[a][b] = ends[0];
            j->socket[b][a] = ends[1];
        }
    }
    for (int i = 0; i < j->size; i++) {
        rank *r = &j->rank[i];
        *r = (rank){.of = j, .number = i, .memory = {.fail_at = NEVER}};
        r->ctx = context_on(&r->memory, 1);
    }
    for (int i = 0; i < j->size; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, run_rank, &j->rank[i]), 0);
    }
    for (int i = 0; i < j->size; i++) {
        pthread_join(thread[i], NULL);
        asc_ctx_free(j->rank[i].ctx);
        expect_empty(&j->rank[i].memory);
    }
    for (int i = 0; i < j->size; i++) {
        if (j->dies_at < 0) {
            ck_assert_msg(j->rank[i].status == j->rank[0].status, "rank %d: %s", i, j->rank[i].message);
        }
        for (int b = 0; b < j->size; b++) {
            close(j->socket[i][b]);
        }
    }
}

static void train_on(int size, const char *path, const pair *pairs, bool resume, int at, asc_status expected)
{
    job j = {.size = size, .path = path, .pairs = resume ? NULL : pairs, .resume = resume, .stop_at = at,
             .dies_at = -1};
    run_job(&j);
    ck_assert_msg(j.rank[0].status == expected, "%s", j.rank[0].message);
}

/* The tensors of a file of both runs, by their checksums: metadata have times. */
static void check_same_tensors(const char *name)
{
    char path[2][200];
    const char *sum[2];
    asc_safetensors *file[2];
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", i ? other_path : run_path, name);
        file[i] = asc_safetensors_open(ctx, path[i]);
        sum[i] = asc_safetensors_metadata(file[i], ASC_SAFETENSORS_CRC_TENSORS);
    }
    ck_assert_msg(sum[0] && sum[1], "%s", asc_error_message(ctx));
    ck_assert_msg(strcmp(sum[0], sum[1]) == 0, "the tensors of %s differ", name);
    asc_safetensors_close(file[0]);
    asc_safetensors_close(file[1]);
}

/* ---- tests ---- */

static const pair kinds[][8] = {
    {{"dropout", "0.2"}, {NULL, NULL}},
    {{"mixing", "ascender,grassmann"}, {"layers", "2"}, {"aux_coh", "0.1"}, {"recompute", "true"}, {NULL, NULL}},
    {{"carry", "6"}, {"pos_emb", "false"}, {"positions", "rotary"}, {"accumulate", "2"}, {"average", "0.9"},
     {"optimizer", "muon"}, {NULL, NULL}},
    {{"batch_schedule", "0:1,4:3"}, {NULL, NULL}}, /* some shards are empty */
    {{"shards", "6"}, {"batch", "6"}, {"dropout", "0.2"}, {NULL, NULL}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* An optimiser that is divided among the ranks. */
static const pair divided[][8] = {
    {{"optimizer", "adamw"}, {"average", "0.9"}, {NULL, NULL}},
    {{"optimizer", "muon"},
     {"mixing", "ascender,grassmann"},
     {"layers", "2"},
     {"param_groups", "*emb.weight:lr=0"},
     {NULL, NULL}},
    {{"optimizer", "sgd"},
     {"clip", "0.01"},
     {"accumulate", "2"},
     {"carry", "6"},
     {"pos_emb", "false"},
     {"positions", "rotary"},
     {NULL, NULL}},
    {{"param_groups", "*bias:optimizer=sgd;blocks.0.*:lr=1e-2,decay=0"},
     {"average", "0.5"},
     {"schedule", "wsd"},
     {NULL, NULL}},
    {{"shards", "8"}, {"batch", "8"}, {"clip", "0.01"}, {NULL, NULL}},
    {{"shards", "6"}, {"batch", "6"}, {"clip", "0.01"}, {NULL, NULL}},
};
enum { DIVIDED = sizeof divided / sizeof *divided };
static const pair together[] = {{"shard_optimizer", "false"}, {NULL, NULL}},
                  apart[] = {{"shard_optimizer", "true"}, {NULL, NULL}};

static int shards_of(const pair *pairs)
{
    int shards = 4;
    for (int i = 0; pairs[i][0]; i++) {
        shards = strcmp(pairs[i][0], "shards") == 0 ? atoi(pairs[i][1]) : shards;
    }
    return shards;
}

START_TEST(a_divided_optimizer_makes_the_same_run)
{
    int shards = shards_of(divided[_i]);
    const int order[] = {shards == 6 ? 3 : 4, 1, 2};
    train_on(1, run_path, divided[_i], false, -1, ASC_OK);
    for (int size = 2; size <= MOST; size++) {
        if (shards % size != 0) {
            continue;
        }
        job j = {.size = size, .path = other_path, .pairs = divided[_i], .more = apart, .stop_at = -1, .dies_at = -1};
        run_job(&j);
        ck_assert_msg(j.rank[0].status == ASC_OK, "%s", j.rank[0].message);
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        check_same_tensors("checkpoint.safetensors");
        remove_tree(other_path);
    }
    for (int i = 0; i < 3; i++) { /* begun divided, then one process, then several that are not, or are again */
        job j = {.size = order[i],
                 .path = other_path,
                 .pairs = i ? NULL : divided[_i],
                 .more = i < 2 ? apart : together,
                 .resume = i > 0,
                 .stop_at = i < 2 ? 4 : -1,
                 .dies_at = -1};
        run_job(&j);
        ck_assert_msg(j.rank[0].status == (i < 2 ? ASC_ERR_INTERRUPTED : ASC_OK), "%s", j.rank[0].message);
    }
    check_same("metrics.jsonl");
    check_same("model.safetensors");
    check_same_tensors("checkpoint.safetensors");
}
END_TEST

START_TEST(any_number_of_ranks_makes_the_same_run)
{
    train_on(1, run_path, kinds[_i], false, -1, ASC_OK);
    for (int size = 2; size <= MOST; size++) {
        for (int turns = 0; turns < 2 && shards_of(kinds[_i]) % size == 0; turns++) {
            job j = {.size = size,
                     .path = other_path,
                     .pairs = kinds[_i],
                     .in_turns = turns,
                     .stop_at = -1,
                     .dies_at = -1};
            run_job(&j);
            ck_assert_msg(j.rank[0].status == ASC_OK, "%s", j.rank[0].message);
            check_same("metrics.jsonl");
            check_same("model.safetensors");
            remove_tree(other_path);
        }
    }
}
END_TEST

START_TEST(a_run_goes_on_with_other_ranks)
{
    train_on(1, run_path, kinds[_i], false, -1, ASC_OK);
    train_on(4, other_path, kinds[_i], false, 4, ASC_ERR_INTERRUPTED);
    train_on(1, other_path, kinds[_i], true, 3, ASC_ERR_INTERRUPTED);
    train_on(2, other_path, kinds[_i], true, -1, ASC_OK);
    check_same("metrics.jsonl");
    check_same("model.safetensors");
}
END_TEST

/* Data that only rank 0 can find. */
static const pair sent[][6] = {
    {{"tokenizer", "word"}, {NULL, NULL}},
    {{"tokenizer", "byte"}, {"carry", "6"}, {"pos_emb", "false"}, {"positions", "rotary"}, {NULL, NULL}},
    {{"data", "task:listops:length=30,min=1,train=70,valid=10,test=10"},
     {"head", "classifier"},
     {"block", "30"},
     {NULL, NULL}},
};
enum { SENT = sizeof sent / sizeof *sent };
static const pair nowhere[] = {{"data", "/nowhere/at/all"}, {"tokenizer", "wordpiece:/nowhere"}, {NULL, NULL}};

/* A text of its own for the run, and the settings that make it the data's, before more. */
static void add_text(const pair *more, char path[200], pair pairs[9])
{
    snprintf(path, 200, "%s/text", folder);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    for (int i = 0; i < 900; i++) {
        fprintf(f, "%s%d%s", i % 7 ? "word" : "other", i * i % 31, i % 10 == 9 ? "\n" : " ");
    }
    fclose(f);
    pairs[0][0] = "data";
    pairs[0][1] = path;
    pairs[1][0] = "data_from_rank";
    pairs[1][1] = "0";
    memcpy(pairs + 2, more, 6 * sizeof *more);
}

START_TEST(data_are_sent_by_one_rank)
{
    char path[200];
    pair pairs[9];
    add_text(sent[_i], path, pairs);
    train_on(1, run_path, pairs, false, -1, ASC_OK);
    for (int size = 2; size <= 4; size *= 2) {
        job j = {.size = size, .path = other_path, .pairs = pairs, .others = nowhere, .stop_at = 4, .dies_at = -1};
        run_job(&j);
        ck_assert_msg(j.rank[0].status == ASC_ERR_INTERRUPTED, "%s", j.rank[0].message);
        train_on(4 / size, other_path, NULL, true, -1, ASC_OK);
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        remove_tree(other_path);
    }
}
END_TEST

/* What goes wrong where they are read, or with one that they are sent to, ends all. */
START_TEST(data_that_can_t_be_sent_end_the_job)
{
    static const pair missing[] = {{"data_from_rank", "0"}, {"data", "/nowhere/at/all"}, {NULL, NULL}};
    static const pair wrong_init[] = {{"init", "/nowhere/at/all"}, {NULL, NULL}};
    static const pair reads[] = {{"data_from_rank", "-1"}, {NULL, NULL}};
    static const pair sends[] = {{"data_from_rank", "0"}, {NULL, NULL}};
    static const struct {
        const pair *pairs, *others;
        const char *message;
    } cases[] = {{missing, NULL, "/nowhere/at/all"},
                 {sends, wrong_init, "rank 1: /nowhere/at/all"},
                 {sends, reads, "rank 1: its settings are not those of rank 0: data_from_rank is -1, expected 0"},
                 {reads, sends, "rank 1: its settings are not those of rank 0: data_from_rank is 0, expected -1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        job j = {.size = 2,
                 .path = run_path,
                 .pairs = cases[i].pairs,
                 .others = cases[i].others,
                 .stop_at = -1,
                 .dies_at = -1};
        run_job(&j);
        ck_assert_int_eq(j.rank[0].status, ASC_ERR_IO);
        ck_assert_msg(strncmp(j.rank[0].message, cases[i].message, strlen(cases[i].message)) == 0, "%s",
                      j.rank[0].message);
        ck_assert(!has_file(run_path, "config.json"));
    }
}
END_TEST

static const struct {
    int size;
    pair pairs[2], odd[2];
    asc_status status;
    const char *message;
} wrong[] = {
    {3, {{"seed", "1"}}, {{NULL}}, ASC_ERR_ARG, "shards is 4, expected a multiple of the 3 processes"},
    {2, {{"lr", "-5"}}, {{NULL}}, ASC_ERR_ARG, "lr"},
    {2, {{"seed", "1"}}, {{"data", "builtin:4000"}}, ASC_ERR_IO, "rank 1: its data or vocabulary are not those"},
    {2, {{"seed", "1"}}, {{"lr", "0.5"}}, ASC_ERR_IO, "rank 1: its settings are not those of rank 0"},
    {4, {{"seed", "1"}}, {{"data", "/nowhere/at/all"}}, ASC_ERR_IO, "rank 3: /nowhere/at/all"},
};

START_TEST(what_is_wrong_is_said_once)
{
    job j = {.size = wrong[_i].size, .path = run_path, .pairs = wrong[_i].pairs, .odd = wrong[_i].odd, .stop_at = -1,
             .dies_at = -1};
    run_job(&j);
    ck_assert_int_eq(j.rank[0].status, wrong[_i].status);
    ck_assert_msg(strstr(j.rank[0].message, wrong[_i].message), "%s", j.rank[0].message);
    ck_assert(!has_file(run_path, "config.json"));
}
END_TEST

/* Whoever goes, and whenever: the others notice, and the run goes on to the same end. */
START_TEST(a_rank_that_goes_ends_the_job)
{
    static const pair every[] = {{"checkpoint_every", "1"}, {NULL, NULL}};
    train_on(1, run_path, every, false, -1, ASC_OK);
    job j = {.size = 4,
             .path = other_path,
             .pairs = every,
             .more = _i % 2 ? apart : NULL,
             .stop_at = -1,
             .dies_at = 12 + 9 * _i};
    run_job(&j);
    for (int i = 0; i < j.size; i++) {
        ck_assert_msg(j.rank[i].status == ASC_ERR_IO && j.rank[i].lost, "rank %d: %s", i, j.rank[i].message);
    }
    if (has_file(other_path, "config.json")) {
        train_on(2, other_path, NULL, true, -1, ASC_OK);
        check_same("metrics.jsonl");
        check_same("model.safetensors");
    }
}
END_TEST

/* What a step sends, and how long that takes by the model in doc/parallel.md: the difference between two runs. */
static const struct {
    int size;
    bool in_turns, divided;
} costs[] = {{2, false, false}, {4, false, false}, {8, false, false}, {2, true, false}, {4, true, false},
             {8, true, false},  {2, false, true},  {4, false, true},  {8, false, true}};
static const pair wide[] = {{"dim", "64"},   {"layers", "1"},        {"batch", "8"},
                            {"shards", "8"}, {"eval_every", "1000"}, {"checkpoint_every", "1000"},
                            {NULL, NULL}};

static void run_wide(job *j, int i, const char *steps)
{
    pair pairs[8];
    memcpy(pairs, wide, sizeof wide);
    pairs[6][0] = "steps";
    pairs[6][1] = steps;
    pairs[7][0] = NULL;
    *j = (job){.size = costs[i].size,
               .path = other_path,
               .pairs = pairs,
               .more = costs[i].divided ? apart : NULL,
               .in_turns = costs[i].in_turns,
               .stop_at = -1,
               .dies_at = -1};
    run_job(j);
    ck_assert_msg(j->rank[0].status == ASC_OK, "%s", j->rank[0].message);
}

/* The bytes of each rank's segment: equal, or those of whole tensors, the largest first to who has the least. */
static void find_segments(int size, bool is_divided, double own[MOST])
{
    char path[200];
    snprintf(path, sizeof path, "%s/model.safetensors", other_path);
    asc_safetensors *file = asc_safetensors_open(ctx, path);
    double bytes[40], all = 0;
    int n = (int)asc_safetensors_count(file);
    ck_assert(n > 0 && n <= 40);
    for (int i = 0; i < n; i++) {
        bytes[i] = (double)asc_safetensors_at(file, i)->bytes;
        all += bytes[i];
    }
    asc_safetensors_close(file);
    for (int r = 0; r < MOST; r++) {
        own[r] = is_divided || r >= size ? 0 : all / size;
    }
    for (int i = 0; is_divided && i < n; i++) {
        int largest = 0, least = 0;
        for (int k = 1; k < n; k++) {
            largest = bytes[k] > bytes[largest] ? k : largest;
        }
        for (int r = 1; r < size; r++) {
            least = own[r] < own[least] ? r : least;
        }
        own[least] += bytes[largest];
        bytes[largest] = 0;
    }
}

/* All pairs exchange the bytes that each rank sends. */
static void exchange_all(int size, int bit, bool in_turns, const double *bytes, double *clock)
{
    for (int r = 0; r < size; r++) {
        int other = r ^ bit;
        if (r < other) {
            double to_other = clock[r] + overhead + bytes[r] * per_byte;
            double first = fmax(clock[other], to_other) + overhead;
            double back = (in_turns ? first : clock[other]) + overhead + bytes[other] * per_byte;
            clock[r] = fmax(to_other, back) + overhead;
            clock[other] = in_turns ? back : fmax(to_other, back) + overhead;
        }
    }
}

/* What the ranks end with that agree with rank r in `bit` and the bits below: it goes on with that at this level. */
static double half_of(int size, int bit, int r, const double *own)
{
    double bytes = 0;
    for (int i = 0; i < size; i++) {
        bytes += ((i ^ r) & (2 * bit - 1)) == 0 ? own[i] : 0;
    }
    return bytes;
}

/* The time of a step by the model; and what each rank sends in it. */
static double predict(int size, bool in_turns, bool is_divided, const double *own, double *sent)
{
    enum { HEAD = 450, SQUARES = 200 };
    double clock[MOST] = {0}, heads[MOST], sums[MOST], halves[MOST], last = 0;
    for (int r = 0; r < size; r++) {
        heads[r] = HEAD;
        sums[r] = SQUARES;
        sent[r] = 0;
    }
    for (int way = 0; way < 2; way++) {
        for (int level = 1; level < size; level *= 2) {
            int bit = way == 0 ? level : size / 2 / level;
            for (int r = 0; r < size; r++) {
                halves[r] = half_of(size, bit, way == 0 ? r ^ bit : r, own);
                sent[r] += halves[r];
            }
            if (way == 1 && is_divided) {
                exchange_all(size, bit, in_turns, heads, clock);
                exchange_all(size, bit, in_turns, sums, clock);
            }
            exchange_all(size, bit, in_turns, heads, clock);
            exchange_all(size, bit, in_turns, halves, clock);
        }
    }
    for (int r = 0; r < size; r++) {
        last = fmax(last, clock[r]);
    }
    return last + log2(size) * (2 * overhead + HEAD * per_byte); /* the order to take the step */
}

START_TEST(a_step_costs_what_the_model_says)
{
    enum { FEW = 2, MORE = 6, STEPS = MORE - FEW };
    int size = costs[_i].size;
    job few, more;
    run_wide(&few, _i, "2");
    remove_tree(other_path);
    run_wide(&more, _i, "6");
    double own[MOST] = {0}, sent[MOST], last[2] = {0, 0};
    find_segments(size, costs[_i].divided, own);
    remove_tree(other_path);
    double expected = predict(size, costs[_i].in_turns, costs[_i].divided, own, sent);
    for (int r = 0; r < size; r++) {
        int64_t bytes = more.rank[r].bytes - few.rank[r].bytes, messages = more.rank[r].large - few.rank[r].large;
        ck_assert_msg(fabs((double)bytes - STEPS * sent[r]) < STEPS * 500,
                      "rank %d of %d: %g bytes a step, expected %g", r, size, (double)bytes / STEPS, sent[r]);
        ck_assert_int_eq(messages, STEPS * (int)(2 * log2(size)));
        last[0] = fmax(last[0], few.rank[r].clock);
        last[1] = fmax(last[1], more.rank[r].clock);
    }
    if (!costs[_i].divided) {
        ck_assert_double_eq_tol(sent[0], 2.0 * (size - 1) / size * 4 * (double)more.parameters, 1);
    }
    double got = (last[1] - last[0]) / STEPS;
    ck_assert_msg(fabs(got - expected) < 0.03 * expected, "%d ranks: %g s, expected %g", size, got, expected);
}
END_TEST

START_TEST(a_communicator_is_checked)
{
    const asc_comm wrong_rank = {.rank = 2, .size = 2, .send = send_to, .receive = receive_from};
    ck_assert_int_eq(asc_set_comm(ctx, &wrong_rank), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "set_comm: rank 2 of 2");
    ck_assert_int_eq(asc_set_comm(ctx, &(asc_comm){.rank = 0, .size = 2, .send = send_to}), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "set_comm: send or receive is NULL");
    ck_assert_int_eq(asc_set_comm(ctx, NULL), ASC_OK);
    ck_assert(!asc_comm_lost(ctx) && !asc_mpi_launched());
    asc_mpi_close(NULL);
    asc_mpi_abort(NULL, 3);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("ranks");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, any_number_of_ranks_makes_the_same_run, 0, KINDS);
    tcase_add_loop_test(t, a_run_goes_on_with_other_ranks, 0, KINDS - 1);
    tcase_add_loop_test(t, a_divided_optimizer_makes_the_same_run, 0, DIVIDED);
    tcase_add_loop_test(t, data_are_sent_by_one_rank, 0, SENT);
    tcase_add_test(t, data_that_can_t_be_sent_end_the_job);
    tcase_add_loop_test(t, what_is_wrong_is_said_once, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_loop_test(t, a_rank_that_goes_ends_the_job, 0, 6);
    tcase_add_loop_test(t, a_step_costs_what_the_model_says, 0, (int)(sizeof costs / sizeof *costs));
    tcase_add_test(t, a_communicator_is_checked);
    return run_suite("train/ranks", t);
}
