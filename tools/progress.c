/* tools/progress.c: a bar on a terminal, plain lines elsewhere; both on stderr. */
#include "tools/progress.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

progress progress_start(void)
{
    return (progress){.terminal = isatty(STDERR_FILENO)};
}

void progress_clear(progress *bar)
{
    if (bar->shown) {
        fputs("\r\033[K", stderr);
        bar->shown = false;
    }
}

/* "1:02:03", "2:03", or "-" where the time is not known. */
static const char *format_time(double s, char *text, size_t n)
{
    long long whole = isfinite(s) && s >= 0 ? (long long)(s + 0.5) : -1;
    if (whole < 0) {
        snprintf(text, n, "-");
    } else if (whole >= 3600) {
        snprintf(text, n, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    } else {
        snprintf(text, n, "%lld:%02lld", whole / 60, whole % 60);
    }
    return text;
}

/* Whether a bar may be drawn: not too often. */
static bool may_draw(progress *bar)
{
    double t = now();
    if (!bar->terminal || t - bar->last_s < 0.1) {
        return false;
    }
    bar->last_s = t;
    bar->shown = true;
    return true;
}

static void draw(double done)
{
    enum { WIDTH = 12 }; /* so that all of it fits in 80 columns */
    char cells[WIDTH + 1];
    for (int i = 0; i < WIDTH; i++) {
        cells[i] = i < (int)(done * WIDTH + 0.5) ? '#' : '.';
    }
    cells[WIDTH] = '\0';
    fprintf(stderr, "\r\033[K[%s] %3.0f %%", cells, 100 * done);
}

void progress_part(progress *bar, const char *what, double done)
{
    if (may_draw(bar)) {
        draw(done);
        fprintf(stderr, "  %s", what);
    }
}

/* "step 3/10"; a run resumed with fewer steps than are done has no end to tell. */
static void print_step(const asc_train_progress *p)
{
    fprintf(stderr, "step %lld", (long long)p->step);
    if (p->step <= p->steps) {
        fprintf(stderr, "/%lld", (long long)p->steps);
    }
}

static void show_step(progress *bar, const asc_train_progress *p)
{
    char left[32];
    format_time(p->left_s, left, sizeof left);
    if (may_draw(bar)) {
        draw((double)p->step / (double)p->steps);
        fprintf(stderr, "  %lld/%lld  loss %.4f  %.0f tokens/s  %s left", (long long)p->step, (long long)p->steps,
                p->loss, p->tokens_per_s, left);
    } else if (!bar->terminal && p->log) {
        print_step(p);
        fprintf(stderr, "  epoch %.2f  loss %.4f  lr %.3g  norm %.3f  %.0f tokens/s  %s left\n", p->epoch, p->loss,
                p->lr, p->grad_norm, p->tokens_per_s, left);
    }
}

void progress_show(progress *bar, const asc_train_progress *p)
{
    switch (p->phase) {
    case ASC_TRAIN_READY: break;
    case ASC_TRAIN_STEP: show_step(bar, p); break;
    case ASC_TRAIN_EVALUATING: progress_part(bar, "evaluating", p->evaluated); break;
    case ASC_TRAIN_EVALUATED:
        progress_clear(bar);
        print_step(p);
        fprintf(stderr, "  epoch %.2f  valid loss %.4f  perplexity %.3f  %.4f bits per byte", p->epoch, p->valid.loss,
                p->valid.ppl, p->valid.bits_per_byte);
        if (isfinite(p->valid.accuracy)) {
            fprintf(stderr, "  accuracy %.4f", p->valid.accuracy);
        }
        fprintf(stderr, "%s\n", p->valid.loss <= p->best_loss ? "  (best)" : "");
        break;
    }
}
