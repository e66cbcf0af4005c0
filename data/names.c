/* data/names.c: names of splits, of kinds of tokenizers and of data sources in specs. */
#include "data/names.h"

#include <string.h>

#include <ascgrad/data.h>

const char *asc_split_name(asc_split_kind kind)
{
    static const char *const names[] = {"train", "valid", "test"};
    return (unsigned)kind <= ASC_SPLIT_TEST ? names[kind] : NULL;
}

size_t asc_spec_pair(const char *list)
{
    const char *comma = list;
    while ((comma = strchr(comma, ','))) {
        size_t key = strspn(comma + 1, "abcdefghijklmnopqrstuvwxyz0123456789_");
        if (key == 0 ? !comma[1] || comma[1] == ',' : comma[1 + key] == '=') {
            return (size_t)(comma - list);
        }
        comma++;
    }
    return strlen(list);
}

bool asc_spec_names(const char *spec, const char *name)
{
    size_t n = strlen(name);
    return strncmp(spec, name, n) == 0 && (spec[n] == ':' || spec[n] == 0);
}

asc_status asc_name_check(asc_ctx *ctx, const char *who, const char *name)
{
    if (!name || !*name || strchr(name, ':')) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: the name is '%s', expected one without a colon", who, name ? name : "");
    }
    return ASC_OK;
}
