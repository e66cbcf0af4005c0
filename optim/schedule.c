/* optim/schedule.c: the learning rate over the steps. */
#include <math.h>
#include <stdbool.h>

#include <ascgrad/optim.h>

#define PI 3.14159265358979323846

double asc_lr_at(const asc_schedule *s, int64_t t)
{
    if (!s) {
        return 0;
    }
    t = t > 0 ? t : 0;
    if (t < s->warmup) {
        return s->lr * (double)(t + 1) / (double)s->warmup;
    }
    bool wsd = s->decay == ASC_DECAY_WSD;
    int64_t from = wsd && s->steps - s->fall > s->warmup ? s->steps - s->fall : s->warmup, length = s->steps - from;
    double x = t < from ? 0 : length < 1 ? 1 : fmin((double)(t - from) / (double)length, 1);
    switch (s->decay) {
    case ASC_DECAY_CONSTANT: return s->lr;
    case ASC_DECAY_LINEAR: return s->lr + (s->min_lr - s->lr) * x;
    case ASC_DECAY_COSINE:
        return s->min_lr + .5 * (s->lr - s->min_lr) * (1 + cos(PI * x));
    case ASC_DECAY_WSD:
        return s->min_lr + (s->lr - s->min_lr) * (1 - sqrt(x));
    }
    return s->lr;
}
