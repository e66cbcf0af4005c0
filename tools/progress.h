/* tools/progress.h: how a training or an evaluation is getting on: a bar on a terminal, plain lines elsewhere. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <ascgrad/train.h>

typedef struct progress {
    bool terminal;
    bool shown;     /* a bar stands on the line */
    double last_s;  /* when it was drawn */
} progress;

progress progress_start(void);
void progress_show(progress *bar, const asc_train_progress *p);
/* The bar of something that only has a part that is done, 0 … 1. */
void progress_part(progress *bar, const char *what, double done);
/* Takes the bar away, so that a line may be printed. */
void progress_clear(progress *bar);

#endif
