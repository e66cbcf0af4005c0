/* examples/edit_model.c: copies a safetensors file with every floating tensor scaled and stored as f32.
 *
 *   cc edit_model.c $(pkg-config --cflags --libs ascgrad) && ./a.out model.safetensors half.safetensors 0.5 */
#include <stdio.h>
#include <stdlib.h>

#include <ascgrad/ascgrad.h>

enum { MOST = 1000 };

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: edit_model FROM TO FACTOR\n");
        return 2;
    }
    asc_ctx *ctx = asc_ctx_new(NULL);
    asc_safetensors *file = asc_safetensors_open(ctx, argv[1]);
    static asc_named_tensor list[MOST];
    static asc_safetensors_pair metadata[MOST];
    int64_t n = 0, n_metadata = 0, elements = 0;
    const asc_safetensors_entry *entry;
    for (; file && n < MOST && (entry = asc_safetensors_at(file, n)); n++) {
        asc_tensor t = asc_safetensors_read(ctx, file, entry->name, ASC_SAFETENSORS_STORED);
        if (entry->dtype == ASC_F32 || entry->dtype == ASC_F64) {
            t = asc_cast(ctx, asc_scale(ctx, t, atof(argv[3])), ASC_F32);
        }
        elements += asc_numel(t);
        list[n] = (asc_named_tensor){entry->name, t};
    }
    const asc_safetensors_pair *pair;
    for (; file && n_metadata < MOST && (pair = asc_safetensors_metadata_at(file, n_metadata)); n_metadata++) {
        metadata[n_metadata] = *pair;
    }
    if (!asc_error(ctx)) { /* written aside, synced and renamed: the old file stays until the new one is whole */
        asc_safetensors_write(ctx, argv[2], list, n, metadata, n_metadata);
    }
    int failed = asc_error(ctx) != ASC_OK;
    if (failed) {
        fprintf(stderr, "edit_model: %s\n", asc_error_message(ctx));
    } else {
        printf("%s: %lld tensors, %lld elements\n", argv[2], (long long)n, (long long)elements);
    }
    asc_safetensors_close(file);
    asc_ctx_free(ctx);
    return failed ? 3 : 0;
}
