/* tests/fuzz/encoder.c: an encoder's folder. The first byte says which of its files the others are; the rest of them
 * are those of a folder that FUZZ_ENCODER names. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {"config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json"};

static void link_rest(int changed)
{
    const char *from = getenv("FUZZ_ENCODER");
    for (int i = 0; i < 4; i++) {
        char path[1000], name[60];
        snprintf(name, sizeof name, "encoder/%s", names[i]);
        unlink(fuzz_path(name));
        snprintf(path, sizeof path, "%s/%s", from ? from : "tests/train/encoder", names[i]);
        if (i != changed && access(path, R_OK) == 0 && symlink(path, fuzz_path(name))) {
            abort();
        }
    }
}

void fuzz_encoder(asc_ctx *ctx, const uint8_t *data, size_t n)
{
    if (n == 0) {
        return;
    }
    int changed = *data % 4;
    char name[60];
    mkdir(fuzz_path("encoder"), 0700);
    link_rest(changed);
    snprintf(name, sizeof name, "encoder/%s", names[changed]);
    fuzz_spill(name, data + 1, n - 1);
    asc_encoder_free(asc_encoder_open(ctx, fuzz_path("encoder"), NULL));
}
