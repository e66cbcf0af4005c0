/* tools/progress.h: how a training or an evaluation is getting on: a bar on a terminal that can redraw a line, plain
 * lines elsewhere. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <ascgrad/train.h>

typedef struct progress {
    bool terminal;
    bool shown;       /* a bar stands on the line */
    double last_s;    /* when it was drawn */
    bool told_unknown;
} progress;

progress progress_start(void);
void progress_show(progress *bar, const asc_train_progress *p);
/* The bar again, where time alone has gone on, or the terminal has another width. */
void progress_tick(progress *bar, const asc_train_progress *p);
/* The bar of something that only has a part that is done, 0 … 1. */
void progress_part(progress *bar, const char *what, double done);
/* The same as a callback of the library's, for a progress_watch; true. */
typedef struct progress_watch {
    progress bar;
    const char *what;
} progress_watch;
bool progress_watched(void *watch, double done);
/* Takes the bar away, so that a line may be printed. */
void progress_clear(progress *bar);
/* What that writes to a terminal, for a signal handler. */
extern const char progress_clearing[];
/* "1:02:03", "2:03", or `unknown` where the time is not known. */
const char *progress_time(double s, const char *unknown, char *text, size_t size);

#endif
