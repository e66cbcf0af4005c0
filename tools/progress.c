/* tools/progress.c: a bar on a terminal, plain lines elsewhere; both on stderr.
 *
 * A bar is cut to the width that the terminal has when it is drawn, and the cursor is put back to its beginning: where
 * a terminal that has become narrower folds it, all of it stands behind the cursor, and goes with the next drawing. */
#include "tools/progress.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/cli.h"
#include "tools/unknown.h"

#define DRAW_S 0.1 /* between two drawings */
#define TICK_S 1.  /* the same where only time has gone on */

const char progress_clearing[] = "\r\033[J"; /* to the end of the screen */

/* ---- the terminal ---- */

static volatile sig_atomic_t resized;

static void note_size(int number)
{
    (void)number;
    resized = 1;
}

/* A terminal without a name, or a dumb one, takes no control sequences. */
static bool can_redraw(void)
{
    const char *name = getenv("TERM");
    return isatty(STDERR_FILENO) && name && *name && strcmp(name, "dumb") != 0;
}

static size_t columns(void)
{
    struct winsize size;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
}

progress progress_start(void)
{
    progress bar = {.terminal = can_redraw() && !cli_quiet()};
    if (bar.terminal) {
        sigaction(SIGWINCH, &(struct sigaction){.sa_handler = note_size, .sa_flags = SA_RESTART}, NULL);
    }
    return bar;
}

void progress_clear(progress *bar)
{
    if (bar->shown) {
        fputs(progress_clearing, stderr);
        bar->shown = false;
    }
}

/* Whether a bar may be drawn: not too often. */
static bool may_draw(progress *bar, double pause)
{
    double t = cli_clock();
    if (!bar->terminal || (!resized && t - bar->last_s < pause)) {
        return false;
    }
    resized = 0;
    bar->last_s = t;
    return true;
}

/* ---- a line of parts ---- */

enum { MOST_PARTS = 6, PART = 72, CELLS = 12 };

/* What a bar says, in the order in which it stands there. */
typedef struct line {
    char part[MOST_PARTS][PART];
    int rank[MOST_PARTS]; /* the highest goes first where there is no room; 0 stays */
    int n;
} line;

static char *add(line *l, int rank)
{
    l->rank[l->n] = rank;
    return l->part[l->n++];
}

static void add_bar(line *l, double done)
{
    char cells[CELLS + 1];
    done = done > 1 ? 1 : done > 0 ? done : 0; /* 0 for what is no number, too */
    for (int i = 0; i < CELLS; i++) {
        cells[i] = i < (int)(done * CELLS + 0.5) ? '#' : '.';
    }
    cells[CELLS] = '\0';
    snprintf(add(l, 3), PART, "[%s]", cells);
    snprintf(add(l, 0), PART, "%3.0f %%", 100 * done);
}

/* The parts with two spaces between them, as long as there are some that may go and it is too long. */
static void join(line *l, char *text, size_t most)
{
    for (;;) {
        size_t n = 0;
        int last = 0, highest = 0;
        for (int i = 0; i < l->n; i++) {
            n += strlen(l->part[i]) + (i > 0 ? 2 : 0);
            last = l->rank[i] > highest ? i : last;
            highest = l->rank[i] > highest ? l->rank[i] : highest;
        }
        if (n <= most || highest == 0) {
            break;
        }
        l->n--;
        memmove(l->part[last], l->part[last + 1], (size_t)(l->n - last) * PART);
        memmove(l->rank + last, l->rank + last + 1, (size_t)(l->n - last) * sizeof *l->rank);
    }
    *text = '\0';
    for (int i = 0; i < l->n; i++) {
        strcat(strcat(text, i > 0 ? "  " : ""), l->part[i]);
    }
    text[most < strlen(text) ? most : strlen(text)] = '\0';
}

/* One write, so that nothing comes between its parts. A column stays free: some terminals fold a full line. */
static void draw(progress *bar, line *l)
{
    char text[MOST_PARTS * (PART + 2)];
    size_t width = columns();
    join(l, text, width > 1 ? width - 1 : 1);
    fprintf(stderr, "\r%s\033[J\r", text);
    bar->shown = true;
}

const char *progress_time(double s, const char *unknown, char *text, size_t size)
{
    long long whole = isfinite(s) && s >= 0 ? (long long)(s + 0.5) : -1;
    if (whole < 0) {
        snprintf(text, size, "%s", unknown);
    } else if (whole >= 3600) {
        snprintf(text, size, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    } else {
        snprintf(text, size, "%lld:%02lld", whole / 60, whole % 60);
    }
    return text;
}

/* ---- what it says ---- */

/* With a limit of time, the time; else the steps. A run resumed with fewer steps than are done has no end to tell. */
static void print_part(const asc_train_progress *p, char *text, size_t size)
{
    char spent[32], all[32];
    if (p->limit_s > 0) {
        progress_time(p->spent_s, "-", spent, sizeof spent);
        progress_time(isfinite(p->left_s) ? p->spent_s + p->left_s : p->limit_s, "-", all, sizeof all);
        snprintf(text, size, "%s of %s", spent, all);
    } else if (p->step <= p->steps) {
        snprintf(text, size, "%lld/%lld", (long long)p->step, (long long)p->steps);
    } else {
        snprintf(text, size, "%lld", (long long)p->step);
    }
}

static double part_done(const asc_train_progress *p)
{
    double end = isfinite(p->left_s) ? p->spent_s + p->left_s : p->limit_s;
    return p->limit_s > 0 ? p->spent_s / end : (double)p->step / (double)p->steps;
}

static void draw_step(progress *bar, const asc_train_progress *p)
{
    char left[32];
    line l = {.n = 0};
    add_bar(&l, part_done(p));
    print_part(p, add(&l, 2), PART);
    if (p->step > 0) {
        snprintf(add(&l, 1), PART, "loss %.4f", p->loss);
        snprintf(add(&l, 4), PART, "%.0f tokens/s", p->tokens_per_s);
    }
    if (!(p->limit_s > 0)) {
        snprintf(add(&l, 0), PART, "%s left", progress_time(p->left_s, "-", left, sizeof left));
    }
    draw(bar, &l);
}

static void draw_evaluation(progress *bar, const asc_train_progress *p)
{
    char left[32];
    line l = {.n = 0};
    add_bar(&l, p->evaluated);
    snprintf(add(&l, 1), PART, "evaluating");
    snprintf(add(&l, 2), PART, "%s left", progress_time(p->left_s, "-", left, sizeof left));
    draw(bar, &l);
}

void progress_part(progress *bar, const char *what, double done)
{
    if (may_draw(bar, DRAW_S)) {
        line l = {.n = 0};
        add_bar(&l, done);
        snprintf(add(&l, 1), PART, "%s", what);
        draw(bar, &l);
    }
}

bool progress_watched(void *watch, double done)
{
    progress_watch *w = watch;
    progress_part(&w->bar, w->what, done);
    return true;
}

void progress_tick(progress *bar, const asc_train_progress *p)
{
    if (may_draw(bar, TICK_S)) {
        if (p->phase == ASC_TRAIN_PHASE_EVALUATING) {
            draw_evaluation(bar, p);
        } else {
            draw_step(bar, p);
        }
    }
}

/* "step 3/10", with a limit of time "step 3". */
static void print_step(const asc_train_progress *p)
{
    cli_print_to(stderr, "step %lld", (long long)p->step);
    if (p->step <= p->steps && !(p->limit_s > 0)) {
        cli_print_to(stderr, "/%lld", (long long)p->steps);
    }
}

static void show_step(progress *bar, const asc_train_progress *p)
{
    char left[32];
    if (cli_verbose() || (!bar->terminal && p->log && !cli_quiet())) {
        progress_clear(bar);
        print_step(p);
        cli_print_to(stderr, "  epoch %.2f  loss %.4f  lr %.3g  norm %.3f  %.0f tokens/s  %s left\n", p->epoch, p->loss,
                     p->lr, p->grad_norm, p->tokens_per_s, progress_time(p->left_s, "-", left, sizeof left));
    } else if (may_draw(bar, DRAW_S)) {
        draw_step(bar, p);
    }
}

/* Of classes, one a sequence, perplexity and bits per byte say nothing. */
static void print_evaluation(const asc_train_progress *p)
{
    const asc_eval_result *r = &p->valid;
    char unknown[40];
    cli_print_to(stderr, "  epoch %.2f  valid loss %.4f", p->epoch, r->loss);
    if (r->tokens != r->sequences) {
        cli_print_to(stderr, "  perplexity %.3f  %.4f bits per byte%s", r->ppl, r->bits_per_byte,
                     unknown_share(r->unknown, unknown, sizeof unknown));
    }
    if (r->sequences > 0) {
        cli_print_to(stderr, "  accuracy %.4f", r->accuracy);
    }
    cli_print_to(stderr, "%s\n", p->step == p->best_step ? "  (best)" : "");
}

static void show_evaluation(progress *bar, const asc_train_progress *p)
{
    progress_clear(bar);
    if (!cli_quiet()) {
        print_step(p);
        print_evaluation(p);
    }
    if (!bar->told_unknown) {
        unknown_warn(p->valid.unknown);
        bar->told_unknown = true;
    }
}

void progress_show(progress *bar, const asc_train_progress *p)
{
    switch (p->phase) {
    case ASC_TRAIN_PHASE_READY: break;
    case ASC_TRAIN_PHASE_STEP: show_step(bar, p); break;
    case ASC_TRAIN_PHASE_EVALUATING:
        if (may_draw(bar, DRAW_S)) {
            draw_evaluation(bar, p);
        }
        break;
    case ASC_TRAIN_PHASE_EVALUATED: show_evaluation(bar, p); break;
    }
}
