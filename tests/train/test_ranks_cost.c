/* tests/train/test_ranks_cost.c: what a step of several ranks sends, and how long that takes by the model in
 * doc/parallel.md: the difference between two runs. */
#include "tests/train/job.h"

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
        ck_assert_double_eq_tol(sent[0], 2.0 * (size - 1) / size * 4 * (double)more.rank[0].result.parameters, 1);
    }
    double got = (last[1] - last[0]) / STEPS;
    ck_assert_msg(fabs(got - expected) < 0.03 * expected, "%d ranks: %g s, expected %g", size, got, expected);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("ranks_cost");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_step_costs_what_the_model_says, 0, (int)(sizeof costs / sizeof *costs));
    return run_suite("train/ranks_cost", t);
}
