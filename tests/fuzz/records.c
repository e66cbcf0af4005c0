/* tests/fuzz/records.c: records of sequences with classes, and of pairs of sentences. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

void fuzz_records(asc_ctx *ctx, const uint8_t *data, size_t n)
{
    static const char *const specs[] = {"%s/x.jsonl", "%s/x.tsv", "%s/x.jsonl:premise=sentence1,hypothesis=sentence2"};
    char spec[300], folder[200];
    snprintf(folder, sizeof folder, "%s", fuzz_path("."));
    if (n == 0) {
        return;
    }
    fuzz_spill(*data % 3 == 1 ? "x.tsv" : "x.jsonl", data + 1, n - 1);
    snprintf(spec, sizeof spec, specs[*data % 3], folder);
    asc_dataset *records = asc_dataset_open(ctx, spec);
    asc_tokenizer *t = asc_tokenizer_new(ctx, "byte");
    if (records && t) {
        asc_split_free(ctx, asc_split_load(records, ASC_SPLIT_TRAIN, t));
    }
    asc_tokenizer_free(t);
    asc_dataset_free(records);
}
