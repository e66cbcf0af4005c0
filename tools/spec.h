/* tools/spec.h: the files that a spec of data or of a tokenizer names, as NAME:PATH:KEY=VALUE,NAME=PATH. */
#ifndef TOOLS_SPEC_H
#define TOOLS_SPEC_H

#include <ascgrad/runs.h>

/* Visits the spec and each of its parts that may be the path of something; NULL has none. */
void spec_paths(const char *spec, void (*visit)(void *user, const char *path), void *user);

/* The folder of a RUN, or of a MODEL's file: to be freed; NULL without memory. */
char *spec_folder(const char *path);

/* A run's setting that is text, as "data": to be freed; NULL: there is none, or no run. */
char *spec_of_run(const asc_run *run, const char *key);

#endif
