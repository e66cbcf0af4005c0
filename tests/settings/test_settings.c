/* tests/settings/test_settings.c: tables of settings, and values by them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <program/names.h>
#include <program/settings.h>

#include "settings/reader.h"
#include "tensor/ctx.h"
#include "tests/context.h"

typedef struct values {
    int64_t heads, width, count;
    double rate, span;
    bool flag, inner;
    int kind, when;
    const char *text;
    asc_ints list, each, some;
    asc_reals scale;
    asc_tuples pairs;
    uint64_t set;
} values;

#define AT(field) offsetof(values, field)

static const char *const kinds[] = {"near", "far", NULL}, *const names[] = {"one", "two", "three", NULL};
static const char *const lists[] = {"steps", NULL}, *const whens[] = {"false", "true", "late", NULL};

static int expand(int which, int nth, int64_t *to)
{
    to[0] = 10 * which + nth;
    to[1] = 7;
    return 2;
}

static const asc_setting table[] = {
    {"heads", ASC_SETTING_INT, AT(heads), "2", .help = "heads", .min = 1, .max = 8, .flags = ASC_SETTING_REQUIRED},
    {"width", ASC_SETTING_INT, AT(width), "3", .help = "w", .min = 1, .max = 9, .flags = ASC_SETTING_PER_LAYER},
    {"count", ASC_SETTING_COUNT, AT(count), "false", .help = "c", .max = 5},
    {"rate", ASC_SETTING_REAL, AT(rate), "0.5", .help = "r", .min = 0, .max = 1},
    {"span", ASC_SETTING_REAL, AT(span), "1", .help = "s", .max = 100, .flags = ASC_SETTING_MINUTES},
    {"flag", ASC_SETTING_BOOL, AT(flag), "true", .help = "f"},
    {"kind", ASC_SETTING_CHOICE, AT(kind), "near", .help = "k", .choices = kinds},
    {"inner", ASC_SETTING_BOOL, AT(inner), "true", .help = "i", .only = "kind=far"},
    {"text", ASC_SETTING_TEXT, AT(text), "none", .help = "t"},
    {"list", ASC_SETTING_INTS, AT(list), "[1, 2]", .help = "l", .min = 0, .max = 99, .choices = lists,
     .flags = ASC_SETTING_PER_LAYER, .expand = expand},
    {"each", ASC_SETTING_INT, AT(each), "4", .help = "e", .max = 9, .flags = ASC_SETTING_PER_HEAD},
    {"scale", ASC_SETTING_REAL, AT(scale), "1", .help = "s", .min = -1e9, .max = 1e9, .flags = ASC_SETTING_PER_HEAD},
    {"set", ASC_SETTING_SET, AT(set), "[\"two\"]", .help = "s", .choices = names},
    {"some", ASC_SETTING_HEADS, AT(some), "[]", .help = "s", .choices = names, .flags = ASC_SETTING_PER_LAYER},
    {"pairs", ASC_SETTING_TUPLES, AT(pairs), "[]", .help = "p", .min = 1, .max = 9, .flags = ASC_SETTING_PER_LAYER},
    {"when", ASC_SETTING_CHOICE, AT(when), "true", .help = "w", .choices = whens},
    {0},
};

static const asc_place second = {.layer = 1, .layers = 3, .nth = 1};

/* The settings in effect, to be freed; NULL with the error set. */
static char *read_text(const char *text, values *v)
{
    asc_reader r;
    char *effect = NULL;
    *v = (values){0};
    if (asc_reader_open(&r, ctx, text) == ASC_OK) {
        if (asc_reader_read(&r, table, &second, v) == ASC_OK && asc_reader_note(&r, table, &second, v) == ASC_OK &&
            asc_reader_finish(&r) == ASC_OK) {
            effect = asc_reader_text(&r);
        }
        asc_reader_close(&r);
    }
    return effect;
}

START_TEST(defaults_stand_where_nothing_is_given)
{
    values v;
    char *effect = read_text("{\"heads\": 2}", &v);
    no_error();
    ck_assert_str_eq(effect, "{\"count\":false,\"each\":4,\"flag\":true,\"heads\":2,\"kind\":\"near\",\"list\":[1,2],"
                             "\"pairs\":[],\"rate\":0.5,\"scale\":1.0,\"set\":[\"two\"],\"some\":[],"
                             "\"span\":1.0,\"text\":\"none\",\"when\":true,\"width\":3}");
    ck_assert(v.each.n == 2 && v.each.at[1] == 4 && v.scale.n == 2 && v.scale.at[1] == 1 && v.set == 2);
    ck_assert(v.list.n == 2 && v.list.at[1] == 2 && v.flag && v.kind == 0 && !v.inner && v.count == 0);
    ck_assert_str_eq(v.text, "none");
    free(effect);
    asc_values_clear(ctx, table, &v);
    ck_assert(!v.text && !v.each.at && !v.list.at && !v.pairs.at);
}
END_TEST

/* So that a run that is resumed finds the numbers that it began with. */
START_TEST(numbers_have_the_digits_of_config_json)
{
    values v;
    char *effect = read_text("{\"heads\": 2, \"rate\": 0.12345678901234567, \"scale\": [0.33333333333333331, 1]}", &v);
    no_error();
    ck_assert(v.rate == 0.123456789012346 && v.scale.at[0] == 0.333333333333333 && v.scale.at[1] == 1);
    free(effect);
    asc_values_clear(ctx, table, &v);
    effect = read_text("{\"heads\": 2, \"rate\": -0.1}", &v);
    ck_assert_ptr_null(effect);
    expect_error_with(ASC_ERR_ARG, "rate: got -0.1, expected ");
    asc_values_clear(ctx, table, &v);
}
END_TEST

START_TEST(what_is_given_is_taken_and_noted_as_it_was)
{
    static const char all[] = "{\"count\":true,\"each\":[3,5,0],\"flag\":false,\"heads\":3,\"inner\":false,"
                              "\"kind\":\"far\",\"list\":[[],[8,9],[1]],"
                              "\"pairs\":[[[1]],[[2,3],[4,5]],[]],\"rate\":1.0,\"scale\":[1,2.5,-3],"
                              "\"set\":[\"one\",\"three\"],\"some\":[\"two\",\"one:12\"],\"span\":1.0,\"text\":\"x\","
                              "\"when\":\"late\",\"width\":[1,2,3]}";
    values v;
    char *effect = read_text(all, &v);
    no_error();
    ck_assert_str_eq(effect, all);
    ck_assert(v.count == ASC_SETTING_ALL && v.each.at[1] == 5 && !v.flag && v.kind == 1 && v.rate == 1);
    ck_assert(v.list.n == 2 && v.list.at[0] == 8 && v.scale.at[2] == -3 && v.set == 5 && v.width == 2);
    ck_assert(v.some.n == 4 && v.some.at[0] == 1 && v.some.at[1] == -1 && v.some.at[2] == 0 && v.some.at[3] == 12);
    ck_assert(v.when == 2 && v.pairs.n == 4 && v.pairs.size == 2 && v.pairs.at[3] == 5);
    free(effect);
    asc_values_clear(ctx, table, &v);
}
END_TEST

/* Names with heads, one list a layer; and choices that JSON has a word of its own for. */
START_TEST(names_may_have_heads)
{
    values v;
    char *effect = read_text("{\"heads\":1,\"some\":[[],[\"three:0\"],[\"one\"]],\"when\":false}", &v);
    no_error();
    ck_assert(v.some.n == 2 && v.some.at[0] == 2 && v.some.at[1] == 0 && v.when == 0);
    ck_assert_ptr_nonnull(strstr(effect, "\"some\":[[],[\"three:0\"],[\"one\"]]"));
    ck_assert_ptr_nonnull(strstr(effect, "\"when\":false"));
    free(effect);
    asc_values_clear(ctx, table, &v);
}
END_TEST

START_TEST(a_name_stands_for_the_layers_list)
{
    values v;
    char *effect = read_text("{\"heads\":1,\"list\":\"steps\"}", &v);
    no_error();
    ck_assert(v.list.n == 2 && v.list.at[0] == 1 && v.list.at[1] == 7);
    ck_assert_ptr_nonnull(strstr(effect, "\"list\":[[],[1,7],[]]")); /* the others are not this owner's */
    free(effect);
    asc_values_clear(ctx, table, &v);
}
END_TEST

/* One list of tuples for all layers, or one a layer; a layer's may be empty, a tuple not. */
START_TEST(lists_of_tuples)
{
    static const struct {
        const char *given;
        int64_t n, size, first;
    } lists[] = {
        {"[[1,2],[1,4]]", 4, 2, 1}, {"[[7]]", 1, 1, 7}, {"[]", 0, 0, 0},       {"[[[1]],[[2,3]],[]]", 2, 2, 2},
        {"[[[1]],[],[]]", 0, 0, 0}, {"[[],[],[]]", 0, 0, 0}, {"[[],[[5]],[]]", 1, 1, 5},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char text[100], noted[100];
        values v;
        snprintf(text, sizeof text, "{\"heads\":1,\"pairs\":%s}", lists[i].given);
        snprintf(noted, sizeof noted, "\"pairs\":%s,", lists[i].given);
        char *effect = read_text(text, &v);
        no_error();
        ck_assert(v.pairs.n == lists[i].n && v.pairs.size == lists[i].size);
        ck_assert(v.pairs.n == 0 || v.pairs.at[0] == lists[i].first);
        ck_assert_ptr_nonnull(strstr(effect, noted));
        free(effect);
        asc_values_clear(ctx, table, &v);
    }
}
END_TEST

#define TUPLES "a list of at most 32 lists of whole numbers, as [[1,2],[1,4]], or one such list a layer"

static const struct {
    const char *text, *subject, *message;
} wrong[] = {
    {"{\"heads\":2,\"pairs\":3}", "pairs", "pairs: got 3, expected " TUPLES},
    {"{\"heads\":2,\"pairs\":[1,2]}", "pairs", "pairs: got 1, expected " TUPLES},
    {"{\"heads\":2,\"pairs\":[[1],[]]}", "pairs", "pairs: got [], expected " TUPLES},
    {"{\"heads\":2,\"pairs\":[[1,2],[3]]}", "pairs", "pairs has lists of 2 and of 1 numbers, expected one length"},
    {"{\"heads\":2,\"pairs\":[[1,10]]}", "pairs", "pairs: got 10, expected a whole number from 1 to 9"},
    {"{\"heads\":2,\"pairs\":[[1,2.5]]}", "pairs", "pairs: got 2.5, expected a whole number from 1 to 9"},
    {"{\"heads\":2,\"pairs\":[[[1]],[[2]]]}", "pairs", "pairs has 2 entries, expected one a layer: 3"},
    {"{\"heads\":2,\"pairs\":[[[1]],[2],[]]}", "pairs", "pairs: got 2, expected " TUPLES},
    {"{\"heads\":2,\"pairs\":[[[1]],[[[2]]],[]]}", "pairs", "pairs: got [2], expected a whole number from 1 to 9"},
    {"{}", "heads", "heads is missing"},
    {"{\"head\":2}", "heads", "heads is missing; is it meant by 'head'?"},
    {"{\"head\":\"two\"}", "heads", "heads is missing"},
    {"{\"heads\":9}", "heads", "heads: got 9, expected a whole number from 1 to 8"},
    {"{\"heads\":\"2\"}", "heads", "heads: got \"2\", expected a whole number from 1 to 8"},
    {"{\"heads\":2,\"width\":[1,2]}", "width", "width has 2 entries, expected one a layer: 3"},
    {"{\"heads\":2,\"width\":[1,2,10]}", "width", "width: got 10, expected a whole number from 1 to 9"},
    {"{\"heads\":2,\"each\":[1,2,3]}", "each", "each has 3 entries, expected one a head: 2"},
    {"{\"heads\":2,\"some\":[\"one:\"]}", "some",
     "some: got \"one:\", expected one of one, two, three; did you mean 'one'?"},
    {"{\"heads\":2,\"some\":[\"one:-1\"]}", "some",
     "some: got \"one:-1\", expected one of one, two, three"},
    {"{\"heads\":2,\"some\":[\"four:1\"]}", "some",
     "some: got \"four:1\", expected one of one, two, three"},
    {"{\"heads\":2,\"when\":1}", "when", "when: got 1, expected one of false, true, late"},
    {"{\"heads\":2,\"scale\":[1,true]}", "scale", "scale: got true, expected a number"},
    {"{\"heads\":2,\"rate\":[0.5]}", "rate", "rate: got [0.5], expected a number from 0 to 1"},
    {"{\"heads\":2,\"flag\":1}", "flag", "flag: got 1, expected true or false"},
    {"{\"heads\":2,\"count\":6}", "count", "count: got 6, expected true, false or a whole number"},
    {"{\"heads\":2,\"text\":5}", "text", "text: got 5, expected a text in UTF-8"},
    {"{\"heads\":2,\"kind\":\"fra\"}", "kind", "kind: got \"fra\", expected one of near, far; did you mean 'far'?"},
    {"{\"heads\":2,\"inner\":true}", "inner", "inner belongs to kind far"},
    {"{\"heads\":2,\"set\":\"tow\"}", "set", "set: got \"tow\", expected a list of names, as [\"two\"]"},
    {"{\"heads\":2,\"set\":[\"tow\"]}", "set",
     "set: got \"tow\", expected one of one, two, three; did you mean 'two'?"},
    {"{\"heads\":2,\"list\":\"step\"}", "list",
     "list: got \"step\", expected a list of at most 32 whole numbers, as [1,2,4], or one such list a layer, or one of "
     "steps"},
    {"{\"heads\":2,\"list\":[[1],2,[3]]}", "list",
     "list: got 2, expected a list of at most 32 whole numbers, as [1,2,4], or one such list a layer, or one of "
     "steps"},
    {"{\"heads\":2,\"list\":[100]}", "list", "list: got 100, expected a whole number from 0 to 99"},
    {"{\"heads\":2,\"hedas\":2}", NULL, "unknown setting 'hedas'; did you mean 'heads'?"},
    {"{\"heads\":2,}", NULL, "line 1, column 12: string or '}' expected near '}'"},
    {"3", NULL, "line 1, column 1: '[' or '{' expected near '3'"},
    {"[3]", NULL, "got another value than an object, expected a JSON object"},
};

START_TEST(wrong_values_are_refused)
{
    values v;
    ck_assert_ptr_null(read_text(wrong[_i].text, &v));
    const char *subject = asc_error_subject(ctx);
    ck_assert_str_eq(asc_error_message(ctx), wrong[_i].message);
    ck_assert_str_eq(subject ? subject : "", wrong[_i].subject ? wrong[_i].subject : "");
    ck_assert_int_eq(asc_error(ctx), ASC_ERR_ARG);
    asc_values_clear(ctx, table, &v);
}
END_TEST

/* A file may hold any value: a message shows the beginning of a long one, whole characters. */
START_TEST(long_values_are_shown_in_part)
{
    for (int shift = 0; shift < 4; shift++) {
        char text[2000];
        snprintf(text, sizeof text, "{\"heads\":2,\"kind\":\"%.*s", shift, "abc");
        for (int i = 0; i < 300; i++) {
            strcat(text, "\u00fc\u20ac");
        }
        strcat(text, "\"}");
        values v;
        ck_assert_ptr_null(read_text(text, &v));
        const char *message = asc_error_message(ctx), *cut = strstr(message, "...");
        ck_assert_msg(cut && strstr(cut, "..., expected one of near, far") == cut, "%s", message);
        ck_assert_int_lt(strlen(message), 250);
        json_t *whole = json_string(message); /* NULL for what is no UTF-8 */
        ck_assert_ptr_nonnull(whole);
        json_decref(whole);
        asc_error_clear(ctx);
        asc_values_clear(ctx, table, &v);
    }
}
END_TEST

/* Text of a command line: what it is as JSON, or why it is refused. */
static const struct {
    const char *key, *text, *json, *message;
} texts[] = {
    {"heads", "3", "3", NULL},
    {"heads", "1.5", NULL, "my-heads: got '1.5', expected a whole number from 1 to 8"},
    {"heads", "9", NULL, "my-heads: got '9', expected a whole number from 1 to 8"},
    {"heads", "", NULL, "my-heads: got '', expected a whole number from 1 to 8"},
    {"rate", "1e-3", "0.001", NULL},
    {"rate", "nan", NULL, "my-rate: got 'nan', expected a number from 0 to 1"},
    {"flag", "false", "false", NULL},
    {"flag", "no", NULL, "my-flag: got 'no', expected true or false"},
    {"kind", "far", "\"far\"", NULL},
    {"kind", "fra", NULL, "my-kind: got 'fra', expected one of near, far; did you mean 'far'?"},
    {"text", "3", "\"3\"", NULL},
    {"list", "[1,2]", "[1,2]", NULL},
    {"list", "steps", "\"steps\"", NULL},
    {"width", "[1,2]", "[1,2]", NULL},
    {"pairs", "[[1, 2], [3, 4]]", "[[1,2],[3,4]]", NULL},
    {"scale", ".5", "0.5", NULL},
    {"set", "[\"one\"]", "[\"one\"]", NULL},
    {"count", "true", "true", NULL},
    {"count", "3e0", "3", NULL},
    {"heads", "5e0", "5", NULL},
    {"heads", "1k", NULL, "my-heads: got '1k', expected a whole number from 1 to 8"},
    {"rate", "0.1k", NULL, "my-rate: got '0.1k', expected a number from 0 to 1"},
    {"span", "90s", "1.5", NULL},
    {"span", "2", "2.0", NULL},
    {"span", "1d", NULL,
     "my-span: got '1d', expected a time, as 90s, 30m or 2h, or a number of minutes from 0 to 100"},
};

/* Numbers as people write them; NAN: refused. */
static const struct {
    const char *text;
    double count, real, minutes;
} numbers[] = {
    {"0", 0, 0, 0}, {"250", 250, 250, 250}, {"-3", -3, -3, -3}, {"+5", 5, 5, 5}, {"1e4", 1e4, 1e4, 1e4},
    {"2.5e3", 2500, 2500, 2500}, {"1.5k", 1500, NAN, NAN}, {"2M", 2e6, NAN, NAN}, {".5k", 500, NAN, NAN},
    {"10K", 1e4, NAN, NAN}, {"1.5", NAN, 1.5, 1.5}, {"1.50e1", 15, 15, 15}, {"1e-3", NAN, 1e-3, 1e-3},
    {"1.0", 1, 1, 1}, {"1.0005k", NAN, NAN, NAN}, {"90s", NAN, NAN, 1.5}, {"30m", NAN, NAN, 30}, {"2h", NAN, NAN, 120},
    {"1.5h", NAN, NAN, 90}, {"1h30m", NAN, NAN, 90}, {"1h30", NAN, NAN, NAN}, {"2d", NAN, NAN, NAN},
    {"", NAN, NAN, NAN}, {" 1", NAN, NAN, NAN}, {"1 ", NAN, NAN, NAN}, {"1,000", NAN, NAN, NAN}, {"k", NAN, NAN, NAN},
    {".", NAN, NAN, NAN}, {"-", NAN, NAN, NAN}, {"e4", NAN, NAN, NAN}, {"1e", NAN, NAN, NAN}, {"1e99", NAN, 1e99, 1e99},
    {"0x10", NAN, NAN, NAN}, {"nan", NAN, NAN, NAN}, {"inf", NAN, NAN, NAN}, {"1e999", NAN, NAN, NAN},
    {"9223372036854775807", NAN, 9223372036854775807.0, 9223372036854775807.0}, {"1kk", NAN, NAN, NAN},
    {"1e4k", NAN, NAN, NAN}, {"100000000000M", 1e17, NAN, NAN}, {"100000000000000M", NAN, NAN, NAN},
};

static void agree(bool right, double got, double expected)
{
    ck_assert(right == !isnan(expected));
    ck_assert(right ? got == expected : got == 77);
}

START_TEST(numbers_from_text)
{
    int64_t count = 77;
    double real = 77, minutes = 77, seconds = 77;
    const char *text = numbers[_i].text;
    bool whole = asc_count_parse(text, &count), number = asc_real_parse(text, &real),
         span = asc_time_parse(text, 60, &minutes);
    agree(whole, (double)count, numbers[_i].count);
    agree(number, real, numbers[_i].real);
    agree(span, minutes, numbers[_i].minutes);
    bool unit = *text && strchr("smh", text[strlen(text) - 1]);
    if (asc_time_parse(text, 1, &seconds)) {
        ck_assert(seconds == (unit ? 60 : 1) * minutes);
    }
}
END_TEST

START_TEST(numbers_take_null)
{
    int64_t count;
    double real;
    ck_assert(!asc_count_parse(NULL, &count) && !asc_count_parse("1", NULL));
    ck_assert(!asc_real_parse(NULL, &real) && !asc_real_parse("1", NULL));
    ck_assert(!asc_time_parse(NULL, 1, &real) && !asc_time_parse("1", 1, NULL) && !asc_time_parse("1", 0, &real));
}
END_TEST

START_TEST(other_programs_names)
{
    ck_assert_str_eq(asc_setting_synonym("learning_rate"), "lr");
    ck_assert_str_eq(asc_setting_synonym("hidden-size"), "d_model");
    ck_assert_ptr_null(asc_setting_synonym("lr"));
    ck_assert_ptr_null(asc_setting_synonym("learning"));
    ck_assert_ptr_null(asc_setting_synonym(" wd"));
    ck_assert_ptr_null(asc_setting_synonym(""));
    ck_assert_ptr_null(asc_setting_synonym(NULL));
}
END_TEST

START_TEST(only_close_names_are_offered)
{
    static const char *const known[] = {"out", "layers", "tokenizer", "train", NULL};
    ck_assert_str_eq(asc_name_guess("layer", known), "layers");
    ck_assert_str_eq(asc_name_guess("layres", known), "layers");
    ck_assert_str_eq(asc_name_guess("tok", known), "tokenizer");
    ck_assert_str_eq(asc_name_guess("LAYERS", known), "layers");
    ck_assert_str_eq(asc_name_guess("TOK", known), "tokenizer");
    ck_assert_str_eq(asc_name_guess("trian", known), "train");
    ck_assert_str_eq(asc_name_guess("trains", (const char *[]){"drains", "train", NULL}), "train");
    ck_assert_str_eq(asc_name_guess("layerscount", known), "layers");
    ck_assert_ptr_null(asc_name_guess("gpu", known));
    ck_assert_ptr_null(asc_name_guess("", known));
    ck_assert_ptr_null(asc_name_guess(NULL, known));
    ck_assert_ptr_null(asc_name_guess("train", NULL));
}
END_TEST

/* Values of a file: numbers may stand there as text, and whole ones as 1e4. */
START_TEST(plain_values)
{
    static const struct {
        const char *key, *given, *plain;
    } rows[] = {
        {"heads", "\"5\"", "5"}, {"heads", "5.0", "5"}, {"heads", "5.5", "5.5"}, {"span", "\"90s\"", "1.5"},
        {"rate", "\"1e-1\"", "0.1"}, {"rate", "1", "1"}, {"kind", "\"far\"", "\"far\""}, {"count", "2.0", "2"},
        {"count", "true", "true"}, {"heads", "\"many\"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *given = json_loads(rows[i].given, JSON_DECODE_ANY, NULL);
        json_t *plain = asc_setting_plain(ctx, asc_setting_find(table, rows[i].key), rows[i].key, given);
        if (rows[i].plain) {
            char *text = json_dumps(plain, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
            ck_assert_str_eq(text, rows[i].plain);
            free(text);
        } else {
            expect_error(ASC_ERR_ARG, "heads: got 'many', expected a whole number from 1 to 8");
            ck_assert_ptr_null(plain);
        }
        json_decref(given);
        json_decref(plain);
    }
}
END_TEST

START_TEST(values_from_text)
{
    char name[20];
    snprintf(name, sizeof name, "my-%s", texts[_i].key);
    json_t *value = asc_setting_parse(ctx, asc_setting_find(table, texts[_i].key), name, texts[_i].text);
    if (texts[_i].json) {
        char *json = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
        ck_assert_str_eq(json, texts[_i].json);
        free(json);
    } else {
        ck_assert_ptr_null(value);
        expect_error(ASC_ERR_ARG, texts[_i].message);
    }
    json_decref(value);
}
END_TEST

static const struct {
    asc_setting row;
    const char *flaw;
} flaws[] = {
    {{"a", 0, 0, NULL, .help = ""}, "its type is none"},
    {{"a", ASC_SETTING_INT, sizeof(values), NULL, .help = ""}, "its place is outside of the values"},
    {{"heads", ASC_SETTING_INT, 0, NULL, .help = ""}, "the key is in the table before"},
    {{"a", ASC_SETTING_INT, 0, NULL, .help = "", .min = 1}, "it has no help, or an empty range"},
    {{"a", ASC_SETTING_CHOICE, 0, NULL, .help = ""}, "it has no choices, or more than 64"},
    {{"a", ASC_SETTING_INTS, 0, NULL, .help = "", .choices = names}, "it has names for lists, and nothing"},
    {{"a", ASC_SETTING_BOOL, 0, NULL, .help = "", .flags = ASC_SETTING_PER_HEAD}, "it is no number, or no row `heads`"},
    {{"a", ASC_SETTING_INT, 0, "1", .help = "", .max = 9, .flags = ASC_SETTING_PER_HEAD | ASC_SETTING_PER_LAYER},
     "a list could be either"},
    {{"a", ASC_SETTING_INT, 0, NULL, .help = "", .only = "kind=near"}, "what it belongs to is no choice"},
    {{"a", ASC_SETTING_INT, 0, "3", .help = "", .max = 2}, "a: got '3', expected a whole number from 0 to 2"},
};

START_TEST(a_table_that_is_not_whole_is_refused)
{
    const asc_setting rows[] = {table[0], flaws[_i].row, {0}};
    ck_assert_int_eq(asc_settings_verify(ctx, &(asc_schema){"me", rows}, sizeof(values)), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, flaws[_i].flaw);
    ck_assert_int_eq(asc_settings_verify(ctx, &(asc_schema){"me", table}, sizeof(values)), ASC_OK);
}
END_TEST

/* Memory that can't be had leaves the values as they are. */
START_TEST(a_value_stays_where_memory_fails)
{
    static const char *const texts[][2] = {{"text", "\"other\""}, {"list", "[3, 4, 5]"}};
    values v;
    free(read_text("{\"heads\": 2}", &v));
    for (size_t i = 0; i < 2; i++) {
        json_t *value = json_loads(texts[i][1], JSON_DECODE_ANY, NULL);
        const asc_setting *row = asc_setting_find(table, texts[i][0]);
        memory.fail_at = memory.calls;
        ck_assert_int_eq(asc_setting_store(ctx, row, value, &v), ASC_ERR_MEMORY);
        memory.fail_at = NEVER;
        asc_error_clear(ctx);
        ck_assert_str_eq(v.text, i == 0 ? "none" : "other");
        ck_assert_int_eq(v.list.n, 2);
        ck_assert_int_eq(asc_setting_store(ctx, row, value, &v), ASC_OK);
        json_decref(value);
    }
    ck_assert(v.list.n == 3 && v.list.at[2] == 5);
    asc_values_clear(ctx, table, &v);
}
END_TEST

START_TEST(find_takes_null)
{
    ck_assert_ptr_null(asc_setting_find(NULL, "heads"));
    ck_assert_ptr_null(asc_setting_find(table, NULL));
    ck_assert_ptr_null(asc_setting_find(table, "head"));
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("settings");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_test(t, defaults_stand_where_nothing_is_given);
    tcase_add_test(t, what_is_given_is_taken_and_noted_as_it_was);
    tcase_add_test(t, numbers_have_the_digits_of_config_json);
    tcase_add_test(t, names_may_have_heads);
    tcase_add_test(t, a_name_stands_for_the_layers_list);
    tcase_add_test(t, lists_of_tuples);
    tcase_add_loop_test(t, wrong_values_are_refused, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(t, long_values_are_shown_in_part);
    tcase_add_loop_test(t, values_from_text, 0, sizeof texts / sizeof *texts);
    tcase_add_loop_test(t, numbers_from_text, 0, sizeof numbers / sizeof *numbers);
    tcase_add_test(t, numbers_take_null);
    tcase_add_test(t, other_programs_names);
    tcase_add_test(t, only_close_names_are_offered);
    tcase_add_test(t, plain_values);
    tcase_add_loop_test(t, a_table_that_is_not_whole_is_refused, 0, sizeof flaws / sizeof *flaws);
    tcase_add_test(t, a_value_stays_where_memory_fails);
    tcase_add_test(t, find_takes_null);
    return run_suite("settings", t);
}
