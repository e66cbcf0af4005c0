/* data/safetensors.h: what the parts of the safetensors reader share. */
#ifndef DATA_SAFETENSORS_H
#define DATA_SAFETENSORS_H

#include <ascgrad/safetensors.h>

typedef struct json_t json_t;

struct asc_safetensors {
    asc_ctx *ctx;
    int fd;
    char *path;
    size_t path_bytes; /* with its end */
    int64_t file_bytes, data_start;
    json_t *header;    /* owns all names, keys and values */
    int64_t count, n_metadata;
    asc_safetensors_entry *entries;        /* in the order of the data */
    const asc_safetensors_entry **by_name; /* sorted */
    asc_safetensors_pair *metadata;
    uint32_t *crc;     /* of each tensor's bytes, as the file says; NULL: it has no checksums */
};

/* asc_safetensors_open with more flags for asc_file_open: O_NOFOLLOW. */
asc_safetensors *asc_safetensors_open_with(asc_ctx *ctx, const char *path, int flags);

/* Turns n stored values into a tensor's; both arrays are aligned to their elements. */
typedef void asc_convert_fn(void *out, const void *in, size_t n);

/* A dtype of the format. */
typedef struct asc_stored_dtype {
    const char *name;
    int64_t size;
    asc_dtype dtype;            /* what ASC_SAFETENSORS_STORED means */
    asc_convert_fn *convert[4]; /* by asc_dtype; NULL: not offered */
} asc_stored_dtype;

/* Stands where the bytes are what the tensor holds, and are read into their place. */
void asc_stored_same(void *out, const void *in, size_t n);

/* The dtype of that name, NULL if it is not one that we read. */
const asc_stored_dtype *asc_stored_dtype_find(const char *name);

/* Fills `buffer` from `offset` of the file. ASC_ERR_IO; ASC_ERR_FORMAT where the file ends before that. */
asc_status asc_safetensors_fetch(const asc_safetensors *file, void *buffer, int64_t bytes, int64_t offset);

/* Who puts values in their place, of tensor i of a list, when they are due: to be summed up, then to be written. */
typedef struct asc_values_loader {
    asc_status (*load)(void *user, int64_t i);
    void *user;
} asc_values_loader;

/* asc_safetensors_write; `loader` may be NULL. What that fails with is returned, too. */
asc_status asc_safetensors_write_loaded(asc_ctx *ctx, const char *path, const asc_named_tensor *tensors, int64_t n,
                                        const asc_safetensors_pair *metadata, int64_t n_metadata,
                                        const asc_values_loader *loader);

/* The checksum ASC_SAFETENSORS_CRC of these pairs and tensors, the latter sorted by name. ASC_ERR_MEMORY. */
asc_status asc_safetensors_sum(asc_ctx *ctx, const asc_safetensors_pair *pairs, int64_t n_pairs,
                               const asc_safetensors_entry *const *by_name, int64_t n, uint32_t *crc);

/* Checks the header against its checksum, if the file has one, and takes those of the tensors from it. ASC_ERR_FORMAT:
 * it does not hold; ASC_ERR_MEMORY. */
asc_status asc_safetensors_check_header(asc_safetensors *file);

/* Compares the CRC-32 of a tensor's bytes with the one that the file has for it, if any. ASC_ERR_FORMAT: it differs. */
asc_status asc_safetensors_check_values(const asc_safetensors *file, const asc_safetensors_entry *e, uint32_t crc);

/* "PATH: MESSAGE", or "PATH: tensor 'NAME': MESSAGE" where there is a name. What comes from the file is cut and
 * rid of control characters, so that the message stays one line. */
asc_status asc_safetensors_fail(const asc_safetensors *file, asc_status status, const char *name, const char *format,
                                ...) ASC_PRINTF(4, 5);

/* safetensors_values.c: whether the tensor is read as `dtype`. */
bool asc_safetensors_converts(const asc_safetensors_entry *e, int dtype);

#endif
