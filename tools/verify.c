/* tools/verify.c: whether a run or model is whole. */
#include <program/verify.h>

#include <string.h>

#include "tools/cage.h"
#include "tools/commands.h"
#include "tools/limited.h"

struct args {
    int64_t max_memory;
    bool json, no_cage;
};

static const cli_option options[] = {
    CLI_JSON(struct args),
    CLI_NO_CAGE(struct args),
    CLI_MAX_MEMORY(struct args),
    {0},
};

typedef struct listing {
    bool json;
    json_t *files;
} listing;

static void show(void *user, const asc_verified *file)
{
    listing *l = user;
    if (l->json) {
        const char *problem = file->problem;
        json_t *why = problem ? cli_json_string(problem) : json_null();
        json_array_append_new(l->files, json_pack("{s:o, s:b, s:o, s:I, s:I, s:b}", "file",
                                                  cli_json_string(file->file), "ok", !problem,
                                                  "problem", why, "tensors", (json_int_t)file->tensors, "bytes",
                                                  (json_int_t)file->bytes, "checksum", file->has_checksum));
        return;
    }
    if (file->problem) {
        cli_print("FAIL  %s\n", file->problem);
    } else if (file->tensors > 0) {
        cli_print("ok    %s: %lld tensors, %lld bytes%s\n", file->file, (long long)file->tensors,
                  (long long)file->bytes, file->has_checksum ? "" : ", without checksum");
    } else {
        cli_print("ok    %s\n", file->file);
    }
}

static int run(int argc, char **argv)
{
    struct args args = {0};
    int64_t problems = 0;
    int n = cli_parse(&command_verify, argc, argv, &args);
    cli_expect_operands(n, argv, 1, 1, "a RUN or MODEL");
    listing l = {args.json, json_array()};
    limited_set((size_t)args.max_memory << 20);
    if (!args.no_cage) {
        cage_enter(&(cage){.model = argv[0]});
    }
    asc_ctx *ctx = cli_ctx_new(1);
    asc_verify(ctx, argv[0], show, &l, &problems);
    int status = cli_report(ctx);
    asc_ctx_free(ctx);
    if (status == CLI_OK && args.json) {
        status = cli_print_json(
            json_pack("{s:b, s:I, s:O}", "ok", problems == 0, "problems", (json_int_t)problems, "files", l.files));
    }
    json_decref(l.files);
    return status == CLI_OK && problems > 0 ? CLI_FAILED : status;
}

const cli_command command_verify = {
    "verify",
    "tells whether a run or model is whole",
    "RUN|MODEL",
    "Reads all of it, and compares what it has with its checksums and its files with each other. A line for each file; "
    "status 1 where something does not hold, 3 where a file can't be read. It changes nothing. Checksums are against "
    "accidents, not against someone who wants to deceive.",
    "ascgrad verify runs/first\n"
    "ascgrad verify model.safetensors --json",
    options,
    run,
};
