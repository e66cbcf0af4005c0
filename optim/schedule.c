/* optim/schedule.c: the learning rate over the steps. */
#include <math.h>

#include <ascgrad/optim.h>

double asc_lr_at(const asc_schedule *s, int64_t t)
{
    if (!s) {
        return 0;
    }
    if (t < s->warmup) {
        return s->lr * (double)(t + 1) / (double)s->warmup;
    }
    int64_t length = s->steps - s->warmup;
    double x = (double)(t - s->warmup) / (double)(length > 1 ? length : 1);
    x = x < 1 ? x : 1;
    switch (s->decay) {
    case ASC_DECAY_CONSTANT: return s->lr;
    case ASC_DECAY_LINEAR: return s->lr + (s->min_lr - s->lr) * x;
    case ASC_DECAY_COSINE: return s->min_lr + .5 * (s->lr - s->min_lr) * (1 + cos(3.14159265358979323846 * x));
    }
    return s->lr;
}
