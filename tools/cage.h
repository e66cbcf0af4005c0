/*
 * tools/cage.h: a command that reads strangers' files gives up the right to open any others, where the kernel has
 * Landlock: a hole in what reads them then gives nobody the person's files.
 */
#ifndef TOOLS_CAGE_H
#define TOOLS_CAGE_H

#include <stdbool.h>

#define CLI_NO_CAGE(args) \
    {"no-cage", 0, NULL, CLI_FLAG, offsetof(args, no_cage), 0, 0, \
     "keep the right to open files that were not named, which is given up where the kernel has Landlock"}

/* What may still be opened. Each may be NULL. */
typedef struct cage {
    const char *model;     /* a RUN, or a MODEL and the files beside it */
    const char *data;      /* specs as train's --data and --tokenizer: the paths in them */
    const char *tokenizer;
    const char *input;     /* a file to read */
    const char *output;    /* a file to write: its folder */
    const char *other;     /* as `model` */
    const char *encoder;   /* its folder */
    bool reads_data;       /* the data that the run's config.json names, where `data` is NULL */
    bool reads_encoder;    /* the encoder that it names, where `encoder` is NULL; of a folder the files right in it */
    bool encodes;          /* what a run's encoder makes is kept in `cache`, or with NULL in the user's */
    const char *cache;
} cage;

/* Before threads are started. Without Landlock nothing happens. */
void cage_enter(const cage *c);

#endif
