/* tools/profile.c: --profile: where the time of a training went, as tables on stderr and as a trace. */
#include "tools/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/plain.h"

enum { LONGEST = 15 }; /* rows of a table; the rest in one */

typedef struct view {
    asc_profile *profile;
    asc_profile_total total;
    double sgemm;
    int threads;
} view;

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* Milliseconds a step. */
static double each(const view *v, double seconds)
{
    return 1e3 * ratio(seconds, (double)v->total.steps);
}

/* ---- the columns at the end of every table: share, speeds, threads ---- */

static void print_head(const view *v, const char *share)
{
    cli_print_to(stderr, "%10s%9s%s%7s%s\n", share, "GFLOP/s", v->sgemm > 0 ? " of sgemm" : "", "GB/s",
                 v->threads > 1 ? "   busy" : "");
}

static void print_share(double part, double whole)
{
    cli_print_to(stderr, "%8.1f %%", 100 * ratio(part, whole));
}

/* "-" where there is nothing to count. */
static void print_rate(const char *format, int width, double rate)
{
    char text[32] = "-";
    if (rate > 0) {
        snprintf(text, sizeof text, format, rate);
    }
    cli_print_to(stderr, "%*s", width, text);
}

static void print_end(const view *v, const asc_profile_row *r, double whole)
{
    double gflops = 1e-9 * ratio(r->flops, r->seconds);
    print_share(r->seconds, whole);
    print_rate("%.1f", 9, gflops);
    if (v->sgemm > 0) {
        print_rate("%.0f %%", 9, 100 * gflops / v->sgemm);
    }
    print_rate("%.1f", 7, 1e-9 * ratio(r->bytes, r->seconds));
    if (v->threads > 1) {
        cli_print_to(stderr, "%5.0f %%", 100 * ratio(r->work, r->seconds * v->threads));
    }
    fputc('\n', stderr);
}

/* ---- the tables ---- */

static void print_total(const view *v)
{
    const asc_profile_total *t = &v->total;
    double gflops = 1e-9 * ratio(t->flops, t->step_seconds);
    cli_print_to(stderr, "profile: %lld step%s in %.2f s", (long long)t->steps, t->steps == 1 ? "" : "s", t->seconds);
    if (t->steps > 0) {
        cli_print_to(stderr, "; a step takes %.1f ms, at %.1f GFLOP/s", each(v, t->step_seconds), gflops);
    }
    if (t->steps > 0 && v->sgemm > 0) {
        cli_print_to(stderr, ", %.0f %% of sgemm's best here, %.1f", 100 * gflops / v->sgemm, v->sgemm);
    }
    if (t->steps > 0 && v->threads > 1) {
        cli_print_to(stderr, "; %d threads %.0f %% busy", v->threads,
                     100 * ratio(t->work, t->step_seconds * v->threads));
    }
    fputs("\n\n", stderr);
}

static void print_phases(const view *v)
{
    const asc_profile_row *row;
    int n = asc_profile_rows(v->profile, ASC_PROFILE_TABLE_PHASES, &row);
    double rest = v->total.seconds;
    cli_print_to(stderr, "%-24s%7s%11s%10s", "phase", "times", "seconds", "ms each");
    print_head(v, "of all");
    for (int i = 0; i < n; i++) {
        rest -= row[i].seconds;
        cli_print_to(stderr, "%-24s%7lld%11.3f%10.2f", row[i].name, (long long)row[i].calls, row[i].seconds,
                     1e3 * ratio(row[i].seconds, (double)row[i].calls));
        print_end(v, &row[i], v->total.seconds);
    }
    cli_print_to(stderr, "%-24s%7s%11.3f%10s", "other", "", rest, "");
    print_share(rest, v->total.seconds);
    cli_print_to(stderr, "\n%-24s%7s%11.3f%10s", "all", "", v->total.seconds, "");
    print_share(v->total.seconds, v->total.seconds);
    fputc('\n', stderr);
}

static void print_parts(const view *v)
{
    const asc_profile_row *row;
    int n = asc_profile_rows(v->profile, ASC_PROFILE_TABLE_PARTS, &row);
    cli_print_to(stderr, "\n%-20s%11s%11s%10s", "part of the model", "forward", "backward", "ms a step");
    print_head(v, "of step");
    for (int i = 0; i < n; i++) {
        cli_print_to(stderr, "%-20s%11.2f%11.2f%10.2f", row[i].name, each(v, row[i].by_pass[ASC_PASS_FORWARD]),
                     each(v, row[i].by_pass[ASC_PASS_BACKWARD] + row[i].by_pass[ASC_PASS_AGAIN]),
                     each(v, row[i].seconds));
        print_end(v, &row[i], v->total.step_seconds);
    }
}

static void print_op(const view *v, const char *name, const char *pass, const asc_profile_row *r)
{
    cli_print_to(stderr, "%-24s%-10s%8.1f%10.2f", name, pass, ratio((double)r->calls, (double)v->total.steps),
                 each(v, r->seconds));
    print_end(v, r, v->total.step_seconds);
}

static void add(asc_profile_row *sum, const asc_profile_row *r)
{
    sum->calls += r->calls;
    sum->seconds += r->seconds;
    sum->flops += r->flops;
    sum->bytes += r->bytes;
    sum->work += r->work;
}

static void print_ops(const view *v)
{
    static const char *const passes[] = {
        [ASC_PASS_FORWARD] = "forward", [ASC_PASS_AGAIN] = "again", [ASC_PASS_BACKWARD] = "backward",
    };
    const asc_profile_row *row;
    asc_profile_row all = {0}, rest = {0};
    int n = asc_profile_rows(v->profile, ASC_PROFILE_TABLE_OPS, &row);
    cli_print_to(stderr, "\n%-24s%-10s%8s%10s", "op", "", "calls", "ms a step");
    print_head(v, "of step");
    for (int i = 0; i < n; i++) {
        add(&all, &row[i]);
        if (i < LONGEST) {
            print_op(v, row[i].name, passes[row[i].pass], &row[i]);
        } else {
            add(&rest, &row[i]);
        }
    }
    if (n > LONGEST) {
        char text[40];
        snprintf(text, sizeof text, "%d others", n - LONGEST);
        print_op(v, text, "", &rest);
    }
    double between = v->total.step_seconds - all.seconds;
    cli_print_to(stderr, "%-42s%10.2f", "outside of ops", each(v, between));
    print_share(between, v->total.step_seconds);
    fputc('\n', stderr);
}

static void print_tables(const view *v)
{
    print_total(v);
    print_phases(v);
    if (v->total.steps > 0) {
        print_parts(v);
        print_ops(v);
    }
}

/* ---- beginning and end ---- */

/* A training must not run for hours to find at its end that the trace's folder is not there. */
static void check_place(const char *path)
{
    char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    struct stat there;
    if (slash) {
        slash[slash == folder] = 0;
    }
    bool exists = stat(path, &there) == 0, is_folder = exists && S_ISDIR(there.st_mode);
    int reason = is_folder ? EISDIR : access(slash ? folder : ".", W_OK) ? errno : 0;
    free(folder);
    if (exists && !is_folder && !S_ISREG(there.st_mode)) {
        cli_message("--profile: %s: is not a regular file", path);
        exit(CLI_IO);
    }
    if (reason) {
        cli_message("--profile: %s: %s", path, strerror(reason));
        exit(CLI_IO);
    }
}

asc_profile *profile_start(asc_ctx *ctx, const struct profile_args *args)
{
    if (!args->path) {
        if (cli_given_option("profile-steps", 13)) {
            cli_wrong_usage("--profile-steps: has no say without --profile FILE");
        }
        return NULL;
    }
    check_place(args->path);
    asc_profile *profile = asc_profile_new(ctx, args->traced);
    if (!profile) {
        exit(cli_report(ctx));
    }
    return profile;
}

int profile_finish(asc_ctx *ctx, asc_profile *profile, const struct profile_args *args, double sgemm)
{
    bool failed = asc_error(ctx) != ASC_OK;
    asc_profile_stop(profile);
    asc_error_clear(ctx);
    if (!profile || (failed && asc_profile_sum(profile).steps == 0)) {
        asc_profile_free(profile);
        return CLI_OK;
    }
    print_tables(&(view){profile, asc_profile_sum(profile), sgemm, asc_threads(ctx)});
    asc_profile_write(profile, args->path, sgemm);
    asc_profile_free(profile);
    return cli_report(ctx);
}
