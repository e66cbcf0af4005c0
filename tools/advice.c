/* tools/advice.c: what to say of an option that there is not. */
#include "tools/advice.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <program/names.h>
#include <program/settings.h>

enum { LONGEST = 79 };

/* What other programs call options that are no settings; those of settings are in the library. A blank before and
 * behind each. */
static const struct {
    const char *option, *names;
} synonyms[] = {
    {"out", " output output-dir output-file output-path out-dir outdir save save-dir save-path run-dir run-name dir "
            "logdir log-dir model-dir checkpoint-dir name run file "},
    {"resume", " continue restart resume-from resume-from-checkpoint restore "},
    {"preset", " recipe template "},
    {"config", " conf config-file settings cfg yaml json-file "},
    {"tokens", " max-new-tokens max-tokens num-tokens n-tokens length max-length n-predict count num "},
    {"prompt", " text input prefix start message "},
    {"temperature", " temp "},
    {"top-k", " topk "},
    {"top-p", " topp nucleus "},
    {"split", " subset partition "},
    {"text", " prompt input "},
    {"quiet", " silent no-progress "},
    {"verbose", " debug chatty "},
    {"json", " format output-format "},
    {"help", " usage man "},
    {"threads", " num-threads n-threads nthreads cpus jobs "},
    {"data", " dataset corpus data-dir data-path test-data "},
    {"seed", " random-seed "},
    {"batch", " batch-size "},
    {"vocab", " vocab-size vocabulary "},
    {"vocab-size", " size vocab "},
};

static const char gpu[] = " gpu gpus cuda device devices use-gpu no-cuda accelerator mps n-gpu-layers ngpu ";

static bool is_in(const char *names, const char *word)
{
    char padded[LONGEST + 3];
    snprintf(padded, sizeof padded, " %s ", word);
    return *word && !strchr(word, ' ') && strstr(names, padded);
}

static bool has(const cli_option *options, const char *name)
{
    for (const cli_option *o = options; o->name; o++) {
        if (strcmp(o->name, name) == 0) {
            return true;
        }
    }
    return strcmp(name, "help") == 0;
}

/* The option of a setting, if the command has it. */
static const char *option_of(const cli_option *options, const char *key)
{
    const asc_setting *row = cli_setting_row(key);
    static char name[64]; /* an option has hyphens where a key may have underscores */
    snprintf(name, sizeof name, "%s", !row ? "" : row->option ? row->option : row->key);
    for (char *c = name; *c; c++) {
        *c = *c == '_' ? '-' : *c;
    }
    return *name && has(options, name) ? name : NULL;
}

/* The option of that name, if the command has it, for what another program calls `word`. */
static const char *find_synonym(const cli_option *options, const char *word)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        if (is_in(synonyms[i].names, word) && has(options, synonyms[i].option)) {
            return synonyms[i].option;
        }
    }
    const char *key = asc_setting_synonym(word);
    return option_of(options, key ? key : word);
}

/* "no-dropout" and the like. */
static void refuse_negation(const cli_option *options, const char *word)
{
    for (const cli_option *o = options; strncmp(word, "no-", 3) == 0 && o->name; o++) {
        if (*o->name && strcmp(o->name, word + 3) == 0) {
            const asc_setting *row = cli_setting_row(o->name);
            bool number = row && (row->type == ASC_SETTING_INT || row->type == ASC_SETTING_REAL) && row->min <= 0;
            cli_wrong_usage(number          ? "unknown option --%s; it is --%s 0"
                            : !o->argument  ? "unknown option --%s; without --%s it is off"
                            : row && row->type == ASC_SETTING_BOOL ? "unknown option --%s; it is --%s false"
                                            : "unknown option --%s; --%s takes %s; see --help",
                            word, o->name, o->argument);
        }
    }
}

static const char *guess(const cli_option *options, const char *word)
{
    const char *names[CLI_OPTIONS_MAX + 1] = {NULL};
    int n = 0;
    for (const cli_option *o = options; o->name && n < CLI_OPTIONS_MAX; o++) {
        if (*o->name) {
            names[n++] = o->name;
        }
    }
    names[n] = "help";
    return asc_name_guess(word, names);
}

/* What many programs have an option for, and here is the first operand. */
static void refuse_run(const cli_command *command, const char *word)
{
    static const char names[] = " model run checkpoint ckpt load path model-path model-dir weights file input init ";
    if (is_in(names, word) && strncmp(command->operands, "RUN|MODEL", 9) == 0) {
        cli_wrong_usage("unknown option --%s; the RUN or MODEL comes without an option: ascgrad %s %s", word,
                        command->name, command->operands);
    }
}

_Noreturn void refuse_unknown(const cli_command *command, const cli_option *options, const char *word, size_t n)
{
    char given[LONGEST + 1], lower[LONGEST + 1];
    snprintf(given, sizeof given, "%.*s", (int)(n < LONGEST ? n : LONGEST), word);
    snprintf(lower, sizeof lower, "%s", given);
    for (char *c = lower; *c; c++) {
        *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    }
    if (is_in(gpu, lower)) {
        cli_wrong_usage("unknown option --%s; there is no GPU here, all is computed on the processor%s", given,
                        has(options, "threads") ? " (--threads)" : "");
    }
    const char *synonym = find_synonym(options, lower), *near = guess(options, lower);
    if (synonym) {
        cli_wrong_usage("unknown option --%s; here it is --%s", given, synonym);
    }
    refuse_run(command, lower);
    refuse_negation(options, lower);
    const char *key = asc_setting_synonym(lower), *guessed = asc_setting_synonym_guess(lower);
    const asc_setting *row = cli_setting_row(key ? key : lower);
    if (row && has(options, "set")) {
        cli_wrong_usage("unknown option --%s; it is a setting: --set %s=VALUE", given, row->key);
    }
    near = near || !guessed ? near : option_of(options, guessed);
    if (near) {
        cli_wrong_usage("unknown option --%s; did you mean --%s?", given, near);
    }
    cli_wrong_usage("unknown option --%s; --help lists the options", given);
}
