/* tests/fuzz/replay.c: gives a target files, as the fuzzer would: replay TARGET FILE... */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    fuzz_begin(argc > 1 ? argv[1] : NULL);
    for (int i = 2; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        long end = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
        uint8_t *bytes = end >= 0 ? malloc((size_t)end + 1) : NULL;
        if (!bytes) {
            perror(argv[i]);
            return 1;
        }
        rewind(f);
        size_t n = fread(bytes, 1, (size_t)end, f);
        fclose(f);
        fuzz_one(bytes, n);
        free(bytes);
    }
    return 0;
}
