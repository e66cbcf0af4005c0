/* tests/train/test_encoder_files.c: folders that are no encoder's, and a tokenizer's settings. */
#include "tests/train/encoder.h"

static model drawn;

static void setup_encoder(void)
{
    setup();
    make_folder();
    drawn = (model){0};
}

static void teardown_encoder(void)
{
    teardown();
    remove_tree(folder);
}

/* ---- files that are no encoder's ---- */

static void expect_refused(asc_status status, const char *file, const char *part)
{
    ck_assert_ptr_null(asc_encoder_open(ctx, folder, NULL));
    ck_assert_msg(strstr(asc_error_message(ctx), at_folder(file)) == asc_error_message(ctx), "%s",
                  asc_error_message(ctx));
    expect_error_with(status, part);
}

/* config.json with other settings behind its own, which a name in `without` is taken out of. */
static void spill_changed(const char *without, const char *more)
{
    char text[1000], *at;
    spill_config(&drawn);
    FILE *f = fopen(at_folder("config.json"), "rb");
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    if (without && (at = strstr(text, without))) {
        *at = '_';
    }
    char *end = strrchr(text, '}');
    snprintf(end, sizeof text - (size_t)(end - text), ", %s}", more);
    spill_file("config.json", text, strlen(text));
}

static const struct {
    bool distil;
    const char *without, *more, *message;
} configs[] = {
    {false, "model_type", "\"model_type\": \"roberta\"", "model_type is \"roberta\", expected \"bert\" or"},
    {false, "model_type", "\"x\": 1", "model_type is missing"},
    {false, "hidden_act", "\"hidden_act\": \"swish\"", "hidden_act is \"swish\", expected \"gelu\""},
    {true, "activation", "\"activation\": 3", "activation is 3, expected"},
    {false, NULL, "\"position_embedding_type\": \"relative_key\"",
     "position_embedding_type is \"relative_key\", expected \"absolute\""},
    {false, NULL, "\"is_decoder\": true", "is_decoder is true, expected false"},
    {false, NULL, "\"pruned_heads\": {\"0\": [1]}", "pruned_heads is"},
    {false, "layer_norm_eps", "\"layer_norm_eps\": 0", "layer_norm_eps is 0, expected a number above 0"},
    {false, "hidden_size", "\"x\": 1", "hidden_size is missing, expected a whole number from 1 to 1048576"},
    {false, "hidden_size", "\"hidden_size\": 8.5", "hidden_size is 8.5"},
    {false, "num_hidden_layers", "\"num_hidden_layers\": 1000000000", "num_hidden_layers is 1000000000, expected"},
    {true, "n_heads", "\"n_heads\": 3", "n_heads is 3, expected a divisor of dim, 8"},
};

START_TEST(settings_that_do_not_fit_are_named)
{
    drawn.distil = configs[_i].distil;
    spill_model(&drawn);
    spill_changed(configs[_i].without, configs[_i].more);
    expect_refused(ASC_ERR_FORMAT, "config.json", configs[_i].message);
}
END_TEST

START_TEST(broken_settings)
{
    spill_model(&drawn);
    spill_file("config.json", "", 0);
    expect_refused(ASC_ERR_FORMAT, "config.json", "is empty, expected a JSON object");
    spill_file("config.json", "[1]", 3);
    expect_refused(ASC_ERR_FORMAT, "config.json", "line 1: not a JSON object");
    spill_file("config.json", "{\n\"a\": }", 8);
    expect_refused(ASC_ERR_FORMAT, "config.json", "line 2: ");
    static char blanks[(4 << 20) + 1];
    spill_file("config.json", memset(blanks, ' ', sizeof blanks), sizeof blanks);
    expect_refused(ASC_ERR_FORMAT, "config.json", "has more than 4194304 bytes, expected settings in at most that");
    remove(at_folder("config.json"));
    expect_refused(ASC_ERR_IO, "config.json", "No such file");
    mkfifo(at_folder("config.json"), 0600);
    expect_refused(ASC_ERR_IO, "config.json", "is a pipe, expected a regular file");
}
END_TEST

START_TEST(broken_vocabularies)
{
    spill_model(&drawn);
    char longer[sizeof vocabulary + 2];
    snprintf(longer, sizeof longer, "%sx\n", vocabulary);
    spill_file("vocab.txt", longer, strlen(longer));
    expect_refused(ASC_ERR_FORMAT, "vocab.txt", "has 15 entries, expected the model's 14");
    spill_file("vocab.txt", "[UNK]\n[SEP]\n", 12);
    expect_refused(ASC_ERR_FORMAT, "vocab.txt", "the vocabulary has no entry [CLS]");
    remove(at_folder("vocab.txt"));
    expect_refused(ASC_ERR_IO, "vocab.txt", "No such file");
    mkfifo(at_folder("vocab.txt"), 0600);
    expect_refused(ASC_ERR_IO, "vocab.txt", "is a pipe, expected a regular file");
    spill_file("words", vocabulary, sizeof vocabulary - 1);
    asc_encoder *encoder = asc_encoder_open(ctx, folder, at_folder("words"));
    no_error();
    asc_encoder_free(encoder);
}
END_TEST

START_TEST(broken_weights)
{
    spill_model(&drawn);
    char name[80];
    strcpy(name, drawn.tensor[7].name);
    *drawn.tensor[7].name = '\0';
    spill_weights(&drawn);
    char message[160];
    snprintf(message, sizeof message, "has no tensor '%s'", name);
    expect_refused(ASC_ERR_FORMAT, "model.safetensors", message);
    draw_model(&drawn);
    drawn.tensor[1].shape[0]--;
    drawn.tensor[1].n -= E;
    spill_weights(&drawn);
    expect_refused(ASC_ERR_FORMAT, "model.safetensors",
                   "'embeddings.position_embeddings.weight' is (15, 8), expected (16, 8) by config.json");
    spill_model(&drawn);
    ck_assert_int_eq(truncate(at_folder("model.safetensors"), 4000), 0);
    expect_refused(ASC_ERR_FORMAT, "model.safetensors", "");
    ck_assert_int_eq(truncate(at_folder("model.safetensors"), 3), 0);
    expect_refused(ASC_ERR_FORMAT, "model.safetensors", "is not a safetensors file");
    remove(at_folder("model.safetensors"));
    mkfifo(at_folder("model.safetensors"), 0600);
    expect_refused(ASC_ERR_IO, "model.safetensors", "is a pipe, expected a regular file");
}
END_TEST

/* ---- the tokenizer's settings ---- */

START_TEST(case_is_kept_where_it_is_asked_for)
{
    static const char cased[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nA\na\n\xc3\x89t\xc3\xa9\n##b\n";
    spill_model(&drawn);
    spill_file("vocab.txt", cased, sizeof cased - 1);
    static const char keeps[] = "{\"do_lower_case\": false, \"strip_accents\": null}";
    static const char lowers[] = "{\"do_lower_case\": true, \"model_max_length\": 1000000000000000019884624838656}";
    spill_file("tokenizer_config.json", keeps, sizeof keeps - 1);
    for (int lower = 0; lower < 2; lower++) {
        asc_encoder *encoder = asc_encoder_open(ctx, folder, NULL);
        no_error();
        asc_sentences *s = asc_sentences_new(ctx, asc_encoder_tokenizer(encoder), 16);
        asc_sentences_add(s, "A a Ab \xc3\x89t\xc3\xa9", 12);
        if (lower) {
            EXPECT_IDS(s, 0, 7, 2, 5, 5, 5, 7, 1, 3);
        } else {
            EXPECT_IDS(s, 0, 7, 2, 4, 5, 4, 7, 6, 3);
        }
        asc_sentences_free(s);
        asc_encoder_free(encoder);
        spill_file("tokenizer_config.json", lowers, sizeof lowers - 1);
    }
    static const char *const refused[][2] = {
        {"{\"do_lower_case\": true, \"strip_accents\": false}",
         "strip_accents is false, expected the same as do_lower_case"},
        {"{\"tokenize_chinese_chars\": false}", "tokenize_chinese_chars is false, expected true"},
        {"{\"do_lower_case\": 1}", "do_lower_case is 1.0, expected true or false"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        spill_file("tokenizer_config.json", refused[i][0], strlen(refused[i][0]));
        expect_refused(ASC_ERR_FORMAT, "tokenizer_config.json", refused[i][1]);
    }
}
END_TEST
int main(void)
{
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, setup_encoder, teardown_encoder);
    tcase_add_loop_test(files, settings_that_do_not_fit_are_named, 0, (int)(sizeof configs / sizeof *configs));
    tcase_add_test(files, broken_settings);
    tcase_add_test(files, broken_vocabularies);
    tcase_add_test(files, broken_weights);
    tcase_add_test(files, case_is_kept_where_it_is_asked_for);
    return run_suite("encoder_files", files);
}
