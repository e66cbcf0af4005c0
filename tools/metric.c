/* tools/metric.c: see metric.h. */
#include "tools/metric.h"

#include <stddef.h>
#include <string.h>

static const struct metric {
    const char *key, *title;
    bool rises; /* the more the better */
} metrics[] = {
    {"valid_ppl", "validation perplexity", false},
    {"valid_loss", "validation loss (nats per token)", false},
    {"loss", "training loss (nats per token)", false},
    {"valid_bits_per_byte", "validation, bits per byte", false},
    {"accuracy", "training accuracy", true},
    {"valid_accuracy", "validation accuracy", true},
    {"valid_exact", "validation, exact matches", true},
    {"lr", "learning rate", false},
    {"grad_norm", "norm of the gradient", false},
    {"tokens_per_s", "tokens per second", true},
};

static const struct metric *find(const char *key)
{
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        if (strcmp(key, metrics[i].key) == 0) {
            return &metrics[i];
        }
    }
    return NULL;
}

const char *metric_title(const char *key)
{
    const struct metric *m = find(key);
    return m ? m->title : key;
}

bool metric_rises(const char *key)
{
    const struct metric *m = find(key);
    return m && m->rises;
}
