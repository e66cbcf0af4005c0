/*
 * ascgrad/setting.h: what a setting is. Whoever has settings (a training, a model, a mixing) has one table of them and
 * a plain C struct of their values; from the table come the reading and checking, the program's options and their help,
 * the settings in effect that a run's config.json holds, and the reference doc/settings.md.
 *
 *     typedef struct values { int64_t width; int kind; } values;
 *     static const char *const kinds[] = {"near", "far", NULL};
 *     static const asc_setting settings[] = {
 *         {"width", ASC_SETTING_INT, offsetof(values, width), "8", .help = "tokens to each side", .min = 1, .max = 9},
 *         {"kind", ASC_SETTING_CHOICE, offsetof(values, kind), "near", .help = "what is looked at", .choices = kinds},
 *         {0},
 *     };
 */
#ifndef ASCGRAD_SETTING_H
#define ASCGRAD_SETTING_H

#include <ascgrad/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a setting's value is, and what stands at its place in the struct. */
typedef enum asc_setting_type {
    ASC_SETTING_INT = 1, /* int64_t */
    ASC_SETTING_REAL,    /* double */
    ASC_SETTING_BOOL,    /* bool */
    ASC_SETTING_CHOICE,  /* int: which of the choices; for one named "true" or "false" JSON's own stands, too */
    ASC_SETTING_TEXT,    /* const char * */
    ASC_SETTING_INTS,    /* asc_ints: a list of whole numbers, at most ASC_SETTING_LIST */
    ASC_SETTING_SET,     /* uint64_t: bit i for each choice i of a list of names; at most 64 choices */
    ASC_SETTING_COUNT,   /* int64_t: a whole number; or false, 0, or true, ASC_SETTING_ALL */
    ASC_SETTING_HEADS,   /* asc_ints: a list of names, of all heads or, as "NAME:HEAD", of one; two numbers a name,
                          * which choice and which head, or -1; at most 64 choices */
    ASC_SETTING_TUPLES,  /* asc_tuples: a list of lists of whole numbers, all of one length, at most ASC_SETTING_LIST of
                          * at most as many, as [[1, 2], [1, 4]]; [] is none */
} asc_setting_type;

enum { ASC_SETTING_LIST = 32 };
#define ASC_SETTING_ALL INT64_MIN

enum {
    ASC_SETTING_PER_LAYER = 1, /* may be a list with one value a layer; the struct has the layer's */
    ASC_SETTING_PER_HEAD = 2,  /* of numbers: may be a list with one a head, as many as the row `heads` before it says;
                                * the struct has asc_ints or asc_reals, of that length in any case. Not PER_LAYER */
    ASC_SETTING_REQUIRED = 4,  /* must be given; the default is what the program gives where its user does not */
    ASC_SETTING_ANEW = 8,      /* a run that is resumed may be given another value */
    ASC_SETTING_RARE = 16,     /* few want it: the program's --help-all has it, --help does not */
    ASC_SETTING_MINUTES = 32,  /* of REAL: a time in minutes; as text it may have units, "90s", "2h" */
    ASC_SETTING_NEUTRAL = 64,  /* where, how and for how long is computed, and what is told and kept of it: not what */
};

typedef struct asc_ints {
    int64_t n, *at;
} asc_ints;

typedef struct asc_reals {
    int64_t n;
    double *at;
} asc_reals;

typedef struct asc_tuples {
    int64_t n, *at; /* numbers in all, tuple after tuple */
    int64_t size;   /* of a tuple; 0 without one */
} asc_tuples;

/* A row of a table; a table ends with a row whose key is NULL. */
typedef struct asc_setting {
    const char *key; /* "d_model", in JSON and for --set; whoever has it means the same by it */
    asc_setting_type type;
    size_t offset;         /* in the struct of values */
    const char *fallback;  /* the default as text, "[1, 2]" for lists; NULL: it follows from other settings */
    const char *help;      /* one line, without the default */
    double min, max;       /* of numbers, both included */
    const char *const *choices; /* names, NULL at the end; of INTS: names that stand for lists */
    unsigned flags;        /* ASC_SETTING_PER_LAYER … */
    const char *option;    /* the program's option for it; NULL: the key of a training's setting, none of others */
    const char *argument;  /* what stands for its value in a help text: "N"; NULL: by its type */
    const char *follows;   /* for fallback NULL: what the default is, in words */
    const char *only;      /* "KEY=CHOICE", or "KEY=CHOICE|CHOICE": it belongs to that choice of a row before it, and
                            * with others is refused; or NULL */
    /* Of INTS with choices: the list that choice number `which` stands for in the `nth` layer of its owner; how many
     * numbers, at most ASC_SETTING_LIST. */
    int (*expand)(int which, int nth, int64_t *values);
    const char *group; /* the heading that the program's help has over the options of this row and of those after it, to
                        * the next row that has one; NULL in the first row: "Model" */
} asc_setting;

/* The settings of one owner. */
typedef struct asc_schema {
    const char *owner; /* "train", "model", or a mixing's name */
    const asc_setting *settings;
} asc_schema;

/* The row of a key; NULL if there is none, or an argument is NULL. */
ASC_API const asc_setting *asc_setting_find(const asc_setting *settings, const char *key);

#ifdef __cplusplus
}
#endif
#endif
