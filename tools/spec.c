/* tools/spec.c: see spec.h. */
#include "tools/spec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

void spec_paths(const char *spec, void (*visit)(void *user, const char *path), void *user)
{
    char *parts = spec ? strdup(spec) : NULL;
    if (!parts) {
        return;
    }
    visit(user, spec);
    for (char *colon = strchr(parts, ':'); colon; colon = strchr(colon + 1, ':')) {
        *colon = '\0'; /* a path may have colons: what stands before each may be one, and what follows */
        visit(user, parts);
        visit(user, spec + (colon + 1 - parts));
        *colon = ':';
    }
    for (char *equals = strchr(parts, '='); equals; equals = strchr(equals + 1, '=')) {
        for (char *end = equals + 1; *end; end++) { /* it may have commas, too */
            if (end[1] == ',' || !end[1]) {
                char after = end[1];
                end[1] = '\0';
                visit(user, equals + 1);
                end[1] = after;
            }
        }
    }
    for (char *part = strtok(parts, ":,="); part; part = strtok(NULL, ":,=")) {
        visit(user, part);
    }
    free(parts);
}

char *spec_folder(const char *path)
{
    struct stat info;
    char *folder = strdup(path);
    if (!folder || (stat(path, &info) == 0 && S_ISDIR(info.st_mode))) {
        return folder;
    }
    char *slash = strrchr(folder, '/');
    if (slash) {
        slash[slash == folder] = '\0';
        return folder;
    }
    free(folder);
    return strdup(".");
}

char *spec_of_run(const asc_run *run, const char *key)
{
    const char *json = run ? asc_run_setting(run, key) : NULL;
    json_t *value = json ? json_loads(json, JSON_DECODE_ANY, NULL) : NULL;
    const char *text = json_string_value(value);
    char *copy = text ? strdup(text) : NULL;
    json_decref(value);
    return copy;
}
