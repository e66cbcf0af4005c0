// A user's program in C++: all public headers at once, linked against the shared library.
#include <ascgrad/ascgrad.h>

#include <cstring>

int main()
{
    asc_ctx *ctx = asc_ctx_new(nullptr);
    const int64_t shape[] = {2, 3};
    asc_tensor x = asc_full(ctx, ASC_F64, 1.5, 2, shape);
    asc_linear_settings settings{};
    settings.heads = 2;
    settings.mask = ASC_LINEAR_MASK_FULL;
    const asc_typed part = {"linear", asc_linear_fields(), &settings};
    asc_layer *layer = asc_layer_new(ctx, "linear", 8, asc_typed_json(ctx, &part, 1), ASC_F32, 1);
    bool good = layer && std::strstr(asc_layer_config(layer), "\"mask\":\"full\"");
    asc_layer_free(layer);
    good = good && asc_numel(x) == 6 && asc_item(asc_sum(ctx, x, ASC_ALL_DIMS, false)) == 9;
    good = good && asc_error(ctx) == ASC_OK && std::strlen(asc_machine_info().version) > 0;
    asc_ctx_free(ctx);
    return good ? 0 : 1;
}
