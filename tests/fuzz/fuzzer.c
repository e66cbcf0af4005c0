/* tests/fuzz/fuzzer.c: libFuzzer's entry; the target is named by FUZZ_TARGET. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fuzz_begin(getenv("FUZZ_TARGET"));
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_one(data, n);
    return 0;
}
