/* tests/data/test_records.c: JSONL and TSV as data: questions with answers, sentences with classes, and what is wrong
 * with a file, by its line. */
#include "tests/data/fixture.h"

static asc_dataset *data;
static asc_tokenizer *words;

static asc_split *load(const char *spec, asc_split_kind kind, const char *tokenizer)
{
    data = asc_dataset_open(ctx, spec);
    words = asc_tokenizer_new(ctx, tokenizer);
    return data && asc_dataset_collect(data, words) == ASC_OK ? asc_split_load(data, kind, words) : NULL;
}

static void release(asc_split *split)
{
    asc_split_free(ctx, split);
    asc_tokenizer_free(words);
    asc_dataset_free(data);
}

/* The split has these sequences: pieces with a space before each but the first, in [] those that are given, '/' for the
 * end of a line. */
static void check_sequences(const asc_split *split, int n, const char *const *expected)
{
    ck_assert_msg(split != NULL, "%s", asc_error_message(ctx));
    ck_assert_int_eq(split->n_sequences, n);
    for (int i = 0; i < n; i++) {
        char text[400] = "";
        size_t used = 0;
        for (int64_t at = split->starts[i]; at < split->starts[i + 1]; at++) {
            size_t bytes;
            const char *piece = asc_tokenizer_piece(words, split->tokens[at], &bytes);
            bool eos = split->tokens[at] == asc_tokenizer_eos(words);
            used += (size_t)sprintf(text + used, split->given[at] ? "%s[%.*s]" : "%s%.*s", used ? " " : "",
                                    eos ? 1 : (int)bytes, eos ? "/" : piece);
        }
        ck_assert_str_eq(text, expected[i]);
    }
}

static const char *with(const char *keys)
{
    static char spec[500];
    snprintf(spec, sizeof spec, "%s:%s", path, keys);
    return spec;
}

static const char sums[] = "{\"question\": \"two and two\", \"answer\": \"four\", \"id\": 1}\n"
                           "\n"
                           "{\"question\": \"a line\\nand one\", \"answer\": 7}\r\n";

START_TEST(questions_are_given_and_answers_are_not)
{
    static const char *const expected[] = {"[two] [and] [two] [/] four /", "[a] [line] [/] [and] [one] [/] 7 /"};
    spill_text("train.jsonl", sums);
    spill_text("dev.jsonl", sums);
    asc_split *split = load(folder, ASC_SPLIT_TRAIN, "word");
    check_sequences(split, 2, expected);
    ck_assert_ptr_null(split->labels);
    release(split);
    split = load(folder, ASC_SPLIT_VALID, "word");
    check_sequences(split, 2, expected);
    release(split);
    static const char *const turned[] = {"[four] [/] two and two /", "[7] [/] a line / and one /"};
    spill_gzip("one.test.jsonl.gz", sums, strlen(sums));
    split = load(with("prompt=answer,answer=question"), ASC_SPLIT_TEST, "byte"); /* named for a split, it is that */
    ck_assert_msg(split != NULL, "%s", asc_error_message(ctx));
    ck_assert_int_eq(split->n_sequences, 2);
    release(split);
    split = load(with("prompt=answer,answer=question"), ASC_SPLIT_TRAIN, "word");
    ck_assert_ptr_null(split);
    expect_error_with(ASC_ERR_IO, "all of it is the test split, by its name, none the train split");
    release(split);
    spill_text("all.jsonl", sums);
    split = load(with("prompt=answer,answer=question"), ASC_SPLIT_TRAIN, "word");
    check_sequences(split, 2, turned); /* the last 10 % of the bytes begin no line */
    release(split);
}
END_TEST

/* Numbers of JSON are the text that people write. */
START_TEST(numbers_are_as_they_stand)
{
    static const char *const expected[] = {"[half] [of] [.2] [/] 0.1 /", "[third] [/] 0.3333333333333333 /",
                                           "[many] [/] 12345678901234567 /", "[little] [/] 2e-7 /", "[yes] [/] true /"};
    spill_text("all.train.jsonl", "{\"prompt\": \"half of .2\", \"answer\": 0.1}\n"
                                  "{\"prompt\": \"third\", \"answer\": 0.3333333333333333}\n"
                                  "{\"prompt\": \"many\", \"answer\": 12345678901234567}\n"
                                  "{\"prompt\": \"little\", \"answer\": 2e-7}\n"
                                  "{\"prompt\": \"yes\", \"answer\": true}\n");
    asc_split *split = load(folder, ASC_SPLIT_TRAIN, "word");
    check_sequences(split, 5, expected);
    release(split);
}
END_TEST

START_TEST(pairs_have_classes)
{
    static const char *const expected[] = {"[a] [b] [/] [c] [/] no /", "[a] [/] [a] [/] yes /"};
    spill_text("train.tsv", "\xef\xbb\xbfindex\tsentence1\tsentence2\tlabel\r\n0\ta b\tc\tno\r\n1\ta\ta\tyes\n");
    spill_text("dev.tsv", "index\tsentence2\tsentence1\tlabel\n0\ta\ta\tyes\n");
    asc_split *split = load(folder, ASC_SPLIT_TRAIN, "word");
    check_sequences(split, 2, expected);
    ck_assert_int_eq(split->classes, 2);
    ck_assert_str_eq(asc_dataset_class(data, 0), "no");
    ck_assert_str_eq(asc_dataset_class(data, 1), "yes");
    ck_assert_ptr_null(asc_dataset_class(data, 2));
    ck_assert_mem_eq(split->labels, ((int32_t[]){0, 1}), 2 * sizeof(int32_t));
    ck_assert_mem_eq(split->seconds, ((int64_t[]){3, 9}), 2 * sizeof(int64_t));
    ck_assert_int_eq(asc_class_width(split, NULL, 2), 5);
    release(split);
    split = load(folder, ASC_SPLIT_VALID, "word"); /* columns by their names, whatever their order */
    check_sequences(split, 1, &expected[1]);
    ck_assert_int_eq(split->labels[0], 1);
    release(split);
    spill_text("cola.tsv", "x\t1\t\tfine it is\nx\t0\t*\tis it not fine\n");
    static const char *const cola[] = {"[fine] [it] [is] [/] 1 /", "[is] [it] [not] [fine] [/] 0 /"};
    split = load(with("text=4,label=2"), ASC_SPLIT_TRAIN, "word");
    check_sequences(split, 2, cola);
    ck_assert_mem_eq(split->labels, ((int32_t[]){1, 0}), 2 * sizeof(int32_t));
    release(split);
    split = load(with("text=4,label=2,classes=2|1|0"), ASC_SPLIT_TRAIN, "word");
    ck_assert_int_eq(split->classes, 3);
    ck_assert_mem_eq(split->labels, ((int32_t[]){1, 2}), 2 * sizeof(int32_t));
    release(split);
}
END_TEST

START_TEST(snli_leaves_out_what_has_no_gold)
{
    static const char *const expected[] = {"[a] [/] [b] [/] entailment /"};
    spill_text("train.jsonl", "{\"sentence1\": \"x\", \"sentence2\": \"y\", \"gold_label\": \"-\"}\n"
                              "{\"sentence1\": \"a\", \"sentence2\": \"b\", \"gold_label\": \"entailment\"}\n");
    asc_split *split = load(folder, ASC_SPLIT_TRAIN, "word");
    check_sequences(split, 1, expected);
    ck_assert_int_eq(split->classes, 1);
    ck_assert_int_eq(split->skipped, 1);
    release(split);
}
END_TEST

/* Both texts, one after the other; a longer one keeps its end. */
START_TEST(pairs_fill_side_by_side)
{
    spill_text("train.tsv", "sentence1\tsentence2\tlabel\na b c d\te\tno\na\tb c\tyes\n");
    asc_split *split = load(folder, ASC_SPLIT_TRAIN, "word");
    const int32_t which[] = {1, 0}, *id = split->tokens; /* a b c d / e / no / … */
    int64_t x[2 * 5], lengths[4], labels[2];
    ck_assert_int_eq(asc_pair_width(split, which, 2, 3), 5);
    ck_assert_int_eq(asc_pair_width(split, which, 2, 100), 7);
    ck_assert_int_eq(asc_pair_fill(ctx, split, which, 2, 3, x, lengths, labels), ASC_OK);
    const int64_t a = id[0], b = id[1], c = id[2], end = id[4], e = id[5];
    ck_assert_mem_eq(x, ((int64_t[]){a, end, b, c, end, a, b, end, e, end}), sizeof x);
    ck_assert_mem_eq(lengths, ((int64_t[]){2, 3, 3, 2}), sizeof lengths);
    ck_assert_mem_eq(labels, ((int64_t[]){1, 0}), sizeof labels);
    ck_assert_int_eq(asc_pair_fill(ctx, split, (int32_t[]){2}, 1, 3, x, lengths, labels), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "pair fill: there is no sequence 2");
    release(split);
}
END_TEST

/* Each split from a file of its own, of any form, and none of them cut. */
START_TEST(a_spec_names_the_files_of_the_other_splits)
{
    static const char row[] = "sentence1\tsentence2\tlabel\na\tb\tno\na\tc\tyes\n";
    char valid[500], spec[1100];
    spill_text("held.jsonl", "{\"sentence1\": \"a\", \"sentence2\": \"c\", \"label\": \"yes\"}\n");
    snprintf(valid, sizeof valid, "%s", path);
    spill_text("some.tsv", row);
    snprintf(spec, sizeof spec, "%s:valid=%s", path, valid);
    static const char *const expected[] = {"[a] [/] [b] [/] no /", "[a] [/] [c] [/] yes /"};
    asc_split *split = load(spec, ASC_SPLIT_TRAIN, "word");
    check_sequences(split, 2, expected);
    release(split);
    split = load(spec, ASC_SPLIT_VALID, "word");
    check_sequences(split, 1, &expected[1]);
    release(split);
    ck_assert_ptr_null(load(spec, ASC_SPLIT_TEST, "word"));
    expect_error_with(ASC_ERR_IO, "names no file of the test split, as test=FILE would; it has train and valid");
    release(NULL);
}
END_TEST

START_TEST(wordpiece_separates_what_bert_does)
{
    char spec[400];
    spill_text("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\nb\nno\nyes\n");
    snprintf(spec, sizeof spec, "wordpiece:%s", path);
    spill_text("train.tsv", "sentence1\tsentence2\tlabel\na b\tb\tno\nb\t\tyes\n");
    static const char *const expected[] = {"[[CLS]] [a] [b] [[SEP]] [b] [[SEP]] no [SEP]",
                                           "[[CLS]] [b] [[SEP]] [[SEP]] yes [SEP]"};
    asc_split *split = load(folder, ASC_SPLIT_TRAIN, spec);
    check_sequences(split, 2, expected);
    release(split);
}
END_TEST

static const struct {
    const char *name, *text, *keys, *message;
} wrong[] = {
    {"a.jsonl", "{\"x\": 1}\n", NULL, "line 1: no fields of the usual names"},
    {"a.jsonl", "{\"prompt\": \n", NULL, "a.jsonl: line 1: is no JSON: "},
    {"a.jsonl", "", NULL, "is empty, expected records"},
    {"a.jsonl", "\n\n{\"x\": 1\n", NULL, "line 3: is no JSON"},
    {"a.jsonl", "{\"prompt\": \"a\", \"answer\": \"b\"}\n{\"prompt\": \"a\"}\n", NULL,
     "a.jsonl: line 2: \"answer\" is missing"},
    {"a.jsonl", "{\"prompt\": \"a\", \"answer\": \"b\"}\n\n{\"prompt\": [1], \"answer\": \"b\"}\n", NULL,
     "a.jsonl: line 3: \"prompt\" is neither text nor a number"},
    {"a.jsonl", "{\"prompt\": \"a\", \"answer\": \"b\"}\n{\"prompt\": \n", NULL, "a.jsonl: line 2: is no JSON: "},
    {"a.jsonl", "{\"prompt\": \"a\", \"answer\": \"b\"}\n[1]\n", NULL, "a.jsonl: line 2: is no JSON object"},
    {"a.jsonl", "{\"prompt\": \"a\", \"answer\": \"b\"}\n{\"prompt\": \"a\", \"prompt\": \"c\"}\n", NULL,
     "a.jsonl: line 2: is no JSON: duplicate object key"},
    {"a.tsv", "sentence\tlabel\nfine\t1\nfine\n", NULL, "a.tsv: line 3: has 1 columns, expected 2, as the header has"},
    {"a.tsv", "sentence\tlabel\nfine\t1\n", "text=sentence,label=gold", "line 1: the header has no column 'gold'"},
    {"a.tsv", "fine\t1\nfine\n", "text=1,label=2", "a.tsv: line 2: has 1 columns, expected 2 or more"},
    {"a.tsv", "sentence\tlabel\nfine\t1\nbad\t2\n", "text=sentence,label=label,classes=0|1",
     "a.tsv: line 3: the label is '2', expected one of 0, 1"},
    {"a.tsv", "", "text=sentence,label=label", "a.tsv: is empty, expected a header"},
    {"a.tsv", "sentence\tlabel\nfine\t1\n", "text=sentence", "expected text=FIELD and label=FIELD"},
    {"a.tsv", "sentence\tlabel\nfine\t1\n", "txt=sentence", "got 'txt', expected prompt=FIELD"},
    {"a.tsv", "sentence\tlabel\nfine\t1\n",
     "text=sentence,label=label,classes=", "got 'classes', expected prompt=FIELD"},
    {"a.tsv", "sentence\tlabel\nfine\t1\n", "text=a,text=sentence,label=label", ": text is there twice"},
    {"a.tsv", "sentence\tlabel\nfine\t1\n", "prompt=a,text=sentence,label=label", ": text is there twice"},
    {"a.tsv", "sentence\tlabel\nfine\t1\n", "classes=1,classes=2", ": classes is there twice"},
};

/* The tail that gives the file's last tenth to others is on a line of its own. */
START_TEST(errors_name_file_and_line)
{
    char text[600];
    snprintf(text, sizeof text, "%s", wrong[_i].text);
    size_t n = strlen(text);
    bool json = strstr(wrong[_i].name, "json") != NULL;
    for (size_t i = 0; i < 200 && n > 0; i++) {
        text[n + i] = json ? '\n' : '\r';
    }
    spill(wrong[_i].name, text, n > 0 ? n + 200 : 0);
    asc_split *split = load(wrong[_i].keys ? with(wrong[_i].keys) : path, ASC_SPLIT_TRAIN, "byte");
    ck_assert_ptr_null(split);
    expect_error_with(asc_error(ctx), wrong[_i].message);
    release(split);
}
END_TEST

/* What a tokenizer leaves of a record shows only when it is read; records without a label are counted, too. */
START_TEST(a_text_without_tokens_is_named)
{
    char spec[400];
    spill_text("vocab.txt", "[UNK]\na\nneutral\n");
    snprintf(spec, sizeof spec, "wordpiece:%s", path);
    spill_text("train.tsv", "sentence1\tsentence2\tgold_label\na\ta\t-\na\ta\tneutral\n\001\t\001\tneutral\n");
    asc_split *split = load(folder, ASC_SPLIT_TRAIN, spec);
    ck_assert_ptr_null(split);
    expect_error_with(ASC_ERR_FORMAT, ": number 3 of the train split has 1 tokens, expected 2 or more");
    release(split);
}
END_TEST

static asc_split *make_split(void)
{
    asc_split *split = load(folder, ASC_SPLIT_TRAIN, "word");
    asc_tokenizer_free(words);
    asc_dataset_free(data);
    return split;
}

START_TEST(survives_failed_allocations)
{
    spill_text("train.tsv", "sentence1\tsentence2\tlabel\na b\tb\tno\nb\t\tyes\n");
    fail_each_allocation_of(make_split);
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all");
    tcase_add_test(all, questions_are_given_and_answers_are_not);
    tcase_add_test(all, numbers_are_as_they_stand);
    tcase_add_test(all, pairs_have_classes);
    tcase_add_test(all, snli_leaves_out_what_has_no_gold);
    tcase_add_test(all, pairs_fill_side_by_side);
    tcase_add_test(all, a_spec_names_the_files_of_the_other_splits);
    tcase_add_test(all, wordpiece_separates_what_bert_does);
    tcase_add_loop_test(all, errors_name_file_and_line, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(all, a_text_without_tokens_is_named);
    tcase_add_test(all, survives_failed_allocations);
    return run_data_suite("data/records", all);
}
