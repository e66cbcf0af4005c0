/*
 * program/settings.h: settings as the command line and its help have them.
 */
#ifndef PROGRAM_SETTINGS_H
#define PROGRAM_SETTINGS_H

#include <ascgrad/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_settings asc_settings; /* of ascgrad/train.h */

/* asc_settings_set of an option that every training has, whatever its model: one like "heads" that no mixing of the
 * model knows is left out, with a message, where asc_settings_set's is an error. */
ASC_API asc_status asc_settings_option(asc_settings *settings, const char *key, const char *value);

/* Sentences are cut by the vocabulary `file`, cased as the encoder says that the settings name. ASC_ERR_IO;
 * ASC_ERR_FORMAT: the encoder asks for a tokenizer that there is not. */
ASC_API asc_status asc_settings_set_vocab(asc_settings *settings, const char *file);

/* Whether this process reads the training's data: false where its context is that of a rank to which another sends
 * them, or for NULL. */
ASC_API bool asc_settings_reads_data(const asc_settings *settings);

/* Whether the model is one of pairs of sentences ("head": "pairs"); false for NULL. */
ASC_API bool asc_settings_pairs(const asc_settings *settings);

/* What the preset asc_preset_at(i) is, a line, and its settings, a JSON object; NULL past the last. */
ASC_API const char *asc_preset_summary(int i);
ASC_API const char *asc_preset_contents(int i);

/* The key of the setting that other programs call `name`, with '-' or '_': "lr" for "learning_rate"; so that an error
 * can say what it is here. NULL if there is none. */
ASC_API const char *asc_setting_synonym(const char *name);

/* The key whose name with others is close to `name` (asc_name_close): "lr" for "lerning_rate". NULL if none is. */
ASC_API const char *asc_setting_synonym_guess(const char *name);

/* How all tokenizers are asked for, into text[bytes]: "word, byte, wordpiece:VOCAB_FILE, … or bpe:TOKENIZER_JSON".
 * Returns text. */
ASC_API const char *asc_tokenizer_list(const asc_ctx *ctx, char *text, size_t bytes);

/* How all data sources are asked for, into text[bytes]: "builtin[:WORDS[:SEED]], a text file or …". Returns text. */
ASC_API const char *asc_data_source_list(const asc_ctx *ctx, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
