/* tools/inspect/mean.c: what several models of one shape, such as the seeds of a system, say on the average. */
#include "tools/inspect/inspect.h"

/* Moves each number of `to` by its n-th part towards that in the same place of `from`. */
static void move(json_t *to, const json_t *from, double n)
{
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_real(to) && json_is_number(from)) {
        json_real_set(to, json_real_value(to) + (json_number_value(from) - json_real_value(to)) / n);
    }
    json_object_foreach(to, key, value)
    {
        move(value, json_object_get(from, key), n);
    }
    json_array_foreach(to, i, value)
    {
        move(value, json_array_get(from, i), n);
    }
}

void inspect_add(inspection *in, const json_t *summary, int64_t n)
{
    move(in->summary, summary, (double)n);
    inspect_dominant(in);
}
