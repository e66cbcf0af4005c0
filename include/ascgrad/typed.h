/*
 * ascgrad/typed.h: settings of models and mixings as structs, beside JSON text.
 *
 *     asc_lm *lm = asc_lm_new(ctx, ASC_CONFIG(ctx, ASC_MODEL(.layers = 6, .d_model = 256, .vocab = 256, .block = 128),
 *                                             ASC_ASCENDER(.heads = 8, .omega_sep = ASC_REALS(0.2))), ASC_F32, 1);
 *     asc_layer *layer = asc_layer_new(ctx, "grassmann", 64, ASC_CONFIG(ctx, ASC_GRASSMANN(.r = ASC_INTS(16))),
 *                                      ASC_F32, 1);
 *
 * ascgrad/typed_settings.h has a struct for the model and for each mixing, with a field for each setting, made from
 * the tables of settings. What a setting means is in doc/settings.md.
 *
 * A field that is 0, NULL, false or an empty list is not given: its default holds, and one that is required is missing.
 * A field that is a list of numbers or texts takes one value, or one for each layer or head where the setting may have
 * that. Where 0 or false may be wanted and is not the default, the field is such a list, too, for one value:
 * .pos_emb = ASC_BOOLS(false). A list by layer whose entries are lists, and lists by name, are for JSON text.
 *
 * C++ has no such literals. There a part is written out:
 *
 *     asc_linear_settings settings{};
 *     settings.heads = 2;
 *     settings.mask = ASC_LINEAR_MASK_FULL;
 *     const asc_typed part = {"linear", asc_linear_fields(), &settings};
 *     asc_layer *layer = asc_layer_new(ctx, "linear", 8, asc_typed_json(ctx, &part, 1), ASC_F32, 1);
 *
 * The structs are no part of the binary interface: each comes with a table of its fields, which is all that the library
 * sees of it.
 */
#ifndef ASCGRAD_TYPED_H
#define ASCGRAD_TYPED_H

#include <ascgrad/setting.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_bools {
    int64_t n;
    const bool *at;
} asc_bools;

typedef struct asc_texts {
    int64_t n;
    const char *const *at;
} asc_texts;

/* Lists where they are written, which live as long as the block that they stand in. C only. */
#define ASC_LIST_OF(list, type, ...) \
    ((list){(int64_t)(sizeof((type[]){__VA_ARGS__}) / sizeof(type)), (type[]){__VA_ARGS__}})
#define ASC_INTS(...) ASC_LIST_OF(asc_ints, int64_t, __VA_ARGS__)
#define ASC_REALS(...) ASC_LIST_OF(asc_reals, double, __VA_ARGS__)
#define ASC_BOOLS(...) ASC_LIST_OF(asc_bools, const bool, __VA_ARGS__)
#define ASC_TEXTS(...) ASC_LIST_OF(asc_texts, const char *const, __VA_ARGS__)

/* What a field is. */
typedef enum asc_field_kind {
    ASC_FIELD_INT = 1, /* int64_t */
    ASC_FIELD_REAL,    /* double */
    ASC_FIELD_BOOL,    /* bool */
    ASC_FIELD_TEXT,    /* const char * */
    ASC_FIELD_CHOICE,  /* an enum: 0, or 1 + which of the choices */
    ASC_FIELD_COUNT,   /* int64_t: a whole number, or ASC_SETTING_ALL for true */
    ASC_FIELD_INTS,    /* asc_ints, asc_reals, asc_bools, asc_texts: one value, or several */
    ASC_FIELD_REALS,
    ASC_FIELD_BOOLS,
    ASC_FIELD_TEXTS,
    ASC_FIELD_LIST,   /* asc_ints: a list in any case */
    ASC_FIELD_NAMES,  /* asc_texts: a list in any case */
    ASC_FIELD_TUPLES, /* asc_tuples: a list of lists of `size` numbers each */
} asc_field_kind;

typedef struct asc_field {
    const char *key; /* of the setting; NULL ends a table */
    asc_field_kind kind;
    size_t offset;              /* in the struct */
    const char *const *choices; /* of CHOICE: names, NULL at the end */
} asc_field;

/* The settings of an owner: "model", or a mixing, one of your own among them. */
typedef struct asc_typed {
    const char *owner;
    const asc_field *fields;
    const void *values; /* the struct */
} asc_typed;

/* The settings of all n parts as one JSON object, for asc_lm_new, asc_layer_new and asc_module_mixing, which check what
 * they mean; borrowed until the next call of it with this context. A model without `mix` beside one mixing has that.
 * NULL with the error set: ASC_ERR_ARG, an enum out of its range, a number that is not finite, a list without its
 * memory, a setting that two parts give different values; ASC_ERR_MEMORY. */
ASC_API const char *asc_typed_json(asc_ctx *ctx, const asc_typed *parts, int n);

/* That of parts where they are written, ASC_MODEL(.layers = 2, …), ASC_CONV(0), … C only. */
#define ASC_CONFIG(ctx, ...) \
    asc_typed_json(ctx, (const asc_typed[]){__VA_ARGS__}, (int)(sizeof((asc_typed[]){__VA_ARGS__}) / sizeof(asc_typed)))

#ifdef __cplusplus
}
#endif

#include <ascgrad/typed_settings.h>

#endif
