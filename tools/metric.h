/* tools/metric.h: what the keys of metrics.jsonl mean, for figures and tables. */
#ifndef TOOLS_METRIC_H
#define TOOLS_METRIC_H

#include <stdbool.h>

/* "validation perplexity"; a key that has no other name is its own. */
const char *metric_title(const char *key);

/* Whether more of it is better, as of an accuracy. */
bool metric_rises(const char *key);

#endif
