// A user's program in C++: all public headers at once, linked against the shared library.
#include <ascgrad/ascgrad.h>

#include <cstring>

int main()
{
    asc_ctx *ctx = asc_ctx_new(nullptr);
    const int64_t shape[] = {2, 3};
    asc_tensor x = asc_full(ctx, ASC_F64, 1.5, 2, shape);
    const bool good = asc_numel(x) == 6 && asc_error(ctx) == ASC_OK && std::strlen(asc_machine_info().version) > 0;
    asc_ctx_free(ctx);
    return good ? 0 : 1;
}
