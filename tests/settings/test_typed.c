/* tests/settings/test_typed.c: settings as structs: the same as JSON text, field for field of the tables; what a struct
 * can't have is refused by name. */
#include <stdlib.h>
#include <string.h>

#include <ascgrad/ascgrad.h>

#include "tests/context.h"
#include "tests/faults.h"

/* What a layer has in effect for settings as a struct, and as text. */
static void expect_same_layer(const char *mixing, const char *typed, const char *json)
{
    asc_layer *a = asc_layer_new(ctx, mixing, 16, typed, ASC_F32, 1);
    no_error();
    asc_layer *b = asc_layer_new(ctx, mixing, 16, json, ASC_F32, 1);
    no_error();
    ck_assert_str_eq(asc_layer_config(a), asc_layer_config(b));
    asc_layer_free(a);
    asc_layer_free(b);
}

START_TEST(a_struct_says_what_the_text_says)
{
    expect_same_layer("transformer", ASC_CONFIG(ctx, ASC_TRANSFORMER(.heads = 2)), "{\"heads\": 2}");
    expect_same_layer("transformer",
                      ASC_CONFIG(ctx, ASC_TRANSFORMER(.heads = 4, .mask = ASC_TRANSFORMER_MASK_FULL, .window = 3,
                                                      .attn_cap = 2.5, .qk_norm = ASC_TRANSFORMER_QK_NORM_GAIN)),
                      "{\"heads\": 4, \"mask\": \"full\", \"window\": 3, \"attn_cap\": 2.5, \"qk_norm\": \"gain\"}");
    expect_same_layer("ascender",
                      ASC_CONFIG(ctx, ASC_ASCENDER(.heads = 2, .k = ASC_INTS(3, 5), .omega_sep = ASC_REALS(0),
                                                   .radius = ASC_INTS(0), .eta = ASC_BOOLS(false), .composed = true,
                                                   .freeze = ASC_TEXTS("tau_score", "omega_sep:1"),
                                                   .freeze_inert = ASC_ASCENDER_FREEZE_INERT_FALSE)),
                      "{\"heads\": 2, \"k\": [3, 5], \"omega_sep\": 0, \"radius\": 0, \"eta\": false, "
                      "\"composed\": true, \"freeze\": [\"tau_score\", \"omega_sep:1\"], \"freeze_inert\": false}");
    expect_same_layer("grassmann",
                      ASC_CONFIG(ctx, ASC_GRASSMANN(.r = ASC_INTS(4), .offsets = ASC_INTS(1), .learned = 2,
                                                    .memory = ASC_BOOLS(true), .eps = 1e-6)),
                      "{\"r\": 4, \"offsets\": [1], \"learned\": 2, \"memory\": true, \"eps\": 1e-6}");
    expect_same_layer("grassmann",
                      ASC_CONFIG(ctx, ASC_GRASSMANN(.r = ASC_INTS(4), .tuples = {4, (int64_t[]){1, 2, 1, 4}, 2})),
                      "{\"r\": 4, \"tuples\": [[1, 2], [1, 4]]}");
    expect_same_layer("grassmann",
                      ASC_CONFIG(ctx, ASC_GRASSMANN(.learned = ASC_SETTING_ALL, .pair = ASC_GRASSMANN_PAIR_PRODUCT)),
                      "{\"learned\": true, \"pair\": \"product\"}");
    expect_same_layer("conv", ASC_CONFIG(ctx, ASC_CONV(0)), "{}");
}
END_TEST

static void expect_same_model(const char *typed, const char *json)
{
    asc_lm *a = asc_lm_new(ctx, typed, ASC_F32, 1);
    no_error();
    asc_lm *b = asc_lm_new(ctx, json, ASC_F32, 1);
    no_error();
    ck_assert_str_eq(asc_lm_config(a), asc_lm_config(b));
    asc_lm_free(a);
    asc_lm_free(b);
}

START_TEST(a_model_with_its_mixings)
{
    expect_same_model(ASC_CONFIG(ctx, ASC_MODEL(.layers = 2, .d_model = 8, .vocab = 11, .block = 4,
                                                .pos_emb = ASC_BOOLS(false), .norm = ASC_MODEL_NORM_RMS),
                                 ASC_ASCENDER(.heads = 2, .k = ASC_INTS(2))),
                      "{\"mix\": \"ascender\", \"layers\": 2, \"d_model\": 8, \"vocab\": 11, \"block\": 4, "
                      "\"pos_emb\": false, \"norm\": \"rms\", \"heads\": 2, \"k\": 2}");
    expect_same_model(ASC_CONFIG(ctx, ASC_CONV(.inner = ASC_INTS(8, 4)),
                                 ASC_MODEL(.layers = 2, .d_model = 8, .vocab = 11, .block = 4)),
                      "{\"mix\": \"conv\", \"layers\": 2, \"d_model\": 8, \"vocab\": 11, \"block\": 4, "
                      "\"inner\": [8, 4]}");
    expect_same_model(ASC_CONFIG(ctx, ASC_MODEL(.layers = 2, .d_model = 8, .vocab = 11, .block = 4,
                                                .mix = ASC_TEXTS("transformer", "linear"),
                                                .mix_residual = ASC_BOOLS(true, false)),
                                 ASC_TRANSFORMER(.heads = 2, .window = 2), ASC_LINEAR(.heads = 2)),
                      "{\"mix\": [\"transformer\", \"linear\"], \"mix_residual\": [true, false], \"layers\": 2, "
                      "\"d_model\": 8, \"vocab\": 11, \"block\": 4, \"heads\": 2, \"window\": 2}");
}
END_TEST

START_TEST(what_a_struct_can_not_have)
{
    ck_assert_ptr_null(ASC_CONFIG(ctx, ASC_TRANSFORMER(.heads = 2), ASC_LINEAR(.heads = 4)));
    ck_assert_str_eq(asc_error_subject(ctx), "heads");
    expect_error(ASC_ERR_ARG,
                 "config: heads of linear is not that of another part: a setting is the same for all");
    ck_assert_ptr_null(ASC_CONFIG(ctx, ASC_LINEAR(.heads = 2, .mask = (asc_linear_mask)3)));
    expect_error(ASC_ERR_ARG, "config: mask of linear is no value that the field can have");
    ck_assert_ptr_null(ASC_CONFIG(ctx, ASC_ASCENDER(.heads = 2, .tau_sep = ASC_REALS(1, NAN))));
    expect_error(ASC_ERR_ARG, "config: tau_sep of ascender is no value that the field can have");
    ck_assert_ptr_null(ASC_CONFIG(ctx, ASC_ASCENDER(.heads = 2, .k = {2, NULL})));
    expect_error(ASC_ERR_ARG, "config: k of ascender is no value that the field can have");
    ck_assert_ptr_null(ASC_CONFIG(ctx, ASC_ASCENDER(.heads = 2, .k = {-1, NULL})));
    expect_error(ASC_ERR_ARG, "config: k of ascender is no value that the field can have");
    ck_assert_ptr_null(ASC_CONFIG(ctx, ASC_GRASSMANN(.tuples = {3, (int64_t[]){1, 2, 3}, 2})));
    expect_error(ASC_ERR_ARG, "config: tuples of grassmann is no value that the field can have");
    ck_assert_ptr_null(asc_typed_json(ctx, &(asc_typed){"model", NULL, NULL}, 1));
    expect_error(ASC_ERR_ARG, "typed_json: parts: owner, fields and values are needed");
    /* what it means is for who takes it; the first error stays */
    ck_assert_ptr_null(asc_layer_new(ctx, "transformer", 8, ASC_CONFIG(ctx, ASC_TRANSFORMER(0)), ASC_F32, 1));
    expect_error(ASC_ERR_ARG, "config: heads is missing");
    ck_assert_ptr_null(asc_layer_new(ctx, "conv", 8, ASC_CONFIG(ctx, ASC_CONV(.mask = (asc_conv_mask)9)), ASC_F32, 1));
    expect_error(ASC_ERR_ARG, "config: mask of conv is no value that the field can have");
}
END_TEST

/* ---- the structs and the tables ---- */

static const asc_field *fields_of(const char *owner)
{
    const asc_typed all[] = {ASC_MODEL(0), ASC_TRANSFORMER(0), ASC_GRASSMANN(0), ASC_ASCENDER(0), ASC_LINEAR(0),
                             ASC_CONV(0), ASC_RECURRENT(0)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i].owner, owner) == 0) {
            return all[i].fields;
        }
    }
    return NULL;
}

/* Whether a field of this kind can have all that the row may be, but for what only text can. */
static bool fits(const asc_field *f, const asc_setting *row)
{
    bool spread = row->flags & (ASC_SETTING_PER_LAYER | ASC_SETTING_PER_HEAD);
    switch (row->type) {
    case ASC_SETTING_INT: return f->kind == ASC_FIELD_INTS || (f->kind == ASC_FIELD_INT && !spread);
    case ASC_SETTING_REAL: return f->kind == ASC_FIELD_REALS || (f->kind == ASC_FIELD_REAL && !spread);
    case ASC_SETTING_BOOL: return f->kind == ASC_FIELD_BOOLS || (f->kind == ASC_FIELD_BOOL && !spread);
    case ASC_SETTING_TEXT: return f->kind == ASC_FIELD_TEXTS || (f->kind == ASC_FIELD_TEXT && !spread);
    case ASC_SETTING_CHOICE: return f->kind == ASC_FIELD_CHOICE;
    case ASC_SETTING_COUNT: return f->kind == ASC_FIELD_COUNT;
    case ASC_SETTING_INTS: return f->kind == ASC_FIELD_LIST;
    case ASC_SETTING_SET:
    case ASC_SETTING_HEADS: return f->kind == ASC_FIELD_NAMES;
    case ASC_SETTING_TUPLES: return f->kind == ASC_FIELD_TUPLES;
    }
    return false;
}

/* Whether 0, or false, is what the field can say, or the default. */
static bool has_zero(const asc_field *f, const asc_setting *row)
{
    bool by_default = row->fallback && (strcmp(row->fallback, "false") == 0 || strtod(row->fallback, NULL) == 0);
    bool number = row->type == ASC_SETTING_INT || row->type == ASC_SETTING_REAL;
    bool may_be = number ? row->min <= 0 && row->max >= 0 : row->type == ASC_SETTING_BOOL;
    bool plain = f->kind == ASC_FIELD_INT || f->kind == ASC_FIELD_REAL || f->kind == ASC_FIELD_BOOL;
    return !may_be || !plain || by_default;
}

START_TEST(each_setting_has_its_field)
{
    asc_schema schema;
    for (int i = 0; (schema = asc_lm_schema(NULL, i)).owner; i++) {
        const asc_field *f = fields_of(schema.owner);
        ck_assert_msg(f, "no struct for %s in fields_of", schema.owner);
        for (const asc_setting *row = schema.settings; row && row->key; row++, f++) {
            ck_assert_msg(f->key && strcmp(f->key, row->key) == 0, "%s: %s where the table has %s", schema.owner,
                          f->key ? f->key : "no more", row->key);
            ck_assert_msg(fits(f, row) && has_zero(f, row), "%s: %s is of another kind", schema.owner, row->key);
            for (int c = 0; row->type == ASC_SETTING_CHOICE && (row->choices[c] || f->choices[c]); c++) {
                ck_assert_str_eq(row->choices[c] ? row->choices[c] : "", f->choices[c] ? f->choices[c] : "");
            }
        }
        ck_assert_msg(!f->key, "%s: %s is no setting", schema.owner, f->key);
    }
}
END_TEST

/* ---- faults ---- */

static double make_layer(void)
{
    const char *text = ASC_CONFIG(ctx, ASC_TRANSFORMER(.heads = 2, .window = 3));
    asc_layer *layer = asc_layer_new(ctx, "transformer", 8, text, ASC_F32, 1);
    asc_layer_free(layer);
    return layer ? 1 : NAN;
}

START_TEST(any_allocation_may_fail)
{
    ck_assert_int_gt(fail_each_allocation(make_layer, false), 4);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("typed");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_test(t, a_struct_says_what_the_text_says);
    tcase_add_test(t, a_model_with_its_mixings);
    tcase_add_test(t, what_a_struct_can_not_have);
    tcase_add_test(t, each_setting_has_its_field);
    tcase_add_test(t, any_allocation_may_fail);
    return run_suite("typed", t);
}
