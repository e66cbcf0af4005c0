/* Made by `make update-abi`: what a program relies on that was compiled against the headers of 0.2.
 *
 * From its release on this file stays as it is. Functions and enumerators may be added to the library; what stands here
 * may neither change nor go, or old programs don't run any more, and libtool's version-info has to say so. */
#include <stddef.h>

#include <ascgrad/ascgrad.h>

/* Sizes and places are those of machines with pointers of 64 bits. */
#if UINTPTR_MAX == UINT64_MAX
#define NUMBER(is, was, what) _Static_assert((is) == (was), what " has changed");
#else
#define NUMBER(is, was, what)
#endif
#define STRUCT(type, size) NUMBER(sizeof(type), size, "the size of " #type)
/* Of two declarations of one name with different types the compiler refuses the second. */
#define FIELD(type, name, offset)                                       \
    NUMBER(offsetof(type, name), offset, "the place of " #type "." #name) \
    extern __typeof__(((type *)0)->name) type##_0_##name;               \
    extern
#define VALUE(name, number) _Static_assert((long long)name == number, #name " has changed");

VALUE(ASC_BUILTIN_WORDS, 400000)
VALUE(ASC_BUILTIN_SEED, 1)
VALUE(ASC_BUILTIN_MAX_WORDS, 1000000000)
VALUE(ASC_CORPUS_ABI, 2)
VALUE(ASC_MIXING_ABI, 3)
VALUE(ASC_WEDGE_OFFSETS, 48)
VALUE(ASC_SUBSPACE_TUPLES, 32)
VALUE(ASC_SUBSPACE_LAGS, 3)
VALUE(ASC_LM_ENDLESS, 9223372036854775807)
VALUE(ASC_OP_ABI, 3)
VALUE(ASC_MAX_IN, 32)
VALUE(ASC_MAX_OUT, 4)
VALUE(ASC_MAX_SAVED, 6)
VALUE(ASC_SLICE_END, 9223372036854775807)
VALUE(ASC_SAFETENSORS_STORED, -1)
VALUE(ASC_SETTING_ALL, -9223372036854775807 - 1)
VALUE(ASC_MAX_DIMS, 8)
VALUE(ASC_OK, 0)
VALUE(ASC_ERR_ARG, 1)
VALUE(ASC_ERR_MEMORY, 2)
VALUE(ASC_ERR_IO, 3)
VALUE(ASC_ERR_FORMAT, 4)
VALUE(ASC_ERR_STATE, 5)
VALUE(ASC_ERR_NONFINITE, 6)
VALUE(ASC_ERR_INTERRUPTED, 7)
typedef struct asc_ctx asc_ctx;

STRUCT(asc_allocator, 24)
FIELD(asc_allocator, alloc, 0) void *(*asc_allocator_0_alloc)(void *user, size_t bytes, size_t align);
FIELD(asc_allocator, free, 8) void (*asc_allocator_0_free)(void *user, void *memory, size_t bytes);
FIELD(asc_allocator, user, 16) void *asc_allocator_0_user;

STRUCT(asc_options, 56)
FIELD(asc_options, threads, 0) int asc_options_0_threads;
FIELD(asc_options, seed, 8) uint64_t asc_options_0_seed;
FIELD(asc_options, allocator, 16) asc_allocator asc_options_0_allocator;
FIELD(asc_options, message, 40) void (*asc_options_0_message)(void *user, const char *text);
FIELD(asc_options, message_user, 48) void *asc_options_0_message_user;
asc_ctx *asc_ctx_new(const asc_options *options);
void asc_ctx_free(asc_ctx *ctx);
int asc_threads(const asc_ctx *ctx);
asc_status asc_set_threads(asc_ctx *ctx, int threads);
asc_status asc_error(const asc_ctx *ctx);
const char *asc_status_name(asc_status status);
const char *asc_error_message(const asc_ctx *ctx);
const char *asc_error_subject(const asc_ctx *ctx);
const char *asc_error_detail(const asc_ctx *ctx);
void asc_error_clear(asc_ctx *ctx);
asc_status asc_fail(asc_ctx *ctx, asc_status status, const char *format, ...);
asc_status asc_fail_on(asc_ctx *ctx, asc_status status, const char *subject, const char *format, ...);
void *asc_alloc(asc_ctx *ctx, size_t bytes);
void asc_free(asc_ctx *ctx, void *memory, size_t bytes);

STRUCT(asc_memory_stats, 24)
FIELD(asc_memory_stats, bytes, 0) size_t asc_memory_stats_0_bytes;
FIELD(asc_memory_stats, peak_bytes, 8) size_t asc_memory_stats_0_peak_bytes;
FIELD(asc_memory_stats, allocations, 16) uint64_t asc_memory_stats_0_allocations;
asc_memory_stats asc_memory(const asc_ctx *ctx);
typedef void asc_piece_fn(void *arg, int64_t piece, int worker);
void asc_parallel(asc_ctx *ctx, int64_t pieces, asc_piece_fn *fn, void *arg);
void asc_set_interrupt(asc_ctx *ctx, bool (*go_on)(void *user), void *user);
bool asc_interrupted(asc_ctx *ctx);
VALUE(ASC_PRECISION_F32, 0)
VALUE(ASC_PRECISION_BF16, 1)
asc_status asc_set_precision(asc_ctx *ctx, asc_precision precision);
asc_precision asc_precision_of(const asc_ctx *ctx);
int asc_version(void);

STRUCT(asc_machine, 112)
FIELD(asc_machine, version, 0) const char *asc_machine_0_version;
FIELD(asc_machine, isa, 8) const char *asc_machine_0_isa;
FIELD(asc_machine, best_isa, 16) const char *asc_machine_0_best_isa;
FIELD(asc_machine, blas, 24) const char *asc_machine_0_blas;
FIELD(asc_machine, blas_core, 32) const char *asc_machine_0_blas_core;
FIELD(asc_machine, blas_advice, 40) const char *asc_machine_0_blas_advice;
FIELD(asc_machine, blas_serial, 48) bool asc_machine_0_blas_serial;
FIELD(asc_machine, isa_refused, 56) const char *asc_machine_0_isa_refused;
FIELD(asc_machine, processors, 64) int asc_machine_0_processors;
FIELD(asc_machine, processor, 72) const char *asc_machine_0_processor;
FIELD(asc_machine, memory_bytes, 80) double asc_machine_0_memory_bytes;
FIELD(asc_machine, bf16, 88) const char *asc_machine_0_bf16;
FIELD(asc_machine, products, 96) const char *asc_machine_0_products;
FIELD(asc_machine, products_refused, 104) const char *asc_machine_0_products_refused;
asc_machine asc_machine_info(void);
double asc_gemm_speed(asc_ctx *ctx, int64_t m, int64_t n, int64_t k);
double asc_gemm_speed_of(asc_ctx *ctx, asc_precision precision, int64_t m, int64_t n, int64_t k);
double asc_memory_speed(asc_ctx *ctx);
typedef struct asc_batches asc_batches;
asc_batches *asc_batches_new(asc_ctx *ctx, const asc_tensor *tensors, int n, int64_t batch, uint64_t seed);
void asc_batches_free(asc_batches *batches);
bool asc_batches_next(asc_batches *batches, asc_tensor *out);

STRUCT(asc_bench_result, 72)
FIELD(asc_bench_result, tokens_per_s, 0) double asc_bench_result_0_tokens_per_s;
FIELD(asc_bench_result, step_ms, 8) double asc_bench_result_0_step_ms;
FIELD(asc_bench_result, gflop_per_token, 16) double asc_bench_result_0_gflop_per_token;
FIELD(asc_bench_result, gflops, 24) double asc_bench_result_0_gflops;
FIELD(asc_bench_result, sgemm_gflops, 32) double asc_bench_result_0_sgemm_gflops;
FIELD(asc_bench_result, gemm_gflops, 40) double asc_bench_result_0_gemm_gflops;
FIELD(asc_bench_result, efficiency, 48) double asc_bench_result_0_efficiency;
FIELD(asc_bench_result, paired_efficiency, 56) double asc_bench_result_0_paired_efficiency;
FIELD(asc_bench_result, peak_rss_mib, 64) double asc_bench_result_0_peak_rss_mib;
asc_status asc_bench_train(asc_ctx *ctx, const asc_settings *settings, int64_t vocab, int64_t steps, asc_bench_result *result);
double asc_bench_speed(asc_ctx *ctx, const asc_settings *settings, int64_t vocab, int64_t steps);
double asc_bench_sgemm(asc_ctx *ctx, const asc_settings *settings);
double asc_bench_gemm(asc_ctx *ctx, const asc_settings *settings);
asc_status asc_bench_flops(asc_ctx *ctx, asc_lm *lm, double *all, double *mixing);

STRUCT(asc_bench_layer_result, 24)
FIELD(asc_bench_layer_result, ms, 0) double asc_bench_layer_result_0_ms;
FIELD(asc_bench_layer_result, peak_bytes, 8) size_t asc_bench_layer_result_0_peak_bytes;
FIELD(asc_bench_layer_result, tokens, 16) int64_t asc_bench_layer_result_0_tokens;
asc_status asc_bench_layer(asc_ctx *ctx, const asc_settings *settings, int64_t length, int64_t steps, asc_bench_layer_result *result);
asc_status asc_bench_layer_cross(asc_ctx *ctx, const asc_settings *settings, int64_t length, int64_t context, int64_t steps, asc_bench_layer_result *result);
asc_status asc_bench_generate(asc_ctx *ctx, const asc_settings *settings, int64_t vocab, const int64_t *positions, int n, int64_t steps, double *ms);

STRUCT(asc_bench_encode_result, 48)
FIELD(asc_bench_encode_result, sentences_per_s, 0) double asc_bench_encode_result_0_sentences_per_s;
FIELD(asc_bench_encode_result, tokens_per_s, 8) double asc_bench_encode_result_0_tokens_per_s;
FIELD(asc_bench_encode_result, gflops, 16) double asc_bench_encode_result_0_gflops;
FIELD(asc_bench_encode_result, sgemm_gflops, 24) double asc_bench_encode_result_0_sgemm_gflops;
FIELD(asc_bench_encode_result, efficiency, 32) double asc_bench_encode_result_0_efficiency;
FIELD(asc_bench_encode_result, peak_rss_mib, 40) double asc_bench_encode_result_0_peak_rss_mib;
asc_status asc_bench_encode(asc_ctx *ctx, asc_encoder *encoder, const asc_sentences *sentences, int64_t runs, asc_bench_encode_result *result);

STRUCT(asc_bench_limits, 24)
FIELD(asc_bench_limits, sgemm_gflops, 0) double asc_bench_limits_0_sgemm_gflops;
FIELD(asc_bench_limits, memory_gbs, 8) double asc_bench_limits_0_memory_gbs;
FIELD(asc_bench_limits, gemm_gflops, 16) double asc_bench_limits_0_gemm_gflops;

STRUCT(asc_bench_pass, 48)
FIELD(asc_bench_pass, runs, 0) int asc_bench_pass_0_runs;
FIELD(asc_bench_pass, ms, 8) double asc_bench_pass_0_ms;
FIELD(asc_bench_pass, gflops, 16) double asc_bench_pass_0_gflops;
FIELD(asc_bench_pass, gbs, 24) double asc_bench_pass_0_gbs;
FIELD(asc_bench_pass, share, 32) double asc_bench_pass_0_share;
FIELD(asc_bench_pass, memory_binds, 40) bool asc_bench_pass_0_memory_binds;

STRUCT(asc_bench_op_result, 104)
FIELD(asc_bench_op_result, forward, 0) asc_bench_pass asc_bench_op_result_0_forward;
FIELD(asc_bench_op_result, backward, 48) asc_bench_pass asc_bench_op_result_0_backward;
FIELD(asc_bench_op_result, peak_bytes, 96) size_t asc_bench_op_result_0_peak_bytes;
asc_status asc_bench_op(asc_ctx *ctx, const asc_op *op, double seconds, const asc_bench_limits *limits, asc_bench_op_result *result);
asc_status asc_builtin_text(asc_ctx *ctx, int64_t words, uint64_t seed, const char *split, char **text, size_t *bytes, size_t *capacity, double *source_nats, int64_t *source_tokens);
asc_status asc_builtin_score(asc_ctx *ctx, const char *text, size_t bytes, int64_t memory, double *nats, int64_t *tokens);
VALUE(ASC_BUILTIN_LABEL_WORD_CLASS, 0)
VALUE(ASC_BUILTIN_LABEL_SENTENCE, 1)
VALUE(ASC_BUILTIN_LABEL_NAME, 2)
VALUE(ASC_BUILTIN_LABEL_PLACE, 3)
const char *asc_builtin_class_name(int64_t word_class);
asc_status asc_builtin_labels(asc_ctx *ctx, const char *text, size_t bytes, asc_builtin_label label, int64_t *labels, int64_t room, int64_t *tokens);
asc_status asc_builtin_token_labels(const asc_tokenizer *tokenizer, const char *text, size_t bytes, asc_builtin_label label, int64_t *labels, int64_t n);

STRUCT(asc_gradcheck_options, 32)
FIELD(asc_gradcheck_options, seed, 0) uint64_t asc_gradcheck_options_0_seed;
FIELD(asc_gradcheck_options, multiple, 8) double asc_gradcheck_options_0_multiple;
FIELD(asc_gradcheck_options, most_elements, 16) int64_t asc_gradcheck_options_0_most_elements;
FIELD(asc_gradcheck_options, stop, 24) bool asc_gradcheck_options_0_stop;

STRUCT(asc_gradcheck_value, 184)
FIELD(asc_gradcheck_value, sample, 0) int asc_gradcheck_value_0_sample;
FIELD(asc_gradcheck_value, note, 8) const char *asc_gradcheck_value_0_note;
FIELD(asc_gradcheck_value, variant, 16) char asc_gradcheck_value_0_variant[32];
FIELD(asc_gradcheck_value, part, 48) const char *asc_gradcheck_value_0_part;
FIELD(asc_gradcheck_value, tensor, 56) char asc_gradcheck_value_0_tensor[32];
FIELD(asc_gradcheck_value, ndim, 88) int asc_gradcheck_value_0_ndim;
FIELD(asc_gradcheck_value, index, 96) int64_t asc_gradcheck_value_0_index[ASC_MAX_DIMS];
FIELD(asc_gradcheck_value, analytic, 160) double asc_gradcheck_value_0_analytic;
FIELD(asc_gradcheck_value, numeric, 168) double asc_gradcheck_value_0_numeric;
FIELD(asc_gradcheck_value, bound, 176) double asc_gradcheck_value_0_bound;

STRUCT(asc_gradcheck_report, 640)
FIELD(asc_gradcheck_report, op, 0) const char *asc_gradcheck_report_0_op;
FIELD(asc_gradcheck_report, passed, 8) bool asc_gradcheck_report_0_passed;
FIELD(asc_gradcheck_report, cases, 12) int asc_gradcheck_report_0_cases;
FIELD(asc_gradcheck_report, variants, 16) int asc_gradcheck_report_0_variants;
FIELD(asc_gradcheck_report, large, 20) int asc_gradcheck_report_0_large;
FIELD(asc_gradcheck_report, elements, 24) int64_t asc_gradcheck_report_0_elements;
FIELD(asc_gradcheck_report, directions, 32) int64_t asc_gradcheck_report_0_directions;
FIELD(asc_gradcheck_report, unchecked, 40) int64_t asc_gradcheck_report_0_unchecked;
FIELD(asc_gradcheck_report, kinks, 48) int64_t asc_gradcheck_report_0_kinks;
FIELD(asc_gradcheck_report, failures, 56) int64_t asc_gradcheck_report_0_failures;
FIELD(asc_gradcheck_report, digits, 64) double asc_gradcheck_report_0_digits;
FIELD(asc_gradcheck_report, worst_ratio, 72) double asc_gradcheck_report_0_worst_ratio;
FIELD(asc_gradcheck_report, worst_error, 80) double asc_gradcheck_report_0_worst_error;
FIELD(asc_gradcheck_report, worst, 88) asc_gradcheck_value asc_gradcheck_report_0_worst;
FIELD(asc_gradcheck_report, first, 272) asc_gradcheck_value asc_gradcheck_report_0_first;
FIELD(asc_gradcheck_report, kink, 456) asc_gradcheck_value asc_gradcheck_report_0_kink;
asc_status asc_gradcheck(asc_ctx *ctx, const asc_op *op, const asc_gradcheck_options *options, asc_gradcheck_report *report);
VALUE(ASC_MUTANT_SIGN, 0)
VALUE(ASC_MUTANT_FACTOR, 1)
VALUE(ASC_MUTANT_DROPPED, 2)
VALUE(ASC_MUTANT_SWAPPED, 3)
VALUE(ASC_MUTANT_OVERWRITTEN, 4)
VALUE(ASC_MUTANT_NOT_WRITTEN, 5)
VALUE(ASC_MUTANT_SHIFTED, 6)
VALUE(ASC_MUTANTS, 7)
const char *asc_mutant_name(asc_mutant kind);

STRUCT(asc_mutant_count, 12)
FIELD(asc_mutant_count, made, 0) int asc_mutant_count_0_made;
FIELD(asc_mutant_count, caught, 4) int asc_mutant_count_0_caught;
FIELD(asc_mutant_count, same, 8) int asc_mutant_count_0_same;

STRUCT(asc_mutants_report, 136)
FIELD(asc_mutants_report, op, 0) const char *asc_mutants_report_0_op;
FIELD(asc_mutants_report, passed, 8) bool asc_mutants_report_0_passed;
FIELD(asc_mutants_report, sound, 9) bool asc_mutants_report_0_sound;
FIELD(asc_mutants_report, kind, 12) asc_mutant_count asc_mutants_report_0_kind[ASC_MUTANTS];
FIELD(asc_mutants_report, survived, 96) int asc_mutants_report_0_survived;
FIELD(asc_mutants_report, survivor, 100) asc_mutant asc_mutants_report_0_survivor;
FIELD(asc_mutants_report, survivor_input, 104) char asc_mutants_report_0_survivor_input[32];
asc_status asc_gradcheck_mutants(asc_ctx *ctx, const asc_op *op, const asc_gradcheck_options *options, asc_mutants_report *report);

STRUCT(asc_causal_report, 72)
FIELD(asc_causal_report, mixing, 0) const char *asc_causal_report_0_mixing;
FIELD(asc_causal_report, causal, 8) bool asc_causal_report_0_causal;
FIELD(asc_causal_report, context, 9) bool asc_causal_report_0_context;
FIELD(asc_causal_report, passed, 10) bool asc_causal_report_0_passed;
FIELD(asc_causal_report, moments, 12) int asc_causal_report_0_moments;
FIELD(asc_causal_report, outputs, 16) int64_t asc_causal_report_0_outputs;
FIELD(asc_causal_report, gradients, 24) int64_t asc_causal_report_0_gradients;
FIELD(asc_causal_report, failures, 32) int64_t asc_causal_report_0_failures;
FIELD(asc_causal_report, first_is_gradient, 40) bool asc_causal_report_0_first_is_gradient;
FIELD(asc_causal_report, first_position, 48) int64_t asc_causal_report_0_first_position;
FIELD(asc_causal_report, first_moment, 56) int64_t asc_causal_report_0_first_moment;
FIELD(asc_causal_report, first_of, 64) const char *asc_causal_report_0_first_of;
asc_status asc_causal_check(asc_ctx *ctx, const char *mixing, const char *config, const asc_gradcheck_options *options, asc_causal_report *report);
asc_status asc_lm_causal_check(asc_ctx *ctx, asc_lm *lm, const asc_gradcheck_options *options, asc_causal_report *report);

STRUCT(asc_comm, 56)
FIELD(asc_comm, rank, 0) int asc_comm_0_rank;
FIELD(asc_comm, size, 4) int asc_comm_0_size;
FIELD(asc_comm, mixed, 8) bool asc_comm_0_mixed;
FIELD(asc_comm, send, 16) int (*asc_comm_0_send)(void *user, int to, const void *data, size_t bytes);
FIELD(asc_comm, receive, 24) int (*asc_comm_0_receive)(void *user, int from, void *data, size_t bytes);
FIELD(asc_comm, error, 32) const char *(*asc_comm_0_error)(void *user);
FIELD(asc_comm, user, 40) void *asc_comm_0_user;
FIELD(asc_comm, exchange, 48) int (*asc_comm_0_exchange)(void *user, int other, const void *out, void *in, size_t out_bytes, size_t in_bytes);
asc_status asc_set_comm(asc_ctx *ctx, const asc_comm *comm);
bool asc_comm_lost(const asc_ctx *ctx);
const char *asc_mpi_version(void);
bool asc_mpi_launched(void);
asc_status asc_mpi_open(asc_ctx *ctx, double timeout_s, asc_comm *comm);
void asc_mpi_close(asc_comm *comm);
void asc_mpi_abort(const asc_comm *comm, int status);

STRUCT(asc_score_part, 32)
FIELD(asc_score_part, nats, 0) double asc_score_part_0_nats;
FIELD(asc_score_part, tokens, 8) int64_t asc_score_part_0_tokens;
FIELD(asc_score_part, bytes, 16) int64_t asc_score_part_0_bytes;
FIELD(asc_score_part, right, 24) int64_t asc_score_part_0_right;

STRUCT(asc_scores, 192)
FIELD(asc_scores, result, 0) asc_eval_result asc_scores_0_result;
FIELD(asc_scores, parameters, 72) int64_t asc_scores_0_parameters;
FIELD(asc_scores, block, 80) int64_t asc_scores_0_block;
FIELD(asc_scores, carry, 88) int64_t asc_scores_0_carry;
FIELD(asc_scores, text_checksum, 96) uint32_t asc_scores_0_text_checksum;
FIELD(asc_scores, token_checksum, 100) uint32_t asc_scores_0_token_checksum;
FIELD(asc_scores, seed, 104) int64_t asc_scores_0_seed;
FIELD(asc_scores, train_checksum, 112) uint32_t asc_scores_0_train_checksum;
FIELD(asc_scores, tokens_per_s, 120) double asc_scores_0_tokens_per_s;
FIELD(asc_scores, model_checksum, 128) char asc_scores_0_model_checksum[9];
FIELD(asc_scores, pairs, 144) int64_t asc_scores_0_pairs;
FIELD(asc_scores, classes, 152) int64_t asc_scores_0_classes;
FIELD(asc_scores, n_blocks, 160) int64_t asc_scores_0_n_blocks;
FIELD(asc_scores, n_lines, 168) int64_t asc_scores_0_n_lines;
FIELD(asc_scores, blocks, 176) const asc_score_part *asc_scores_0_blocks;
FIELD(asc_scores, lines, 184) const asc_score_part *asc_scores_0_lines;
asc_scores *asc_score(asc_ctx *ctx, const asc_model *model, const asc_split *split, const asc_eval_options *options);
void asc_scores_free(asc_ctx *ctx, asc_scores *scores);
asc_status asc_scores_write(asc_ctx *ctx, const asc_scores *scores, const char *path);
asc_scores *asc_scores_read(asc_ctx *ctx, const char *path);

STRUCT(asc_system, 24)
FIELD(asc_system, name, 0) const char *asc_system_0_name;
FIELD(asc_system, scores, 8) const asc_scores *const *asc_system_0_scores;
FIELD(asc_system, seeds, 16) int64_t asc_system_0_seeds;

STRUCT(asc_compare_options, 32)
FIELD(asc_compare_options, resampling, 0) asc_resampling asc_compare_options_0_resampling;
FIELD(asc_compare_options, pairs, 16) const int64_t (*asc_compare_options_0_pairs)[2];
FIELD(asc_compare_options, n_pairs, 24) int64_t asc_compare_options_0_n_pairs;
VALUE(ASC_UNIT_BLOCK, 0)
VALUE(ASC_UNIT_TEXT, 1)
VALUE(ASC_UNIT_PAIR, 2)

STRUCT(asc_spread, 16)
FIELD(asc_spread, mean, 0) double asc_spread_0_mean;
FIELD(asc_spread, std, 8) double asc_spread_0_std;

STRUCT(asc_system_result, 112)
FIELD(asc_system_result, seeds, 0) int64_t asc_system_result_0_seeds;
FIELD(asc_system_result, parameters, 8) int64_t asc_system_result_0_parameters;
FIELD(asc_system_result, loss, 16) asc_spread asc_system_result_0_loss;
FIELD(asc_system_result, ppl, 32) asc_spread asc_system_result_0_ppl;
FIELD(asc_system_result, bits_per_byte, 48) asc_spread asc_system_result_0_bits_per_byte;
FIELD(asc_system_result, tokens_per_s, 64) asc_spread asc_system_result_0_tokens_per_s;
FIELD(asc_system_result, accuracy, 80) asc_spread asc_system_result_0_accuracy;
FIELD(asc_system_result, seed_pairs, 96) int64_t asc_system_result_0_seed_pairs;
FIELD(asc_system_result, differing, 104) int64_t asc_system_result_0_differing;

STRUCT(asc_seed_test, 32)
FIELD(asc_seed_test, n, 0) int64_t asc_seed_test_0_n;
FIELD(asc_seed_test, difference, 8) double asc_seed_test_0_difference;
FIELD(asc_seed_test, p, 16) double asc_seed_test_0_p;
FIELD(asc_seed_test, p_least, 24) double asc_seed_test_0_p_least;

STRUCT(asc_class_comparison, 144)
FIELD(asc_class_comparison, items, 0) asc_pair_stats asc_class_comparison_0_items;
FIELD(asc_class_comparison, p_holm, 88) double asc_class_comparison_0_p_holm;
FIELD(asc_class_comparison, seeds, 96) asc_seed_test asc_class_comparison_0_seeds;
FIELD(asc_class_comparison, n_mcnemar, 128) int64_t asc_class_comparison_0_n_mcnemar;
FIELD(asc_class_comparison, mcnemar, 136) const asc_mcnemar *asc_class_comparison_0_mcnemar;

STRUCT(asc_comparison, 160)
FIELD(asc_comparison, a, 0) int64_t asc_comparison_0_a;
FIELD(asc_comparison, b, 8) int64_t asc_comparison_0_b;
FIELD(asc_comparison, items, 16) asc_pair_stats asc_comparison_0_items;
FIELD(asc_comparison, p_holm, 104) double asc_comparison_0_p_holm;
FIELD(asc_comparison, p_holm_bootstrap, 112) double asc_comparison_0_p_holm_bootstrap;
FIELD(asc_comparison, seeds, 120) asc_seed_test asc_comparison_0_seeds;
FIELD(asc_comparison, classes, 152) const asc_class_comparison *asc_comparison_0_classes;

STRUCT(asc_compared, 56)
FIELD(asc_compared, unit, 0) asc_unit asc_compared_0_unit;
FIELD(asc_compared, reason, 8) const char *asc_compared_0_reason;
FIELD(asc_compared, n, 16) int64_t asc_compared_0_n;
FIELD(asc_compared, n_systems, 24) int64_t asc_compared_0_n_systems;
FIELD(asc_compared, n_comparisons, 32) int64_t asc_compared_0_n_comparisons;
FIELD(asc_compared, system, 40) const asc_system_result *asc_compared_0_system;
FIELD(asc_compared, comparison, 48) const asc_comparison *asc_compared_0_comparison;
asc_compared *asc_compare(asc_ctx *ctx, const asc_system *systems, int64_t n, const asc_compare_options *options);
void asc_compared_free(asc_ctx *ctx, asc_compared *compared);

STRUCT(asc_seed_interval, 32)
FIELD(asc_seed_interval, n, 0) int64_t asc_seed_interval_0_n;
FIELD(asc_seed_interval, difference, 8) double asc_seed_interval_0_difference;
FIELD(asc_seed_interval, low, 16) double asc_seed_interval_0_low;
FIELD(asc_seed_interval, high, 24) double asc_seed_interval_0_high;
asc_status asc_compare_seeds(asc_ctx *ctx, const asc_system *a, const asc_system *b, asc_unit unit, bool right, asc_seed_interval *result);
typedef struct asc_sink asc_sink;
typedef struct asc_tokenizer_kind asc_tokenizer_kind;

STRUCT(asc_tokenizer, 40)
FIELD(asc_tokenizer, ctx, 0) asc_ctx *asc_tokenizer_0_ctx;
FIELD(asc_tokenizer, kind, 8) const asc_tokenizer_kind *asc_tokenizer_0_kind;
FIELD(asc_tokenizer, self, 16) void *asc_tokenizer_0_self;
FIELD(asc_tokenizer, unknown, 24) int32_t asc_tokenizer_0_unknown;
FIELD(asc_tokenizer, eos, 28) int32_t asc_tokenizer_0_eos;
FIELD(asc_tokenizer, vocabulary, 32) struct asc_strings *asc_tokenizer_0_vocabulary;

STRUCT(asc_decoder, 40)
FIELD(asc_decoder, tokenizer, 0) const asc_tokenizer *asc_decoder_0_tokenizer;
FIELD(asc_decoder, self, 8) void *asc_decoder_0_self;
FIELD(asc_decoder, out, 16) char *asc_decoder_0_out;
FIELD(asc_decoder, n, 24) size_t asc_decoder_0_n;
FIELD(asc_decoder, capacity, 32) size_t asc_decoder_0_capacity;

STRUCT(asc_tokenizer_kind, 120)
FIELD(asc_tokenizer_kind, abi, 0) unsigned asc_tokenizer_kind_0_abi;
FIELD(asc_tokenizer_kind, name, 8) const char *asc_tokenizer_kind_0_name;
FIELD(asc_tokenizer_kind, argument, 16) const char *asc_tokenizer_kind_0_argument;
FIELD(asc_tokenizer_kind, is_path, 24) bool asc_tokenizer_kind_0_is_path;
FIELD(asc_tokenizer_kind, has_vocabulary, 25) bool asc_tokenizer_kind_0_has_vocabulary;
FIELD(asc_tokenizer_kind, size, 32) size_t asc_tokenizer_kind_0_size;
FIELD(asc_tokenizer_kind, decoder_size, 40) size_t asc_tokenizer_kind_0_decoder_size;
FIELD(asc_tokenizer_kind, make, 48) asc_status (*asc_tokenizer_kind_0_make)(asc_tokenizer *tokenizer, const char *argument);
FIELD(asc_tokenizer_kind, load, 56) asc_status (*asc_tokenizer_kind_0_load)(asc_tokenizer *tokenizer, asc_text *text, const char *name);
FIELD(asc_tokenizer_kind, encode, 64) asc_status (*asc_tokenizer_kind_0_encode)(const asc_tokenizer *tokenizer, const char *text, size_t bytes, unsigned flags, asc_ids *ids);
FIELD(asc_tokenizer_kind, decode, 72) asc_status (*asc_tokenizer_kind_0_decode)(asc_decoder *decoder, int32_t id, const char *piece, size_t bytes);
FIELD(asc_tokenizer_kind, save, 80) asc_status (*asc_tokenizer_kind_0_save)(const asc_tokenizer *tokenizer, asc_sink *sink);
FIELD(asc_tokenizer_kind, collect, 88) asc_status (*asc_tokenizer_kind_0_collect)(asc_tokenizer *tokenizer, const char *text, size_t bytes);
FIELD(asc_tokenizer_kind, is_ready, 96) bool (*asc_tokenizer_kind_0_is_ready)(const asc_tokenizer *tokenizer);
FIELD(asc_tokenizer_kind, finish, 104) asc_status (*asc_tokenizer_kind_0_finish)(asc_decoder *decoder);
FIELD(asc_tokenizer_kind, clear, 112) void (*asc_tokenizer_kind_0_clear)(asc_tokenizer *tokenizer);
int32_t asc_vocabulary_add(asc_tokenizer *tokenizer, const char *piece, size_t bytes);
int32_t asc_vocabulary_find(const asc_tokenizer *tokenizer, const char *piece, size_t bytes);
asc_status asc_vocabulary_read(asc_tokenizer *tokenizer, asc_text *text, const char *name);
asc_status asc_ids_push(asc_ctx *ctx, asc_ids *ids, int32_t id);
asc_status asc_decoder_put(asc_decoder *decoder, const char *text, size_t bytes);
asc_status asc_sink_put(asc_sink *sink, const void *bytes, size_t n);
asc_status asc_tokenizer_register(asc_ctx *ctx, const asc_tokenizer_kind *kind);
const asc_tokenizer_kind *asc_tokenizer_kind_at(const asc_ctx *ctx, int i);
const asc_tokenizer_kind *asc_tokenizer_kind_find(const asc_ctx *ctx, const char *spec);
typedef struct asc_data_source asc_data_source;

STRUCT(asc_dataset, 32)
FIELD(asc_dataset, ctx, 0) asc_ctx *asc_dataset_0_ctx;
FIELD(asc_dataset, source, 8) const asc_data_source *asc_dataset_0_source;
FIELD(asc_dataset, self, 16) void *asc_dataset_0_self;
FIELD(asc_dataset, spec, 24) const char *asc_dataset_0_spec;

STRUCT(asc_source_reader, 32)
FIELD(asc_source_reader, data, 0) asc_dataset *asc_source_reader_0_data;
FIELD(asc_source_reader, split, 8) asc_split_kind asc_source_reader_0_split;
FIELD(asc_source_reader, self, 16) void *asc_source_reader_0_self;
FIELD(asc_source_reader, skipped, 24) int64_t asc_source_reader_0_skipped;

STRUCT(asc_text_piece, 24)
FIELD(asc_text_piece, text, 0) const char *asc_text_piece_0_text;
FIELD(asc_text_piece, bytes, 8) size_t asc_text_piece_0_bytes;
FIELD(asc_text_piece, given, 16) bool asc_text_piece_0_given;
FIELD(asc_text_piece, last, 17) bool asc_text_piece_0_last;
FIELD(asc_text_piece, label, 20) int32_t asc_text_piece_0_label;

STRUCT(asc_data_source, 136)
FIELD(asc_data_source, abi, 0) unsigned asc_data_source_0_abi;
FIELD(asc_data_source, name, 8) const char *asc_data_source_0_name;
FIELD(asc_data_source, spec, 16) const char *asc_data_source_0_spec;
FIELD(asc_data_source, is_path, 24) bool asc_data_source_0_is_path;
FIELD(asc_data_source, sequences, 25) bool asc_data_source_0_sequences;
FIELD(asc_data_source, size, 32) size_t asc_data_source_0_size;
FIELD(asc_data_source, reader_size, 40) size_t asc_data_source_0_reader_size;
FIELD(asc_data_source, takes, 48) bool (*asc_data_source_0_takes)(const char *spec);
FIELD(asc_data_source, open, 56) asc_status (*asc_data_source_0_open)(asc_dataset *data, const char *argument);
FIELD(asc_data_source, close, 64) void (*asc_data_source_0_close)(asc_dataset *data);
FIELD(asc_data_source, begin, 72) asc_status (*asc_data_source_0_begin)(asc_source_reader *reader);
FIELD(asc_data_source, next, 80) asc_status (*asc_data_source_0_next)(asc_source_reader *reader, asc_text_piece *piece);
FIELD(asc_data_source, end, 88) void (*asc_data_source_0_end)(asc_source_reader *reader);
FIELD(asc_data_source, entropy, 96) asc_status (*asc_data_source_0_entropy)(asc_dataset *data, asc_split_kind split, asc_entropy *entropy);
FIELD(asc_data_source, class_name, 104) const char *(*asc_data_source_0_class_name)(const asc_dataset *data, int32_t i);
FIELD(asc_data_source, words, 112) asc_status (*asc_data_source_0_words)(asc_dataset *data, asc_tokenizer *tokenizer);
FIELD(asc_data_source, longest, 120) int64_t (*asc_data_source_0_longest)(const asc_dataset *data);
FIELD(asc_data_source, stretch, 128) asc_status (*asc_data_source_0_stretch)(asc_dataset *data, int64_t length);
asc_status asc_data_source_register(asc_ctx *ctx, const asc_data_source *source);
const asc_data_source *asc_data_source_at(const asc_ctx *ctx, int i);
const asc_data_source *asc_data_source_find(const asc_ctx *ctx, const char *spec);
typedef struct asc_text asc_text;
VALUE(ASC_TEXT_NUL, 1)
VALUE(ASC_TEXT_OWN, 2)
asc_text *asc_text_open(asc_ctx *ctx, const char *path, unsigned flags);
asc_text *asc_text_open_memory(asc_ctx *ctx, const char *name, const char *data, size_t bytes, unsigned flags);
asc_status asc_text_next(asc_text *text, const char **line, size_t *bytes);
int64_t asc_text_bytes(const asc_text *text);
int64_t asc_text_lines(const asc_text *text);
void asc_text_close(asc_text *text);
typedef struct asc_tokenizer asc_tokenizer;

STRUCT(asc_ids, 24)
FIELD(asc_ids, data, 0) int32_t *asc_ids_0_data;
FIELD(asc_ids, n, 8) size_t asc_ids_0_n;
FIELD(asc_ids, capacity, 16) size_t asc_ids_0_capacity;
void asc_ids_free(asc_ctx *ctx, asc_ids *ids);
VALUE(ASC_ENCODE_CORPUS, 1)
asc_tokenizer *asc_tokenizer_new(asc_ctx *ctx, const char *spec);
asc_tokenizer *asc_tokenizer_load(asc_ctx *ctx, const char *name, const char *path);
asc_tokenizer *asc_tokenizer_parse(asc_ctx *ctx, const char *name, const char *source, const char *vocabulary, size_t bytes);
asc_status asc_tokenizer_save(const asc_tokenizer *tokenizer, const char *path);
char *asc_tokenizer_text(const asc_tokenizer *tokenizer, size_t *bytes, size_t *capacity);
void asc_tokenizer_free(asc_tokenizer *tokenizer);
asc_status asc_tokenizer_collect(asc_tokenizer *tokenizer, const char *text, size_t bytes);
asc_status asc_tokenizer_encode(const asc_tokenizer *tokenizer, const char *text, size_t bytes, unsigned flags, asc_ids *ids);
size_t asc_tokenizer_find_unknown(const asc_tokenizer *tokenizer, const char *text, size_t bytes, size_t *at);
const char *asc_tokenizer_name(const asc_tokenizer *tokenizer);
int64_t asc_tokenizer_size(const asc_tokenizer *tokenizer);
int32_t asc_tokenizer_unknown(const asc_tokenizer *tokenizer);
int32_t asc_tokenizer_eos(const asc_tokenizer *tokenizer);
const char *asc_tokenizer_piece(const asc_tokenizer *tokenizer, int32_t id, size_t *bytes);
typedef struct asc_bpe_learner asc_bpe_learner;
asc_bpe_learner *asc_bpe_learner_new(asc_ctx *ctx);
void asc_bpe_learner_free(asc_bpe_learner *learner);
asc_status asc_bpe_learner_add(asc_bpe_learner *learner, const char *text, size_t bytes);
asc_status asc_bpe_learner_save(asc_bpe_learner *learner, int64_t vocab_size, const char *path, int64_t *learned);
typedef struct asc_decoder asc_decoder;
asc_decoder *asc_decoder_new(const asc_tokenizer *tokenizer);
const char *asc_decoder_next(asc_decoder *decoder, int32_t id, size_t *bytes);
const char *asc_decoder_end(asc_decoder *decoder, size_t *bytes);
void asc_decoder_free(asc_decoder *decoder);
VALUE(ASC_SPLIT_TRAIN, 0)
VALUE(ASC_SPLIT_VALID, 1)
VALUE(ASC_SPLIT_TEST, 2)
typedef struct asc_dataset asc_dataset;
asc_dataset *asc_dataset_open(asc_ctx *ctx, const char *spec);
void asc_dataset_free(asc_dataset *dataset);

STRUCT(asc_entropy, 16)
FIELD(asc_entropy, nats, 0) double asc_entropy_0_nats;
FIELD(asc_entropy, tokens, 8) int64_t asc_entropy_0_tokens;
asc_status asc_dataset_stretch(asc_dataset *dataset, int64_t length);
int64_t asc_dataset_longest(const asc_dataset *dataset);
const char *asc_dataset_class(const asc_dataset *dataset, int32_t i);
bool asc_dataset_entropy(asc_dataset *dataset, asc_split_kind kind, asc_entropy *entropy);
asc_status asc_dataset_collect(asc_dataset *dataset, asc_tokenizer *tokenizer);

STRUCT(asc_split_line, 16)
FIELD(asc_split_line, tokens, 0) int64_t asc_split_line_0_tokens;
FIELD(asc_split_line, bytes, 8) int64_t asc_split_line_0_bytes;

STRUCT(asc_split, 104)
FIELD(asc_split, tokens, 0) const int32_t *asc_split_0_tokens;
FIELD(asc_split, n_tokens, 8) int64_t asc_split_0_n_tokens;
FIELD(asc_split, bytes, 16) int64_t asc_split_0_bytes;
FIELD(asc_split, given, 24) const uint8_t *asc_split_0_given;
FIELD(asc_split, n_sequences, 32) int64_t asc_split_0_n_sequences;
FIELD(asc_split, starts, 40) const int64_t *asc_split_0_starts;
FIELD(asc_split, labels, 48) const int32_t *asc_split_0_labels;
FIELD(asc_split, classes, 56) int32_t asc_split_0_classes;
FIELD(asc_split, checksum, 60) uint32_t asc_split_0_checksum;
FIELD(asc_split, unknown, 64) int32_t asc_split_0_unknown;
FIELD(asc_split, lines, 72) const asc_split_line *asc_split_0_lines;
FIELD(asc_split, n_lines, 80) int64_t asc_split_0_n_lines;
FIELD(asc_split, seconds, 88) const int64_t *asc_split_0_seconds;
FIELD(asc_split, skipped, 96) int64_t asc_split_0_skipped;
asc_split *asc_split_load(asc_dataset *dataset, asc_split_kind kind, const asc_tokenizer *tokenizer);
asc_status asc_dataset_text(asc_dataset *dataset, asc_split_kind kind, char **text, size_t *bytes, size_t *capacity);
asc_split *asc_split_load_lines(asc_dataset *dataset, asc_split_kind kind, const asc_tokenizer *tokenizer);
void asc_split_free(asc_ctx *ctx, asc_split *split);
const char *asc_split_name(asc_split_kind kind);
int64_t asc_block_count(int64_t n_tokens, int64_t length, bool partial);
int64_t asc_block_length(int64_t n_tokens, int64_t length, int64_t i);
asc_status asc_block_order(asc_ctx *ctx, int64_t blocks, uint64_t seed, uint64_t epoch, int32_t *order);
asc_status asc_block_streams(asc_ctx *ctx, int64_t blocks, int64_t rows, int32_t *order);
int64_t asc_split_blocks(const asc_split *split, int64_t length, bool partial);
int64_t asc_split_width(const asc_split *split, int64_t length, const int32_t *which, int64_t n);
int64_t asc_split_longest(const asc_split *split);
int64_t asc_block_targets(const asc_split *split, int64_t length, const int32_t *which, int64_t n);
int64_t asc_split_targets(const asc_split *split);
asc_status asc_block_fill(asc_ctx *ctx, const asc_split *split, int64_t length, const int32_t *which, int64_t n, int64_t *inputs, int64_t *targets);
int64_t asc_class_width(const asc_split *split, const int32_t *which, int64_t n);
asc_status asc_class_fill(asc_ctx *ctx, const asc_split *split, const int32_t *which, int64_t n, int64_t *inputs, int64_t *lengths, int64_t *labels);
int64_t asc_pair_width(const asc_split *split, const int32_t *which, int64_t n, int64_t most);
asc_status asc_pair_fill(asc_ctx *ctx, const asc_split *split, const int32_t *which, int64_t n, int64_t most, int64_t *inputs, int64_t *lengths, int64_t *labels);
typedef struct asc_sentences asc_sentences;
asc_sentences *asc_sentences_new(asc_ctx *ctx, const asc_tokenizer *tokenizer, int64_t max_tokens);
void asc_sentences_free(asc_sentences *sentences);
asc_status asc_sentences_add(asc_sentences *sentences, const char *text, size_t bytes);
asc_status asc_sentences_add_pair(asc_sentences *sentences, const char *first, size_t first_bytes, const char *second, size_t second_bytes);
int64_t asc_sentences_count(const asc_sentences *sentences);
int64_t asc_sentences_total(const asc_sentences *sentences);
int64_t asc_sentences_longest(const asc_sentences *sentences);
int64_t asc_sentences_cut(const asc_sentences *sentences);
const int32_t *asc_sentences_at(const asc_sentences *sentences, int64_t i, int64_t *n, int64_t *second);
asc_status asc_sentences_fill(const asc_sentences *sentences, const int64_t *which, int64_t n, int64_t T, int64_t *tokens, int64_t *types, int64_t *lengths);
typedef struct asc_encoder asc_encoder;
asc_encoder *asc_encoder_open(asc_ctx *ctx, const char *folder, const char *vocab);
void asc_encoder_free(asc_encoder *encoder);
const char *asc_encoder_type(const asc_encoder *encoder);
int64_t asc_encoder_dim(const asc_encoder *encoder);
int64_t asc_encoder_layers(const asc_encoder *encoder);
int64_t asc_encoder_longest(const asc_encoder *encoder);
int64_t asc_encoder_parameters(const asc_encoder *encoder);
const asc_tokenizer *asc_encoder_tokenizer(const asc_encoder *encoder);
const char *asc_encoder_fingerprint(const asc_encoder *encoder);
asc_tensor asc_encoder_states(asc_encoder *encoder, asc_tensor tokens, asc_tensor types, asc_tensor lengths);
VALUE(ASC_POOLING_NONE, 0)
VALUE(ASC_POOLING_MEAN, 1)
VALUE(ASC_POOLING_CLS, 2)
VALUE(ASC_POOLING_WINDOWS, 3)

STRUCT(asc_pooling_options, 32)
FIELD(asc_pooling_options, kind, 0) asc_pooling asc_pooling_options_0_kind;
FIELD(asc_pooling_options, window, 8) int64_t asc_pooling_options_0_window;
FIELD(asc_pooling_options, stride, 16) int64_t asc_pooling_options_0_stride;
FIELD(asc_pooling_options, by_text, 24) bool asc_pooling_options_0_by_text;
const char *asc_pooling_name(asc_pooling kind);
int64_t asc_pooling_rows(const asc_pooling_options *pooling, int64_t tokens);
typedef asc_status asc_encoded_fn(void *user, int64_t i, int64_t n, const float *rows);
asc_status asc_encoder_encode(asc_encoder *encoder, const asc_sentences *sentences, const asc_pooling_options *pooling, asc_encoded_fn *take, void *user);
typedef struct asc_features asc_features;

STRUCT(asc_features_options, 64)
FIELD(asc_features_options, pooling, 0) asc_pooling_options asc_features_options_0_pooling;
FIELD(asc_features_options, cache, 32) const char *asc_features_options_0_cache;
FIELD(asc_features_options, progress, 40) void (*asc_features_options_0_progress)(void *user, double done);
FIELD(asc_features_options, say, 48) void (*asc_features_options_0_say)(void *user, const char *text);
FIELD(asc_features_options, user, 56) void *asc_features_options_0_user;
asc_features *asc_features_open(asc_encoder *encoder, const asc_sentences *sentences, const asc_features_options *options);
void asc_features_free(asc_features *features);
int64_t asc_features_count(const asc_features *features);
int64_t asc_features_dim(const asc_features *features);
int64_t asc_features_rows(const asc_features *features, int64_t i);
int64_t asc_features_first_rows(const asc_features *features, int64_t i);
int64_t asc_features_most_rows(const asc_features *features);
asc_status asc_features_read(const asc_features *features, int64_t i, float *rows);
asc_status asc_features_fill(const asc_features *features, const int64_t *which, int64_t n, int64_t W, float *rows, int64_t *lengths);
size_t asc_cache_home(char *path, size_t bytes);
asc_tensor asc_attention_profile(asc_ctx *ctx, asc_tensor attention);
asc_tensor asc_attention_entropies(asc_ctx *ctx, asc_tensor scores, asc_tensor attention, asc_tensor temperature);
asc_tensor asc_attention_pushed(asc_ctx *ctx, asc_tensor before, asc_tensor after, double threshold);
asc_tensor asc_head_rms(asc_ctx *ctx, asc_tensor x, asc_tensor attention);
asc_status asc_quantiles(asc_ctx *ctx, asc_tensor x, int n, const double *at, double *quantile);
int64_t asc_plane_space(int64_t coordinates);
asc_status asc_plane_residual(asc_ctx *ctx, asc_tensor p, double *max, double *rms);
asc_tensor asc_plane_angles(asc_ctx *ctx, asc_tensor p, asc_tensor q);
asc_tensor asc_plane_mean(asc_ctx *ctx, asc_tensor p, asc_tensor *spectrum);
asc_tensor asc_flow_path(asc_ctx *ctx, asc_tensor u);
asc_tensor asc_flow_mean(asc_ctx *ctx, asc_tensor u);
asc_tensor asc_flow_leading(asc_ctx *ctx, asc_tensor u, asc_tensor *share);
asc_tensor asc_flow_stability(asc_ctx *ctx, asc_tensor u, asc_tensor v);
typedef struct asc_mixing asc_mixing;

STRUCT(asc_layer, 152)
FIELD(asc_layer, ctx, 0) asc_ctx *asc_layer_0_ctx;
FIELD(asc_layer, mixing, 8) const asc_mixing *asc_layer_0_mixing;
FIELD(asc_layer, D, 16) int64_t asc_layer_0_D;
FIELD(asc_layer, dtype, 24) asc_dtype asc_layer_0_dtype;
FIELD(asc_layer, index, 28) int asc_layer_0_index;
FIELD(asc_layer, settings, 32) void *asc_layer_0_settings;
FIELD(asc_layer, self, 40) void *asc_layer_0_self;
FIELD(asc_layer, mask, 48) asc_tensor asc_layer_0_mask;
FIELD(asc_layer, neighbors, 64) asc_tensor asc_layer_0_neighbors;
FIELD(asc_layer, bias, 80) asc_tensor asc_layer_0_bias;
FIELD(asc_layer, context, 96) asc_tensor asc_layer_0_context;
FIELD(asc_layer, carried_states, 112) unsigned asc_layer_0_carried_states;
FIELD(asc_layer, reader, 120) struct asc_reader *asc_layer_0_reader;
FIELD(asc_layer, alone, 128) bool asc_layer_0_alone;
FIELD(asc_layer, params, 136) asc_params *asc_layer_0_params;
FIELD(asc_layer, config, 144) char *asc_layer_0_config;
bool asc_layer_given(const asc_layer *layer, const char *key);
typedef struct asc_maker asc_maker;
VALUE(ASC_INIT_ZERO, 0)
VALUE(ASC_INIT_ONE, 1)
VALUE(ASC_INIT_LINEAR, 2)
VALUE(ASC_INIT_EMBEDDING, 3)
asc_tensor asc_make_param(asc_maker *maker, const char *name, asc_init init, int ndim, const int64_t *shape);
asc_tensor asc_make_values(asc_maker *maker, const char *name, int64_t n, const double *values);

STRUCT(asc_affine, 32)
FIELD(asc_affine, weight, 0) asc_tensor asc_affine_0_weight;
FIELD(asc_affine, bias, 16) asc_tensor asc_affine_0_bias;
asc_affine asc_make_linear(asc_maker *maker, const char *name, int64_t in, int64_t out);
asc_affine asc_make_norm(asc_maker *maker, const char *name, int64_t width);
VALUE(ASC_STATES, 6)

STRUCT(asc_layer_cache, 200)
FIELD(asc_layer_cache, length, 0) int64_t asc_layer_cache_0_length;
FIELD(asc_layer_cache, state, 8) asc_tensor asc_layer_cache_0_state[ASC_STATES];
FIELD(asc_layer_cache, staged, 104) asc_tensor asc_layer_cache_0_staged[ASC_STATES];
asc_status asc_cache_make(asc_layer *layer, asc_layer_cache *cache, int which, int64_t width, int64_t capacity);
asc_tensor asc_cache_append(asc_layer *layer, const asc_layer_cache *cache, int which, asc_tensor rows);
asc_status asc_cache_stage(asc_layer *layer, asc_layer_cache *cache, int which, asc_tensor state);
asc_tensor asc_carry_again(asc_layer *layer, asc_layer_cache *held, asc_tensor past, asc_tensor x);

STRUCT(asc_logged, 16)
FIELD(asc_logged, name, 0) const char *asc_logged_0_name;
FIELD(asc_logged, inspected, 8) bool asc_logged_0_inspected;

STRUCT(asc_mixing, 232)
FIELD(asc_mixing, abi, 0) unsigned asc_mixing_0_abi;
FIELD(asc_mixing, name, 8) const char *asc_mixing_0_name;
FIELD(asc_mixing, settings, 16) const asc_setting *asc_mixing_0_settings;
FIELD(asc_mixing, settings_size, 24) size_t asc_mixing_0_settings_size;
FIELD(asc_mixing, size, 32) size_t asc_mixing_0_size;
FIELD(asc_mixing, sample, 40) const char *asc_mixing_0_sample;
FIELD(asc_mixing, bare, 48) bool asc_mixing_0_bare;
FIELD(asc_mixing, takes_mask, 49) bool asc_mixing_0_takes_mask;
FIELD(asc_mixing, takes_neighbors, 50) bool asc_mixing_0_takes_neighbors;
FIELD(asc_mixing, takes_bias, 51) bool asc_mixing_0_takes_bias;
FIELD(asc_mixing, takes_context, 52) bool asc_mixing_0_takes_context;
FIELD(asc_mixing, check, 56) asc_status (*asc_mixing_0_check)(asc_layer *layer);
FIELD(asc_mixing, init, 64) asc_status (*asc_mixing_0_init)(asc_layer *layer, asc_maker *maker);
FIELD(asc_mixing, forward, 72) asc_tensor (*asc_mixing_0_forward)(asc_layer *layer, asc_tensor x, asc_tensor lengths, asc_tensor *aux);
FIELD(asc_mixing, inspect, 80) asc_status (*asc_mixing_0_inspect)(asc_layer *layer, asc_tensor x, asc_tensor lengths, asc_params *parts);
FIELD(asc_mixing, cache, 88) asc_status (*asc_mixing_0_cache)(asc_layer *layer, asc_layer_cache *cache, int64_t capacity);
FIELD(asc_mixing, next, 96) asc_tensor (*asc_mixing_0_next)(asc_layer *layer, asc_layer_cache *cache, asc_tensor x);
FIELD(asc_mixing, carry, 104) asc_tensor (*asc_mixing_0_carry)(asc_layer *layer, asc_layer_cache *held, asc_tensor past, asc_tensor x);
FIELD(asc_mixing, reach, 112) int64_t (*asc_mixing_0_reach)(asc_layer *layer, int64_t carry);
FIELD(asc_mixing, carried_states, 120) unsigned asc_mixing_0_carried_states;
FIELD(asc_mixing, looks_ahead, 128) const char *(*asc_mixing_0_looks_ahead)(const asc_layer *layer);
FIELD(asc_mixing, clear, 136) void (*asc_mixing_0_clear)(asc_layer *layer);
FIELD(asc_mixing, project, 144) void (*asc_mixing_0_project)(asc_layer *layer);
FIELD(asc_mixing, ramp, 152) void (*asc_mixing_0_ramp)(asc_layer *layer, double share);
FIELD(asc_mixing, hold, 160) bool (*asc_mixing_0_hold)(asc_layer *layer, const char *name, const double *value);
FIELD(asc_mixing, moves, 168) asc_tensor (*asc_mixing_0_moves)(asc_layer *layer, asc_tensor x, const char *name);
FIELD(asc_mixing, logged, 176) const asc_logged *asc_mixing_0_logged;
FIELD(asc_mixing, log, 184) asc_tensor (*asc_mixing_0_log)(asc_layer *layer, const char *name, const asc_params *parts);
FIELD(asc_mixing, follows, 192) bool (*asc_mixing_0_follows)(const asc_layer *layer, const asc_layer *below);
FIELD(asc_mixing, flow, 200) asc_tensor (*asc_mixing_0_flow)(asc_layer *layer, asc_tensor x, asc_tensor lengths);
FIELD(asc_mixing, turn, 208) asc_tensor (*asc_mixing_0_turn)(asc_layer *layer, asc_tensor flow, asc_tensor below);
FIELD(asc_mixing, outputs, 216) const char *const *asc_mixing_0_outputs;
FIELD(asc_mixing, narrow, 224) const char *const *asc_mixing_0_narrow;
asc_status asc_mixing_register(asc_ctx *ctx, const asc_mixing *mixing);
const asc_mixing *asc_mixing_find(const asc_ctx *ctx, const char *name);

STRUCT(asc_attention_options, 48)
FIELD(asc_attention_options, heads, 0) int64_t asc_attention_options_0_heads;
FIELD(asc_attention_options, window, 8) int64_t asc_attention_options_0_window;
FIELD(asc_attention_options, globals, 16) int64_t asc_attention_options_0_globals;
FIELD(asc_attention_options, random, 24) int64_t asc_attention_options_0_random;
FIELD(asc_attention_options, causal, 32) bool asc_attention_options_0_causal;
FIELD(asc_attention_options, alibi, 33) bool asc_attention_options_0_alibi;
FIELD(asc_attention_options, cap, 40) double asc_attention_options_0_cap;

STRUCT(asc_attention_inputs, 112)
FIELD(asc_attention_inputs, q, 0) asc_tensor asc_attention_inputs_0_q;
FIELD(asc_attention_inputs, k, 16) asc_tensor asc_attention_inputs_0_k;
FIELD(asc_attention_inputs, v, 32) asc_tensor asc_attention_inputs_0_v;
FIELD(asc_attention_inputs, rel_bias, 48) asc_tensor asc_attention_inputs_0_rel_bias;
FIELD(asc_attention_inputs, bias, 64) asc_tensor asc_attention_inputs_0_bias;
FIELD(asc_attention_inputs, lengths, 80) asc_tensor asc_attention_inputs_0_lengths;
FIELD(asc_attention_inputs, mask, 96) asc_tensor asc_attention_inputs_0_mask;
asc_tensor asc_attention(asc_ctx *ctx, const asc_attention_inputs *inputs, const asc_attention_options *options);
VALUE(ASC_NEIGHBORS_SEMANTIC, 0)
VALUE(ASC_NEIGHBORS_BASE, 1)
VALUE(ASC_NEIGHBORS_WINDOW, 2)
VALUE(ASC_NEIGHBORS_HYBRID_UNION, 3)
VALUE(ASC_NEIGHBORS_HYBRID_INTERSECTION, 4)
VALUE(ASC_GATE_BEFORE, 0)
VALUE(ASC_GATE_NONE, 1)
VALUE(ASC_GATE_AFTER, 2)
VALUE(ASC_ASCENDER_LAMBDA_ALIGN, 0)
VALUE(ASC_ASCENDER_LAMBDA_SEP, 1)
VALUE(ASC_ASCENDER_LAMBDA_COH, 2)
VALUE(ASC_ASCENDER_TAU_SEP, 3)
VALUE(ASC_ASCENDER_TAU_COH, 4)
VALUE(ASC_ASCENDER_KAPPA, 5)
VALUE(ASC_ASCENDER_DELTA, 6)
VALUE(ASC_ASCENDER_ALPHA_ALIGN, 7)
VALUE(ASC_ASCENDER_ALPHA_COH, 8)
VALUE(ASC_ASCENDER_OMEGA_ALIGN, 9)
VALUE(ASC_ASCENDER_OMEGA_SEP, 10)
VALUE(ASC_ASCENDER_OMEGA_COH, 11)
VALUE(ASC_ASCENDER_TAU_SCORE, 12)
VALUE(ASC_ASCENDER_SCALARS, 13)
VALUE(ASC_BACKGROUND_LAMBDA_DIST, 0)
VALUE(ASC_BACKGROUND_LAMBDA_RHO, 1)
VALUE(ASC_BACKGROUND_TAU_SEP, 2)
VALUE(ASC_BACKGROUND_THETA_COH, 3)
VALUE(ASC_BACKGROUND_OMEGA_ALIGN, 4)
VALUE(ASC_BACKGROUND_OMEGA_SEP, 5)
VALUE(ASC_BACKGROUND_OMEGA_COH, 6)
VALUE(ASC_BACKGROUND_TAU_SCORE, 7)
VALUE(ASC_BACKGROUND_SCALARS, 8)

STRUCT(asc_ascender_inputs, 416)
FIELD(asc_ascender_inputs, q, 0) asc_tensor asc_ascender_inputs_0_q;
FIELD(asc_ascender_inputs, k, 16) asc_tensor asc_ascender_inputs_0_k;
FIELD(asc_ascender_inputs, v, 32) asc_tensor asc_ascender_inputs_0_v;
FIELD(asc_ascender_inputs, z, 48) asc_tensor asc_ascender_inputs_0_z;
FIELD(asc_ascender_inputs, h, 64) asc_tensor asc_ascender_inputs_0_h;
FIELD(asc_ascender_inputs, heading, 80) asc_tensor asc_ascender_inputs_0_heading;
FIELD(asc_ascender_inputs, scalar, 96) asc_tensor asc_ascender_inputs_0_scalar[ASC_ASCENDER_SCALARS];
FIELD(asc_ascender_inputs, rel_bias, 304) asc_tensor asc_ascender_inputs_0_rel_bias;
FIELD(asc_ascender_inputs, bias, 320) asc_tensor asc_ascender_inputs_0_bias;
FIELD(asc_ascender_inputs, lengths, 336) asc_tensor asc_ascender_inputs_0_lengths;
FIELD(asc_ascender_inputs, mask, 352) asc_tensor asc_ascender_inputs_0_mask;
FIELD(asc_ascender_inputs, neighbors, 368) asc_tensor asc_ascender_inputs_0_neighbors;
FIELD(asc_ascender_inputs, z_queries, 384) asc_tensor asc_ascender_inputs_0_z_queries;
FIELD(asc_ascender_inputs, h_queries, 400) asc_tensor asc_ascender_inputs_0_h_queries;

STRUCT(asc_ascender_options, 80)
FIELD(asc_ascender_options, heads, 0) int64_t asc_ascender_options_0_heads;
FIELD(asc_ascender_options, window, 8) int64_t asc_ascender_options_0_window;
FIELD(asc_ascender_options, globals, 16) int64_t asc_ascender_options_0_globals;
FIELD(asc_ascender_options, random, 24) int64_t asc_ascender_options_0_random;
FIELD(asc_ascender_options, causal, 32) bool asc_ascender_options_0_causal;
FIELD(asc_ascender_options, alibi, 33) bool asc_ascender_options_0_alibi;
FIELD(asc_ascender_options, neighbors, 36) asc_neighbors asc_ascender_options_0_neighbors;
FIELD(asc_ascender_options, k, 40) int64_t asc_ascender_options_0_k;
FIELD(asc_ascender_options, k_of, 48) const int64_t *asc_ascender_options_0_k_of;
FIELD(asc_ascender_options, radius, 56) int64_t asc_ascender_options_0_radius;
FIELD(asc_ascender_options, neighbor_self, 64) bool asc_ascender_options_0_neighbor_self;
FIELD(asc_ascender_options, rho_self, 65) bool asc_ascender_options_0_rho_self;
FIELD(asc_ascender_options, sep_self, 66) bool asc_ascender_options_0_sep_self;
FIELD(asc_ascender_options, tau_squared, 67) bool asc_ascender_options_0_tau_squared;
FIELD(asc_ascender_options, gate, 68) asc_gate asc_ascender_options_0_gate;
FIELD(asc_ascender_options, without_gamma, 72) bool asc_ascender_options_0_without_gamma;
FIELD(asc_ascender_options, without_eta, 73) bool asc_ascender_options_0_without_eta;
FIELD(asc_ascender_options, unbiased, 74) bool asc_ascender_options_0_unbiased;
FIELD(asc_ascender_options, all_statistics, 75) bool asc_ascender_options_0_all_statistics;

STRUCT(asc_ascender_losses, 48)
FIELD(asc_ascender_losses, coh, 0) asc_tensor asc_ascender_losses_0_coh;
FIELD(asc_ascender_losses, sep, 16) asc_tensor asc_ascender_losses_0_sep;
FIELD(asc_ascender_losses, align, 32) asc_tensor asc_ascender_losses_0_align;
asc_tensor asc_ascender(asc_ctx *ctx, const asc_ascender_inputs *inputs, const asc_ascender_options *options, asc_ascender_losses *losses);
asc_tensor asc_ascender_background(asc_ctx *ctx, const asc_ascender_inputs *in, const asc_ascender_options *options, asc_tensor density, asc_tensor *rho);
asc_tensor asc_rotary(asc_ctx *ctx, asc_tensor x, int64_t heads, int64_t start);
asc_tensor asc_grid_neighbors(asc_ctx *ctx, int ndim, const int64_t *sizes, int64_t radius);
asc_tensor asc_topk(asc_ctx *ctx, asc_tensor x, asc_tensor mask, int64_t k, asc_tensor *index);
asc_tensor asc_topk_gather(asc_ctx *ctx, asc_tensor x, asc_tensor index);
asc_tensor asc_pairwise_sqdist(asc_ctx *ctx, asc_tensor x, asc_tensor y);
asc_tensor asc_row_norm(asc_ctx *ctx, asc_tensor x, asc_tensor mask, double eps, bool unbiased);
asc_tensor asc_plucker_wedge(asc_ctx *ctx, asc_tensor a, asc_tensor b, double eps, double eps_rel);
asc_tensor asc_plucker_wedge_past(asc_ctx *ctx, asc_tensor z, int n_offsets, const int *offsets, double eps, double eps_rel);
VALUE(ASC_DIRECTION_PAST, 0)
VALUE(ASC_DIRECTION_FUTURE, 1)
VALUE(ASC_DIRECTION_BOTH, 2)
VALUE(ASC_PAIR_WEDGE, 0)
VALUE(ASC_PAIR_SYMMETRIC, 1)
VALUE(ASC_PAIR_PRODUCT, 2)
VALUE(ASC_PAIR_CONCAT, 3)

STRUCT(asc_grassmann_options, 64)
FIELD(asc_grassmann_options, pair, 0) asc_pair asc_grassmann_options_0_pair;
FIELD(asc_grassmann_options, n_offsets, 4) int asc_grassmann_options_0_n_offsets;
FIELD(asc_grassmann_options, offsets, 8) const int *asc_grassmann_options_0_offsets;
FIELD(asc_grassmann_options, direction, 16) asc_direction asc_grassmann_options_0_direction;
FIELD(asc_grassmann_options, sum, 20) bool asc_grassmann_options_0_sum;
FIELD(asc_grassmann_options, rms, 21) bool asc_grassmann_options_0_rms;
FIELD(asc_grassmann_options, groups, 24) int64_t asc_grassmann_options_0_groups;
FIELD(asc_grassmann_options, skip, 32) int64_t asc_grassmann_options_0_skip;
FIELD(asc_grassmann_options, raw, 40) bool asc_grassmann_options_0_raw;
FIELD(asc_grassmann_options, eps, 48) double asc_grassmann_options_0_eps;
FIELD(asc_grassmann_options, eps_rel, 56) double asc_grassmann_options_0_eps_rel;
asc_tensor asc_grassmann(asc_ctx *ctx, asc_tensor z, asc_tensor weight, asc_tensor bias, asc_tensor offset_weight, asc_tensor memory, asc_tensor lengths, const asc_grassmann_options *options);

STRUCT(asc_subspace_options, 64)
FIELD(asc_subspace_options, k, 0) int asc_subspace_options_0_k;
FIELD(asc_subspace_options, n_tuples, 4) int asc_subspace_options_0_n_tuples;
FIELD(asc_subspace_options, tuples, 8) const int *asc_subspace_options_0_tuples;
FIELD(asc_subspace_options, sum, 16) bool asc_subspace_options_0_sum;
FIELD(asc_subspace_options, rms, 17) bool asc_subspace_options_0_rms;
FIELD(asc_subspace_options, groups, 24) int64_t asc_subspace_options_0_groups;
FIELD(asc_subspace_options, skip, 32) int64_t asc_subspace_options_0_skip;
FIELD(asc_subspace_options, raw, 40) bool asc_subspace_options_0_raw;
FIELD(asc_subspace_options, eps, 48) double asc_subspace_options_0_eps;
FIELD(asc_subspace_options, eps_rel, 56) double asc_subspace_options_0_eps_rel;
asc_tensor asc_subspace(asc_ctx *ctx, asc_tensor z, asc_tensor weight, asc_tensor bias, asc_tensor lengths, const asc_subspace_options *options);
asc_tensor asc_gated_memory(asc_ctx *ctx, asc_tensor z, asc_tensor forget, asc_tensor initial, asc_tensor *last);
asc_tensor asc_gated_fusion(asc_ctx *ctx, asc_tensor h, asc_tensor g, asc_tensor weight, asc_tensor bias, asc_tensor *alpha);
asc_tensor asc_rg_lru(asc_ctx *ctx, asc_tensor c, asc_tensor r, asc_tensor i, asc_tensor decay, asc_tensor initial, asc_tensor *last);
VALUE(ASC_FEATURE_ELU, 0)
VALUE(ASC_FEATURE_FAVOR, 1)

STRUCT(asc_linear_attention_options, 24)
FIELD(asc_linear_attention_options, heads, 0) int64_t asc_linear_attention_options_0_heads;
FIELD(asc_linear_attention_options, feature, 8) asc_feature asc_linear_attention_options_0_feature;
FIELD(asc_linear_attention_options, fixed_decay, 12) bool asc_linear_attention_options_0_fixed_decay;
FIELD(asc_linear_attention_options, full, 13) bool asc_linear_attention_options_0_full;
FIELD(asc_linear_attention_options, eps, 16) double asc_linear_attention_options_0_eps;

STRUCT(asc_linear_attention_inputs, 112)
FIELD(asc_linear_attention_inputs, q, 0) asc_tensor asc_linear_attention_inputs_0_q;
FIELD(asc_linear_attention_inputs, k, 16) asc_tensor asc_linear_attention_inputs_0_k;
FIELD(asc_linear_attention_inputs, v, 32) asc_tensor asc_linear_attention_inputs_0_v;
FIELD(asc_linear_attention_inputs, forget, 48) asc_tensor asc_linear_attention_inputs_0_forget;
FIELD(asc_linear_attention_inputs, features, 64) asc_tensor asc_linear_attention_inputs_0_features;
FIELD(asc_linear_attention_inputs, lengths, 80) asc_tensor asc_linear_attention_inputs_0_lengths;
FIELD(asc_linear_attention_inputs, initial, 96) asc_tensor asc_linear_attention_inputs_0_initial;
asc_tensor asc_linear_attention(asc_ctx *ctx, const asc_linear_attention_inputs *inputs, const asc_linear_attention_options *options, asc_tensor *last);
asc_tensor asc_alibi(asc_ctx *ctx, asc_dtype dtype, int64_t heads, int64_t N, int64_t M);
asc_tensor asc_relative_bias(asc_ctx *ctx, asc_tensor table, int64_t N, int64_t M);
VALUE(ASC_PADDING_NONE, 0)
VALUE(ASC_PADDING_CAUSAL, 1)
VALUE(ASC_PADDING_SAME, 2)

STRUCT(asc_conv1d_options, 24)
FIELD(asc_conv1d_options, groups, 0) int64_t asc_conv1d_options_0_groups;
FIELD(asc_conv1d_options, dilation, 8) int64_t asc_conv1d_options_0_dilation;
FIELD(asc_conv1d_options, padding, 16) asc_padding asc_conv1d_options_0_padding;
asc_tensor asc_conv1d(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias, const asc_conv1d_options *options);
typedef struct asc_module asc_module;
typedef asc_tensor asc_module_fn(asc_ctx *ctx, asc_tensor x);
asc_module *asc_module_linear(asc_ctx *ctx, asc_dtype dtype, int64_t in, int64_t out);
asc_module *asc_module_embedding(asc_ctx *ctx, asc_dtype dtype, int64_t rows, int64_t width);
asc_module *asc_module_layer_norm(asc_ctx *ctx, asc_dtype dtype, int64_t width);
asc_module *asc_module_feed_forward(asc_ctx *ctx, asc_dtype dtype, int64_t width, int64_t inner);
asc_module *asc_module_mixing(asc_ctx *ctx, asc_dtype dtype, const char *mixing, int64_t width, const char *config);
asc_module *asc_module_attention(asc_ctx *ctx, asc_dtype dtype, int64_t width, const asc_attention_options *options);
asc_module *asc_module_dropout(asc_ctx *ctx, double p);
asc_module *asc_module_function(asc_ctx *ctx, asc_module_fn *function);
asc_module *asc_module_residual(asc_ctx *ctx, asc_module *inner);
asc_module *asc_module_sequential(asc_ctx *ctx, int n, asc_module *const *modules);
void asc_module_free(asc_module *module);
asc_params *asc_module_params(asc_module *module);
void asc_module_train(asc_module *module, bool train);
asc_tensor asc_module_forward(asc_module *module, asc_tensor x);
typedef struct asc_lm asc_lm;
typedef struct asc_layer asc_layer;
typedef struct asc_lm_carried asc_lm_carried;
asc_lm *asc_lm_new(asc_ctx *ctx, const char *config, asc_dtype dtype, uint64_t seed);
void asc_lm_free(asc_lm *lm);
asc_schema asc_lm_schema(const asc_ctx *ctx, int i);
const char *asc_lm_config(const asc_lm *lm);
int64_t asc_lm_layers(const asc_lm *lm);
int64_t asc_lm_vocab(const asc_lm *lm);
int64_t asc_lm_block(const asc_lm *lm);
int64_t asc_lm_classes(const asc_lm *lm);
int64_t asc_lm_longest(const asc_lm *lm);
int64_t asc_lm_carry(const asc_lm *lm);
asc_params *asc_lm_params(asc_lm *lm);
double asc_lm_rate_scale(const asc_lm *lm, int param);
asc_status asc_lm_set_dropout(asc_lm *lm, double p);
void asc_lm_set_recompute(asc_lm *lm, bool recompute);
void asc_lm_project(asc_lm *lm);
asc_status asc_lm_ramp(asc_lm *lm, double share);
asc_status asc_lm_hold(asc_lm *lm, const char *name, const double *value);
void asc_lm_set_aux(asc_lm *lm, bool counts);
asc_tensor asc_lm_moves(asc_lm *lm, asc_tensor tokens, int64_t layer, const char *name);
typedef void asc_log_fn(void *user, int64_t layer, const char *mixing, const char *name, asc_tensor value);
asc_status asc_lm_log(asc_lm *lm, asc_tensor tokens, asc_log_fn *tell, void *user);
asc_tensor asc_lm_loss(asc_lm *lm, asc_tensor x, asc_tensor y, asc_tensor *token_loss);
asc_tensor asc_lm_loss_top(asc_lm *lm, asc_tensor x, asc_tensor y, asc_tensor *token_loss, asc_tensor *top);
asc_tensor asc_lm_objective(asc_lm *lm, asc_tensor x, asc_tensor y, double *loss);
asc_layer *asc_lm_layer(asc_lm *lm, int64_t layer);
asc_tensor asc_lm_logits(asc_lm *lm, asc_tensor x);
asc_tensor asc_lm_states(asc_lm *lm, asc_tensor x, asc_tensor lengths);
asc_lm_carried *asc_lm_carried_new(asc_lm *lm, int64_t tokens);
void asc_lm_carried_free(asc_lm_carried *carried);
asc_status asc_lm_set_carried(asc_lm *lm, asc_lm_carried *carried);
asc_status asc_lm_carried_advance(asc_lm_carried *carried);
void asc_lm_carried_reset(asc_lm_carried *carried);
int64_t asc_lm_carried_length(const asc_lm_carried *carried);
asc_status asc_lm_carried_save(const asc_lm_carried *carried, asc_params *tensors);
asc_status asc_lm_carried_load(asc_lm_carried *carried, const asc_params *tensors, int64_t rows, int64_t length);
asc_tensor asc_lm_classify(asc_lm *lm, asc_tensor x, asc_tensor lengths);
asc_tensor asc_lm_class_objective(asc_lm *lm, asc_tensor x, asc_tensor lengths, asc_tensor labels, double *loss);
asc_status asc_lm_set_class_weights(asc_lm *lm, const double *weights);
asc_status asc_top_classes(asc_ctx *ctx, asc_tensor logits, int64_t *top);
asc_tensor asc_mean_within(asc_ctx *ctx, asc_tensor x, asc_tensor lengths);

STRUCT(asc_pair_inputs, 40)
FIELD(asc_pair_inputs, pairs, 0) bool asc_pair_inputs_0_pairs;
FIELD(asc_pair_inputs, states, 8) int64_t asc_pair_inputs_0_states;
FIELD(asc_pair_inputs, window, 16) int64_t asc_pair_inputs_0_window;
FIELD(asc_pair_inputs, stride, 24) int64_t asc_pair_inputs_0_stride;
FIELD(asc_pair_inputs, together, 32) bool asc_pair_inputs_0_together;
FIELD(asc_pair_inputs, left_out, 33) bool asc_pair_inputs_0_left_out[2];
asc_pair_inputs asc_lm_pair_inputs(const asc_lm *lm);
int64_t asc_window_count(int64_t tokens, int64_t stride);
asc_tensor asc_window_means(asc_ctx *ctx, asc_tensor x, asc_tensor lengths, int64_t window, int64_t stride, asc_tensor *counts);
asc_status asc_lm_inspect(asc_lm *lm, asc_tensor tokens, int64_t layer, asc_params *parts);
asc_status asc_lm_features(asc_lm *lm, asc_tensor tokens, int64_t layer, int64_t reach, asc_params *features);
typedef struct asc_lm_cache asc_lm_cache;
bool asc_lm_streams(const asc_lm *lm);
asc_lm_cache *asc_lm_cache_new(asc_lm *lm, int64_t capacity);
void asc_lm_cache_free(asc_lm_cache *cache);
void asc_lm_cache_reset(asc_lm_cache *cache);
int64_t asc_lm_cache_length(const asc_lm_cache *cache);
int64_t asc_lm_cache_capacity(const asc_lm_cache *cache);
asc_tensor asc_lm_next(asc_lm_cache *cache, const int64_t *tokens, int64_t n);
asc_layer *asc_layer_new(asc_ctx *ctx, const char *mixing, int64_t d_model, const char *config, asc_dtype dtype, uint64_t seed);
void asc_layer_free(asc_layer *layer);
asc_params *asc_layer_params(asc_layer *layer);
asc_tensor asc_layer_forward(asc_layer *layer, asc_tensor x, asc_tensor lengths);
asc_tensor asc_layer_forward_aux(asc_layer *layer, asc_tensor x, asc_tensor lengths, asc_tensor *aux);
asc_status asc_layer_restrict(asc_layer *layer, asc_tensor mask, asc_tensor neighbors);
asc_status asc_layer_set_bias(asc_layer *layer, asc_tensor bias);
asc_tensor asc_layer_cross(asc_layer *layer, asc_tensor x, asc_tensor context, asc_tensor lengths);
const char *asc_layer_config(const asc_layer *layer);
void asc_layer_project(asc_layer *layer);
asc_status asc_layer_ramp(asc_layer *layer, double share);
asc_status asc_layer_hold(asc_layer *layer, const char *name, const double *value);
asc_status asc_layer_inspect(asc_layer *layer, asc_tensor x, asc_tensor lengths, asc_params *parts);
asc_status asc_layer_inspect_cross(asc_layer *layer, asc_tensor x, asc_tensor context, asc_tensor lengths, asc_params *parts);
const char *asc_mixing_at(const asc_ctx *ctx, int i);
bool asc_mixing_takes(const asc_ctx *ctx, const char *mixing, const char *key);

STRUCT(asc_npz_array, 40)
FIELD(asc_npz_array, name, 0) const char *asc_npz_array_0_name;
FIELD(asc_npz_array, tensor, 8) asc_tensor asc_npz_array_0_tensor;
FIELD(asc_npz_array, texts, 24) const char *const *asc_npz_array_0_texts;
FIELD(asc_npz_array, n_texts, 32) int64_t asc_npz_array_0_n_texts;
asc_status asc_npz_write(asc_ctx *ctx, const char *path, const asc_npz_array *arrays, int64_t n);
asc_status asc_npz_read(asc_ctx *ctx, const char *path, asc_params *into);
asc_tensor asc_npy_read(asc_ctx *ctx, const char *path);
asc_status asc_npy_write(asc_ctx *ctx, const char *path, asc_tensor tensor);
typedef struct asc_op asc_op;

STRUCT(asc_call, 11976)
FIELD(asc_call, ctx, 0) asc_ctx *asc_call_0_ctx;
FIELD(asc_call, op, 8) const asc_op *asc_call_0_op;
FIELD(asc_call, attrs, 16) const void *asc_call_0_attrs;
FIELD(asc_call, n_in, 24) int asc_call_0_n_in;
FIELD(asc_call, n_out, 28) int asc_call_0_n_out;
FIELD(asc_call, n_saved, 32) int asc_call_0_n_saved;
FIELD(asc_call, wants_grad, 36) bool asc_call_0_wants_grad;
FIELD(asc_call, wants, 37) bool asc_call_0_wants[ASC_MAX_IN];
FIELD(asc_call, random, 72) uint32_t asc_call_0_random[2];
FIELD(asc_call, in, 80) asc_array asc_call_0_in[ASC_MAX_IN];
FIELD(asc_call, out, 4944) asc_array asc_call_0_out[ASC_MAX_OUT];
FIELD(asc_call, saved, 5552) asc_array asc_call_0_saved[ASC_MAX_SAVED];
FIELD(asc_call, grad_out, 6464) asc_array asc_call_0_grad_out[ASC_MAX_OUT];
FIELD(asc_call, grad_in, 7072) asc_array asc_call_0_grad_in[ASC_MAX_IN];
FIELD(asc_call, fresh, 11936) bool asc_call_0_fresh[ASC_MAX_IN];
FIELD(asc_call, engine, 11968) void *asc_call_0_engine;
VALUE(ASC_OP_STRIDED, 1)
VALUE(ASC_OP_VIEW, 2)
VALUE(ASC_OP_RANDOM, 4)
VALUE(ASC_OP_FRESH, 8)
VALUE(ASC_OP_CAUSAL, 16)
VALUE(ASC_OP_GATHERS, 32)
VALUE(ASC_OP_EAGER, 64)

STRUCT(asc_sample_input, 104)
FIELD(asc_sample_input, kind, 0) char asc_sample_input_0_kind;
FIELD(asc_sample_input, ndim, 4) int asc_sample_input_0_ndim;
FIELD(asc_sample_input, shape, 8) int64_t asc_sample_input_0_shape[ASC_MAX_DIMS];
FIELD(asc_sample_input, lo, 72) double asc_sample_input_0_lo;
FIELD(asc_sample_input, hi, 80) double asc_sample_input_0_hi;
FIELD(asc_sample_input, kink, 88) double asc_sample_input_0_kink;
FIELD(asc_sample_input, away, 96) double asc_sample_input_0_away;

STRUCT(asc_sample, 3344)
FIELD(asc_sample, in, 0) asc_sample_input asc_sample_0_in[ASC_MAX_IN];
FIELD(asc_sample, attrs, 3328) const void *asc_sample_0_attrs;
FIELD(asc_sample, note, 3336) const char *asc_sample_0_note;

STRUCT(asc_op, 136)
FIELD(asc_op, abi, 0) unsigned asc_op_0_abi;
FIELD(asc_op, name, 8) const char *asc_op_0_name;
FIELD(asc_op, equation, 16) const char *asc_op_0_equation;
FIELD(asc_op, inputs, 24) const char *asc_op_0_inputs;
FIELD(asc_op, n_out, 32) int asc_op_0_n_out;
FIELD(asc_op, flags, 36) unsigned asc_op_0_flags;
FIELD(asc_op, attrs_size, 40) size_t asc_op_0_attrs_size;
FIELD(asc_op, saves_in, 48) uint32_t asc_op_0_saves_in;
FIELD(asc_op, saves_out, 52) uint32_t asc_op_0_saves_out;
FIELD(asc_op, no_grad_out, 56) uint32_t asc_op_0_no_grad_out;
FIELD(asc_op, infer, 64) asc_status (*asc_op_0_infer)(asc_call *call);
FIELD(asc_op, forward, 72) asc_status (*asc_op_0_forward)(asc_call *call);
FIELD(asc_op, backward, 80) asc_status (*asc_op_0_backward)(asc_call *call);
FIELD(asc_op, flops, 88) double (*asc_op_0_flops)(const asc_call *call);
FIELD(asc_op, samples, 96) const asc_sample *asc_op_0_samples;
FIELD(asc_op, n_samples, 104) int asc_op_0_n_samples;
FIELD(asc_op, bench, 112) const asc_sample *asc_op_0_bench;
FIELD(asc_op, causal, 120) uint32_t (*asc_op_0_causal)(const asc_call *call);
FIELD(asc_op, data, 128) const void *asc_op_0_data;
asc_status asc_call_output(asc_call *call, int i, asc_dtype dtype, int ndim, const int64_t *shape);
asc_status asc_call_save(asc_call *call, int i, asc_dtype dtype, int ndim, const int64_t *shape);
asc_status asc_call_view(asc_call *call, int64_t offset, int ndim, const int64_t *shape, const int64_t *stride);
asc_status asc_call_expect(asc_call *call, int input, const char *format, ...);
asc_status asc_call_fail(asc_call *call, const char *format, ...);
void *asc_call_scratch(asc_call *call, size_t bytes);
asc_status asc_apply(asc_ctx *ctx, const asc_op *op, const asc_tensor *inputs, int n_in, const void *attrs, asc_tensor *out);
asc_status asc_apply_into(asc_ctx *ctx, const asc_op *op, const asc_tensor *inputs, int n_in, const void *attrs, const asc_tensor *into, asc_tensor *out);
asc_tensor asc_apply1(asc_ctx *ctx, const asc_op *op, const asc_tensor *inputs, int n_in, const void *attrs);
const asc_op *asc_op_at(int i);
const asc_op *asc_op_find(asc_ctx *ctx, const char *name);
asc_status asc_op_register(asc_ctx *ctx, const asc_op *op);
typedef const asc_op *const *asc_plugin_fn(unsigned abi);
const char *asc_set_label(asc_ctx *ctx, const char *label);
bool asc_set_nan_check(asc_ctx *ctx, bool check);
void asc_set_rehearsal(asc_ctx *ctx, bool rehearse);
double asc_flops(const asc_ctx *ctx);
void asc_flops_reset(asc_ctx *ctx);

STRUCT(asc_span, 32)
FIELD(asc_span, name, 0) const char *asc_span_0_name;
FIELD(asc_span, outer, 8) const struct asc_span *asc_span_0_outer;
FIELD(asc_span, start_s, 16) double asc_span_0_start_s;
FIELD(asc_span, work_s, 24) double asc_span_0_work_s;

STRUCT(asc_event, 96)
FIELD(asc_event, name, 0) const char *asc_event_0_name;
FIELD(asc_event, op, 8) const asc_op *asc_event_0_op;
FIELD(asc_event, call, 16) const asc_call *asc_event_0_call;
FIELD(asc_event, label, 24) const char *asc_event_0_label;
FIELD(asc_event, span, 32) const asc_span *asc_event_0_span;
FIELD(asc_event, backward, 40) bool asc_event_0_backward;
FIELD(asc_event, depth, 44) int asc_event_0_depth;
FIELD(asc_event, status, 48) asc_status asc_event_0_status;
FIELD(asc_event, start_s, 56) double asc_event_0_start_s;
FIELD(asc_event, end_s, 64) double asc_event_0_end_s;
FIELD(asc_event, work_s, 72) double asc_event_0_work_s;
FIELD(asc_event, flops, 80) double asc_event_0_flops;
FIELD(asc_event, bytes, 88) double asc_event_0_bytes;
typedef void asc_observer(void *user, const asc_event *event);
asc_status asc_set_observer(asc_ctx *ctx, asc_observer *observer, void *user);
void asc_span_begin(asc_ctx *ctx, asc_span *span, const char *name);
void asc_span_end(asc_ctx *ctx, asc_span *span);
asc_tensor asc_linear(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias);
asc_tensor asc_gelu_linear(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias);
asc_tensor asc_relu2_linear(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias);
asc_tensor asc_swiglu_linear(asc_ctx *ctx, asc_tensor x, asc_tensor gate, asc_tensor weight, asc_tensor bias);
asc_tensor asc_geglu_linear(asc_ctx *ctx, asc_tensor x, asc_tensor gate, asc_tensor weight, asc_tensor bias);
asc_tensor asc_matmul(asc_ctx *ctx, asc_tensor a, asc_tensor b);
asc_tensor asc_matmul_transposed(asc_ctx *ctx, asc_tensor a, bool ta, asc_tensor b, bool tb);
asc_tensor asc_outer(asc_ctx *ctx, asc_tensor a, asc_tensor b);
asc_tensor asc_einsum(asc_ctx *ctx, const char *equation, const asc_tensor *x, int n);
asc_tensor asc_linear_cross_entropy(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor targets, asc_tensor *token_loss);
asc_tensor asc_linear_cross_entropy_top(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor targets, double cap, asc_tensor *token_loss, asc_tensor *top);
asc_tensor asc_add(asc_ctx *ctx, asc_tensor a, asc_tensor b);
asc_tensor asc_sub(asc_ctx *ctx, asc_tensor a, asc_tensor b);
asc_tensor asc_mul(asc_ctx *ctx, asc_tensor a, asc_tensor b);
asc_tensor asc_div(asc_ctx *ctx, asc_tensor a, asc_tensor b);
asc_tensor asc_pow(asc_ctx *ctx, asc_tensor x, asc_tensor p);
asc_tensor asc_maximum(asc_ctx *ctx, asc_tensor a, asc_tensor b);
asc_tensor asc_minimum(asc_ctx *ctx, asc_tensor a, asc_tensor b);
asc_tensor asc_equal(asc_ctx *ctx, asc_tensor a, asc_tensor b);
asc_tensor asc_not_equal(asc_ctx *ctx, asc_tensor a, asc_tensor b);
asc_tensor asc_less(asc_ctx *ctx, asc_tensor a, asc_tensor b);
asc_tensor asc_less_equal(asc_ctx *ctx, asc_tensor a, asc_tensor b);
asc_tensor asc_where(asc_ctx *ctx, asc_tensor mask, asc_tensor a, asc_tensor b);
asc_tensor asc_masked_fill(asc_ctx *ctx, asc_tensor x, asc_tensor mask, double value);
asc_tensor asc_scale_shift(asc_ctx *ctx, asc_tensor x, double a, double b);
asc_tensor asc_scale(asc_ctx *ctx, asc_tensor x, double a);
asc_tensor asc_add_scalar(asc_ctx *ctx, asc_tensor x, double b);
asc_tensor asc_relu(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_tanh(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_sigmoid(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_gelu(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_exp(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_log(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_sqrt(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_square(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_abs(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_neg(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_sin(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_cos(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_erf(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_softplus(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_silu(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_gelu_tanh(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_log1p(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_expm1(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_reciprocal(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_rsqrt(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_pow_scalar(asc_ctx *ctx, asc_tensor x, double p);
asc_tensor asc_clamp(asc_ctx *ctx, asc_tensor x, double lo, double hi);
asc_tensor asc_soft_cap(asc_ctx *ctx, asc_tensor x, double cap);
asc_tensor asc_softmax(asc_ctx *ctx, asc_tensor x, asc_tensor mask);
asc_tensor asc_log_softmax(asc_ctx *ctx, asc_tensor x, asc_tensor mask);
asc_tensor asc_cross_entropy(asc_ctx *ctx, asc_tensor logits, asc_tensor targets, int64_t ignore, asc_tensor *token_loss);
asc_tensor asc_cross_entropy_smoothed(asc_ctx *ctx, asc_tensor logits, asc_tensor targets, int64_t ignore, double smoothing);
asc_tensor asc_mse(asc_ctx *ctx, asc_tensor x, asc_tensor target);
asc_tensor asc_smooth_l1(asc_ctx *ctx, asc_tensor x, asc_tensor target, double beta);
asc_tensor asc_bce_with_logits(asc_ctx *ctx, asc_tensor x, asc_tensor target);
asc_tensor asc_kl_div(asc_ctx *ctx, asc_tensor x, asc_tensor target);
asc_tensor asc_sum(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim);
asc_tensor asc_mean(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim);
asc_tensor asc_max(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim);
asc_tensor asc_min(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim);
asc_tensor asc_argmax(asc_ctx *ctx, asc_tensor x, int dim);
double asc_accuracy(asc_ctx *ctx, asc_tensor logits, asc_tensor targets);
asc_tensor asc_variance(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim, int correction);
asc_tensor asc_logsumexp(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim);
asc_tensor asc_norm(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim);
asc_tensor asc_cumsum(asc_ctx *ctx, asc_tensor x, int dim);
asc_tensor asc_embedding(asc_ctx *ctx, asc_tensor weight, asc_tensor index);
asc_tensor asc_index_select(asc_ctx *ctx, asc_tensor x, int dim, asc_tensor index);
asc_tensor asc_gather(asc_ctx *ctx, asc_tensor x, int dim, asc_tensor index);
asc_tensor asc_scatter_add(asc_ctx *ctx, asc_tensor x, int dim, asc_tensor index, asc_tensor src);
asc_tensor asc_layer_norm(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias, double eps);
asc_tensor asc_rms_norm(asc_ctx *ctx, asc_tensor x, asc_tensor weight, double eps);
asc_tensor asc_l2_normalize(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_cosine_similarity(asc_ctx *ctx, asc_tensor a, asc_tensor b);
asc_tensor asc_dropout(asc_ctx *ctx, asc_tensor x, double p);
asc_tensor asc_add_dropout(asc_ctx *ctx, asc_tensor residual, asc_tensor branch, double p);
asc_tensor asc_reshape(asc_ctx *ctx, asc_tensor x, int ndim, const int64_t *shape);
asc_tensor asc_unsqueeze(asc_ctx *ctx, asc_tensor x, int dim);
asc_tensor asc_squeeze(asc_ctx *ctx, asc_tensor x, int dim);
asc_tensor asc_permute(asc_ctx *ctx, asc_tensor x, int ndim, const int *order);
asc_tensor asc_transpose(asc_ctx *ctx, asc_tensor x, int dim0, int dim1);
asc_tensor asc_slice(asc_ctx *ctx, asc_tensor x, int dim, int64_t start, int64_t stop, int64_t step);
asc_tensor asc_expand(asc_ctx *ctx, asc_tensor x, int ndim, const int64_t *shape);
asc_tensor asc_contiguous(asc_ctx *ctx, asc_tensor x);
asc_tensor asc_arange(asc_ctx *ctx, asc_dtype dtype, double start, double stop, double step);
asc_tensor asc_tril(asc_ctx *ctx, asc_tensor x, int64_t k);
asc_tensor asc_concat(asc_ctx *ctx, const asc_tensor *x, int n, int dim);
asc_tensor asc_stack(asc_ctx *ctx, const asc_tensor *x, int n, int dim);
asc_status asc_tensor_split(asc_ctx *ctx, asc_tensor x, int dim, int n, const int64_t *sizes, asc_tensor *out);
asc_tensor asc_pad(asc_ctx *ctx, asc_tensor x, int ndim, const int64_t *before, const int64_t *after, double value);
asc_tensor asc_roll(asc_ctx *ctx, asc_tensor x, int dim, int64_t shift);
asc_tensor asc_cast(asc_ctx *ctx, asc_tensor x, asc_dtype dtype);
typedef struct asc_optim asc_optim;
VALUE(ASC_RULE_ADAMW, 0)
VALUE(ASC_RULE_SGD, 1)
VALUE(ASC_RULE_MUON, 2)

STRUCT(asc_rule_for, 16)
FIELD(asc_rule_for, names, 0) const char *asc_rule_for_0_names;
FIELD(asc_rule_for, rule, 8) asc_rule asc_rule_for_0_rule;

STRUCT(asc_optim_options, 80)
FIELD(asc_optim_options, rule, 0) asc_rule asc_optim_options_0_rule;
FIELD(asc_optim_options, rules, 8) const asc_rule_for *asc_optim_options_0_rules;
FIELD(asc_optim_options, weight_decay, 16) double asc_optim_options_0_weight_decay;
FIELD(asc_optim_options, beta1, 24) double asc_optim_options_0_beta1;
FIELD(asc_optim_options, beta2, 32) double asc_optim_options_0_beta2;
FIELD(asc_optim_options, eps, 40) double asc_optim_options_0_eps;
FIELD(asc_optim_options, momentum, 48) double asc_optim_options_0_momentum;
FIELD(asc_optim_options, muon_momentum, 56) double asc_optim_options_0_muon_momentum;
FIELD(asc_optim_options, average, 64) double asc_optim_options_0_average;
FIELD(asc_optim_options, share, 72) int asc_optim_options_0_share;
FIELD(asc_optim_options, shares, 76) int asc_optim_options_0_shares;
asc_optim *asc_optim_new(asc_ctx *ctx, asc_params *params, const asc_optim_options *options);

STRUCT(asc_adamw_options, 32)
FIELD(asc_adamw_options, beta1, 0) double asc_adamw_options_0_beta1;
FIELD(asc_adamw_options, beta2, 8) double asc_adamw_options_0_beta2;
FIELD(asc_adamw_options, eps, 16) double asc_adamw_options_0_eps;
FIELD(asc_adamw_options, weight_decay, 24) double asc_adamw_options_0_weight_decay;
asc_optim *asc_adamw_new(asc_ctx *ctx, asc_params *params, const asc_adamw_options *options);
asc_optim *asc_sgd_new(asc_ctx *ctx, asc_params *params, double momentum, double weight_decay);
void asc_optim_free(asc_optim *optim);
int asc_optim_group(asc_optim *optim, const char *names, double lr_scale, double weight_decay);
asc_status asc_optim_step(asc_optim *optim, double lr, double grad_scale);
asc_status asc_optim_average(asc_optim *optim);
asc_status asc_optim_swap_average(asc_optim *optim);
int asc_optim_share_of(const asc_optim *optim, int i);
asc_params *asc_optim_state(asc_optim *optim);
double asc_grad_norm(asc_ctx *ctx, asc_params *params);
double asc_clip_scale(double norm, double clip);
VALUE(ASC_DECAY_CONSTANT, 0)
VALUE(ASC_DECAY_LINEAR, 1)
VALUE(ASC_DECAY_COSINE, 2)
VALUE(ASC_DECAY_WSD, 3)

STRUCT(asc_schedule, 48)
FIELD(asc_schedule, decay, 0) asc_decay asc_schedule_0_decay;
FIELD(asc_schedule, lr, 8) double asc_schedule_0_lr;
FIELD(asc_schedule, min_lr, 16) double asc_schedule_0_min_lr;
FIELD(asc_schedule, warmup, 24) int64_t asc_schedule_0_warmup;
FIELD(asc_schedule, steps, 32) int64_t asc_schedule_0_steps;
FIELD(asc_schedule, fall, 40) int64_t asc_schedule_0_fall;
double asc_lr_at(const asc_schedule *schedule, int64_t t);
asc_sentences *asc_pair_sentences(asc_dataset *dataset, asc_split_kind split, const asc_tokenizer *tokenizer, int64_t max_tokens, bool together);
asc_features *asc_pair_features(const asc_lm *lm, asc_encoder *encoder, asc_dataset *dataset, asc_split_kind split, const asc_tokenizer *tokenizer, const asc_features_options *options);
asc_encoder *asc_model_encoder(asc_ctx *ctx, const asc_model *model, const char *folder, const char *vocab);

STRUCT(asc_text_pair, 16)
FIELD(asc_text_pair, premise, 0) const char *asc_text_pair_0_premise;
FIELD(asc_text_pair, hypothesis, 8) const char *asc_text_pair_0_hypothesis;
asc_status asc_pair_predict(asc_ctx *ctx, const asc_model *model, asc_encoder *encoder, const asc_text_pair *pairs, int64_t n, double *probabilities);
typedef struct asc_params asc_params;
asc_params *asc_params_new(asc_ctx *ctx);
void asc_params_free(asc_params *params);
asc_status asc_params_add(asc_params *params, const char *name, asc_tensor tensor, bool decay);
asc_status asc_params_extend(asc_params *params, const char *prefix, const asc_params *other);
int asc_params_count(const asc_params *params);
const char *asc_params_name(const asc_params *params, int i);
asc_tensor asc_params_at(const asc_params *params, int i);
bool asc_params_decays(const asc_params *params, int i);
asc_tensor asc_params_find(const asc_params *params, const char *name);
int64_t asc_params_numel(const asc_params *params);
asc_status asc_params_save(asc_ctx *ctx, const asc_params *params, const char *path);
asc_status asc_params_load(asc_ctx *ctx, asc_params *params, const char *path);
void asc_params_zero_grad(asc_params *params);

STRUCT(asc_probe_options, 40)
FIELD(asc_probe_options, held_out, 0) double asc_probe_options_0_held_out;
FIELD(asc_probe_options, ridge, 8) double asc_probe_options_0_ridge;
FIELD(asc_probe_options, shuffles, 16) int64_t asc_probe_options_0_shuffles;
FIELD(asc_probe_options, seed, 24) uint64_t asc_probe_options_0_seed;
FIELD(asc_probe_options, groups, 32) const int64_t *asc_probe_options_0_groups;

STRUCT(asc_probe_result, 56)
FIELD(asc_probe_result, fitted, 0) int64_t asc_probe_result_0_fitted;
FIELD(asc_probe_result, held_out, 8) int64_t asc_probe_result_0_held_out;
FIELD(asc_probe_result, classes, 16) int64_t asc_probe_result_0_classes;
FIELD(asc_probe_result, score, 24) double asc_probe_result_0_score;
FIELD(asc_probe_result, chance, 32) double asc_probe_result_0_chance;
FIELD(asc_probe_result, shuffled, 40) double asc_probe_result_0_shuffled;
FIELD(asc_probe_result, shuffled_std, 48) double asc_probe_result_0_shuffled_std;
asc_status asc_probe_labels(asc_ctx *ctx, const double *x, int64_t n, int64_t d, const int64_t *labels, const asc_probe_options *options, asc_probe_result *result);
asc_status asc_probe_values(asc_ctx *ctx, const double *x, int64_t n, int64_t d, const double *values, const asc_probe_options *options, asc_probe_result *result);

STRUCT(asc_kmeans_options, 24)
FIELD(asc_kmeans_options, restarts, 0) int64_t asc_kmeans_options_0_restarts;
FIELD(asc_kmeans_options, iterations, 8) int64_t asc_kmeans_options_0_iterations;
FIELD(asc_kmeans_options, seed, 16) uint64_t asc_kmeans_options_0_seed;
asc_status asc_kmeans(asc_ctx *ctx, const double *x, int64_t n, int64_t d, int64_t k, const asc_kmeans_options *options, int64_t *cluster, double *inertia);

STRUCT(asc_cluster_result, 56)
FIELD(asc_cluster_result, groups, 0) int64_t asc_cluster_result_0_groups;
FIELD(asc_cluster_result, nmi, 8) double asc_cluster_result_0_nmi;
FIELD(asc_cluster_result, ari, 16) double asc_cluster_result_0_ari;
FIELD(asc_cluster_result, shuffled_nmi, 24) double asc_cluster_result_0_shuffled_nmi;
FIELD(asc_cluster_result, shuffled_ari, 32) double asc_cluster_result_0_shuffled_ari;
FIELD(asc_cluster_result, runs_nmi, 40) double asc_cluster_result_0_runs_nmi;
FIELD(asc_cluster_result, runs_ari, 48) double asc_cluster_result_0_runs_ari;
asc_status asc_cluster_labels(asc_ctx *ctx, const double *x, int64_t n, int64_t d, const int64_t *labels, const int64_t *groups, const asc_kmeans_options *options, asc_cluster_result *result);
typedef struct asc_profile asc_profile;
VALUE(ASC_PROFILE_TABLE_PHASES, 0)
VALUE(ASC_PROFILE_TABLE_PARTS, 1)
VALUE(ASC_PROFILE_TABLE_OPS, 2)
VALUE(ASC_PASS_FORWARD, 0)
VALUE(ASC_PASS_AGAIN, 1)
VALUE(ASC_PASS_BACKWARD, 2)
VALUE(ASC_PASSES, 3)

STRUCT(asc_profile_row, 120)
FIELD(asc_profile_row, name, 0) char asc_profile_row_0_name[48];
FIELD(asc_profile_row, calls, 48) int64_t asc_profile_row_0_calls;
FIELD(asc_profile_row, seconds, 56) double asc_profile_row_0_seconds;
FIELD(asc_profile_row, work, 64) double asc_profile_row_0_work;
FIELD(asc_profile_row, flops, 72) double asc_profile_row_0_flops;
FIELD(asc_profile_row, bytes, 80) double asc_profile_row_0_bytes;
FIELD(asc_profile_row, by_pass, 88) double asc_profile_row_0_by_pass[ASC_PASSES];
FIELD(asc_profile_row, pass, 112) asc_pass asc_profile_row_0_pass;
FIELD(asc_profile_row, in_step, 116) bool asc_profile_row_0_in_step;

STRUCT(asc_profile_total, 48)
FIELD(asc_profile_total, seconds, 0) double asc_profile_total_0_seconds;
FIELD(asc_profile_total, step_seconds, 8) double asc_profile_total_0_step_seconds;
FIELD(asc_profile_total, flops, 16) double asc_profile_total_0_flops;
FIELD(asc_profile_total, bytes, 24) double asc_profile_total_0_bytes;
FIELD(asc_profile_total, work, 32) double asc_profile_total_0_work;
FIELD(asc_profile_total, steps, 40) int64_t asc_profile_total_0_steps;
asc_profile *asc_profile_new(asc_ctx *ctx, int64_t traced_steps);
void asc_profile_stop(asc_profile *profile);
void asc_profile_free(asc_profile *profile);
asc_profile_total asc_profile_sum(const asc_profile *profile);
int asc_profile_rows(asc_profile *profile, asc_profile_table table, const asc_profile_row **rows);
asc_status asc_profile_write(asc_profile *profile, const char *path, double sgemm);
typedef struct asc_run asc_run;
VALUE(ASC_RUN_STATE_DONE, 0)
VALUE(ASC_RUN_STATE_RUNNING, 1)
VALUE(ASC_RUN_STATE_INTERRUPTED, 2)
VALUE(ASC_RUN_STATE_FAILED, 3)

STRUCT(asc_run_best, 56)
FIELD(asc_run_best, step, 0) int64_t asc_run_best_0_step;
FIELD(asc_run_best, tokens, 8) double asc_run_best_0_tokens;
FIELD(asc_run_best, elapsed_s, 16) double asc_run_best_0_elapsed_s;
FIELD(asc_run_best, valid_loss, 24) double asc_run_best_0_valid_loss;
FIELD(asc_run_best, valid_ppl, 32) double asc_run_best_0_valid_ppl;
FIELD(asc_run_best, valid_bits_per_byte, 40) double asc_run_best_0_valid_bits_per_byte;
FIELD(asc_run_best, valid_accuracy, 48) double asc_run_best_0_valid_accuracy;

STRUCT(asc_run_info, 216)
FIELD(asc_run_info, state, 0) asc_run_state asc_run_info_0_state;
FIELD(asc_run_info, reason, 8) const char *asc_run_info_0_reason;
FIELD(asc_run_info, step, 16) int64_t asc_run_info_0_step;
FIELD(asc_run_info, steps, 24) int64_t asc_run_info_0_steps;
FIELD(asc_run_info, tokens, 32) double asc_run_info_0_tokens;
FIELD(asc_run_info, epochs, 40) double asc_run_info_0_epochs;
FIELD(asc_run_info, wall_s, 48) double asc_run_info_0_wall_s;
FIELD(asc_run_info, tokens_per_s, 56) double asc_run_info_0_tokens_per_s;
FIELD(asc_run_info, peak_rss_mib, 64) double asc_run_info_0_peak_rss_mib;
FIELD(asc_run_info, parameters, 72) double asc_run_info_0_parameters;
FIELD(asc_run_info, gflop_per_token, 80) double asc_run_info_0_gflop_per_token;
FIELD(asc_run_info, memory_gib, 88) double asc_run_info_0_memory_gib;
FIELD(asc_run_info, threads, 96) double asc_run_info_0_threads;
FIELD(asc_run_info, unknown, 104) double asc_run_info_0_unknown;
FIELD(asc_run_info, updated_s, 112) double asc_run_info_0_updated_s;
FIELD(asc_run_info, processor, 120) const char *asc_run_info_0_processor;
FIELD(asc_run_info, version, 128) const char *asc_run_info_0_version;
FIELD(asc_run_info, blas, 136) const char *asc_run_info_0_blas;
FIELD(asc_run_info, instructions, 144) const char *asc_run_info_0_instructions;
FIELD(asc_run_info, best, 152) asc_run_best asc_run_info_0_best;
FIELD(asc_run_info, by_accuracy, 208) bool asc_run_info_0_by_accuracy;
const char *asc_run_state_name(asc_run_state state);
asc_run *asc_run_read(asc_ctx *ctx, const char *folder);
void asc_run_free(asc_run *run);
const char *asc_run_folder(const asc_run *run);
const asc_run_info *asc_run_info_of(const asc_run *run);
const char *asc_run_setting(const asc_run *run, const char *key);
const char *asc_run_setting_at(const asc_run *run, int i);
size_t asc_run_rows(const asc_run *run);
double asc_run_value(const asc_run *run, size_t row, const char *key);
const char *asc_run_key_at(const asc_run *run, int i);
asc_status asc_runs_find(asc_ctx *ctx, const char *folder, bool (*found)(void *user, const char *run), void *user);
typedef struct asc_safetensors asc_safetensors;

STRUCT(asc_safetensors_entry, 112)
FIELD(asc_safetensors_entry, name, 0) const char *asc_safetensors_entry_0_name;
FIELD(asc_safetensors_entry, stored, 8) const char *asc_safetensors_entry_0_stored;
FIELD(asc_safetensors_entry, dtype, 16) asc_dtype asc_safetensors_entry_0_dtype;
FIELD(asc_safetensors_entry, ndim, 20) int asc_safetensors_entry_0_ndim;
FIELD(asc_safetensors_entry, shape, 24) int64_t asc_safetensors_entry_0_shape[ASC_MAX_DIMS];
FIELD(asc_safetensors_entry, numel, 88) int64_t asc_safetensors_entry_0_numel;
FIELD(asc_safetensors_entry, offset, 96) int64_t asc_safetensors_entry_0_offset;
FIELD(asc_safetensors_entry, bytes, 104) int64_t asc_safetensors_entry_0_bytes;

STRUCT(asc_safetensors_pair, 16)
FIELD(asc_safetensors_pair, key, 0) const char *asc_safetensors_pair_0_key;
FIELD(asc_safetensors_pair, value, 8) const char *asc_safetensors_pair_0_value;
asc_safetensors *asc_safetensors_open(asc_ctx *ctx, const char *path);
void asc_safetensors_close(asc_safetensors *file);
int64_t asc_safetensors_count(const asc_safetensors *file);
const asc_safetensors_entry *asc_safetensors_at(const asc_safetensors *file, int64_t i);
const asc_safetensors_entry *asc_safetensors_find(const asc_safetensors *file, const char *name);
const char *asc_safetensors_metadata(const asc_safetensors *file, const char *key);
const asc_safetensors_pair *asc_safetensors_metadata_at(const asc_safetensors *file, int64_t i);
asc_tensor asc_safetensors_read(asc_ctx *ctx, const asc_safetensors *file, const char *name, int dtype);
asc_status asc_safetensors_read_into(asc_ctx *ctx, const asc_safetensors *file, const char *name, asc_tensor tensor);

STRUCT(asc_named_tensor, 24)
FIELD(asc_named_tensor, name, 0) const char *asc_named_tensor_0_name;
FIELD(asc_named_tensor, tensor, 8) asc_tensor asc_named_tensor_0_tensor;
asc_status asc_safetensors_write(asc_ctx *ctx, const char *path, const asc_named_tensor *tensors, int64_t n, const asc_safetensors_pair *metadata, int64_t n_metadata);
VALUE(ASC_SETTING_INT, 1)
VALUE(ASC_SETTING_REAL, 2)
VALUE(ASC_SETTING_BOOL, 3)
VALUE(ASC_SETTING_CHOICE, 4)
VALUE(ASC_SETTING_TEXT, 5)
VALUE(ASC_SETTING_INTS, 6)
VALUE(ASC_SETTING_SET, 7)
VALUE(ASC_SETTING_COUNT, 8)
VALUE(ASC_SETTING_HEADS, 9)
VALUE(ASC_SETTING_TUPLES, 10)
VALUE(ASC_SETTING_LIST, 32)
VALUE(ASC_SETTING_PER_LAYER, 1)
VALUE(ASC_SETTING_PER_HEAD, 2)
VALUE(ASC_SETTING_REQUIRED, 4)
VALUE(ASC_SETTING_ANEW, 8)
VALUE(ASC_SETTING_RARE, 16)
VALUE(ASC_SETTING_MINUTES, 32)
VALUE(ASC_SETTING_NEUTRAL, 64)

STRUCT(asc_ints, 16)
FIELD(asc_ints, n, 0) int64_t asc_ints_0_n;
FIELD(asc_ints, at, 8) int64_t *asc_ints_0_at;

STRUCT(asc_reals, 16)
FIELD(asc_reals, n, 0) int64_t asc_reals_0_n;
FIELD(asc_reals, at, 8) double *asc_reals_0_at;

STRUCT(asc_tuples, 24)
FIELD(asc_tuples, n, 0) int64_t asc_tuples_0_n;
FIELD(asc_tuples, at, 8) int64_t *asc_tuples_0_at;
FIELD(asc_tuples, size, 16) int64_t asc_tuples_0_size;

STRUCT(asc_setting, 120)
FIELD(asc_setting, key, 0) const char *asc_setting_0_key;
FIELD(asc_setting, type, 8) asc_setting_type asc_setting_0_type;
FIELD(asc_setting, offset, 16) size_t asc_setting_0_offset;
FIELD(asc_setting, fallback, 24) const char *asc_setting_0_fallback;
FIELD(asc_setting, help, 32) const char *asc_setting_0_help;
FIELD(asc_setting, min, 40) double asc_setting_0_min;
FIELD(asc_setting, max, 48) double asc_setting_0_max;
FIELD(asc_setting, choices, 56) const char *const *asc_setting_0_choices;
FIELD(asc_setting, flags, 64) unsigned asc_setting_0_flags;
FIELD(asc_setting, option, 72) const char *asc_setting_0_option;
FIELD(asc_setting, argument, 80) const char *asc_setting_0_argument;
FIELD(asc_setting, follows, 88) const char *asc_setting_0_follows;
FIELD(asc_setting, only, 96) const char *asc_setting_0_only;
FIELD(asc_setting, expand, 104) int (*asc_setting_0_expand)(int which, int nth, int64_t *values);
FIELD(asc_setting, group, 112) const char *asc_setting_0_group;

STRUCT(asc_schema, 16)
FIELD(asc_schema, owner, 0) const char *asc_schema_0_owner;
FIELD(asc_schema, settings, 8) const asc_setting *asc_schema_0_settings;
const asc_setting *asc_setting_find(const asc_setting *settings, const char *key);

STRUCT(asc_resampling, 16)
FIELD(asc_resampling, resamples, 0) int64_t asc_resampling_0_resamples;
FIELD(asc_resampling, seed, 8) uint64_t asc_resampling_0_seed;

STRUCT(asc_pair_stats, 88)
FIELD(asc_pair_stats, n, 0) int64_t asc_pair_stats_0_n;
FIELD(asc_pair_stats, mean_a, 8) double asc_pair_stats_0_mean_a;
FIELD(asc_pair_stats, mean_b, 16) double asc_pair_stats_0_mean_b;
FIELD(asc_pair_stats, difference, 24) double asc_pair_stats_0_difference;
FIELD(asc_pair_stats, ci_low, 32) double asc_pair_stats_0_ci_low;
FIELD(asc_pair_stats, ci_high, 40) double asc_pair_stats_0_ci_high;
FIELD(asc_pair_stats, p_bootstrap, 48) double asc_pair_stats_0_p_bootstrap;
FIELD(asc_pair_stats, p_randomization, 56) double asc_pair_stats_0_p_randomization;
FIELD(asc_pair_stats, cohen_dz, 64) double asc_pair_stats_0_cohen_dz;
FIELD(asc_pair_stats, cohen_d, 72) double asc_pair_stats_0_cohen_d;
FIELD(asc_pair_stats, cliff_delta, 80) double asc_pair_stats_0_cliff_delta;
asc_status asc_stats_pair(asc_ctx *ctx, const double *a, const double *b, int64_t n, const asc_resampling *how, asc_pair_stats *result);

STRUCT(asc_mcnemar, 48)
FIELD(asc_mcnemar, both, 0) int64_t asc_mcnemar_0_both;
FIELD(asc_mcnemar, only_a, 8) int64_t asc_mcnemar_0_only_a;
FIELD(asc_mcnemar, only_b, 16) int64_t asc_mcnemar_0_only_b;
FIELD(asc_mcnemar, neither, 24) int64_t asc_mcnemar_0_neither;
FIELD(asc_mcnemar, chi2, 32) double asc_mcnemar_0_chi2;
FIELD(asc_mcnemar, p, 40) double asc_mcnemar_0_p;
asc_status asc_stats_mcnemar(asc_ctx *ctx, const uint8_t *a, const uint8_t *b, int64_t n, asc_mcnemar *result);
double asc_stats_mean(asc_ctx *ctx, const double *x, int64_t n, double *std);
asc_status asc_stats_interval(asc_ctx *ctx, const double *x, int64_t n, double p, double *low, double *high);
asc_status asc_stats_holm(asc_ctx *ctx, const double *p, int64_t n, double *adjusted);
asc_status asc_stats_calibration(asc_ctx *ctx, const double *confidence, const uint8_t *correct, int64_t n, int bins, double *ece, double *accuracy);
asc_status asc_stats_clusters(asc_ctx *ctx, const int64_t *x, const int64_t *y, int64_t n, double *nmi, double *ari);
asc_status asc_stats_smooth(asc_ctx *ctx, const double *x, int64_t n, double weight, double *smooth);

STRUCT(asc_curve, 24)
FIELD(asc_curve, x, 0) const double *asc_curve_0_x;
FIELD(asc_curve, y, 8) const double *asc_curve_0_y;
FIELD(asc_curve, n, 16) int64_t asc_curve_0_n;
asc_status asc_stats_band(asc_ctx *ctx, const asc_curve *curves, int64_t n, const double *at, int64_t m, double *mean, double *std);
asc_status asc_stats_front(asc_ctx *ctx, const double *cost, const double *loss, int64_t n, uint8_t *on_front);
VALUE(ASC_F32, 0)
VALUE(ASC_F64, 1)
VALUE(ASC_I64, 2)
VALUE(ASC_U8, 3)

STRUCT(asc_tensor, 16)
FIELD(asc_tensor, tag, 0) struct asc_tag *asc_tensor_0_tag;
FIELD(asc_tensor, generation, 8) uint64_t asc_tensor_0_generation;

STRUCT(asc_array, 152)
FIELD(asc_array, data, 0) void *asc_array_0_data;
FIELD(asc_array, dtype, 8) asc_dtype asc_array_0_dtype;
FIELD(asc_array, ndim, 12) int asc_array_0_ndim;
FIELD(asc_array, numel, 16) int64_t asc_array_0_numel;
FIELD(asc_array, shape, 24) int64_t asc_array_0_shape[ASC_MAX_DIMS];
FIELD(asc_array, stride, 88) int64_t asc_array_0_stride[ASC_MAX_DIMS];
asc_tensor asc_empty(asc_ctx *ctx, asc_dtype dtype, int ndim, const int64_t *shape);
asc_tensor asc_zeros(asc_ctx *ctx, asc_dtype dtype, int ndim, const int64_t *shape);
asc_tensor asc_full(asc_ctx *ctx, asc_dtype dtype, double value, int ndim, const int64_t *shape);
asc_tensor asc_scalar(asc_ctx *ctx, asc_dtype dtype, double value);
asc_tensor asc_from(asc_ctx *ctx, asc_dtype dtype, const void *data, int ndim, const int64_t *shape);
asc_tensor asc_wrap(asc_ctx *ctx, asc_dtype dtype, void *data, int ndim, const int64_t *shape, const int64_t *stride, void (*release)(void *user, void *data), void *user);
asc_tensor asc_uniform(asc_ctx *ctx, asc_dtype dtype, double lo, double hi, uint64_t seed, uint64_t stream, int ndim, const int64_t *shape);
asc_tensor asc_normal(asc_ctx *ctx, asc_dtype dtype, double mean, double deviation, uint64_t seed, uint64_t stream, int ndim, const int64_t *shape);
asc_dtype asc_dtype_of(asc_tensor t);
int asc_ndim(asc_tensor t);
int64_t asc_size(asc_tensor t, int dim);
int64_t asc_numel(asc_tensor t);
const int64_t *asc_shape(asc_tensor t);
const int64_t *asc_strides(asc_tensor t);
bool asc_is_contiguous(asc_tensor t);
asc_array asc_array_of(asc_tensor t);
bool asc_is_valid(asc_tensor t);
const char *asc_dtype_name(asc_dtype dtype);
size_t asc_dtype_size(asc_dtype dtype);
const void *asc_data(asc_tensor t);
void *asc_data_mut(asc_tensor t);
double asc_item(asc_tensor t);
size_t asc_format(asc_tensor t, char *text, size_t bytes);
asc_status asc_write(asc_ctx *ctx, asc_tensor t, FILE *file);
asc_status asc_copy(asc_ctx *ctx, asc_tensor dst, asc_tensor src);
asc_status asc_set_data(asc_tensor leaf, asc_tensor where);
void asc_scope_begin(asc_ctx *ctx);
void asc_scope_end(asc_ctx *ctx);
void asc_scope_end_but(asc_ctx *ctx, const asc_tensor *stay, int n);
asc_tensor asc_keep(asc_tensor t);
void asc_release(asc_tensor t);
asc_status asc_require_grad(asc_tensor t, bool require);
bool asc_requires_grad(asc_tensor t);
bool asc_is_leaf(asc_tensor t);
asc_tensor asc_grad(asc_tensor t);
void asc_zero_grad(asc_tensor t);
asc_status asc_grad_into(asc_tensor leaf, asc_tensor where, bool holds);
typedef void asc_grad_hook(void *user, asc_tensor gradient);
asc_status asc_on_grad(asc_tensor t, asc_grad_hook *hook, void *user);
asc_status asc_backward(asc_ctx *ctx, asc_tensor loss, asc_tensor cotangent, bool retain);
asc_status asc_backward_loss(asc_ctx *ctx, asc_tensor loss);
typedef asc_status asc_recompute_fn(asc_ctx *ctx, void *user, const asc_tensor *inputs, asc_tensor *outputs);
asc_status asc_recompute(asc_ctx *ctx, asc_recompute_fn *fn, void *user, const asc_tensor *inputs, int n_in, asc_tensor *outputs, int n_out);
bool asc_set_recording(asc_ctx *ctx, bool record);
asc_tensor asc_detach(asc_ctx *ctx, asc_tensor t);
void asc_set_step(asc_ctx *ctx, uint64_t seed, uint64_t step);
typedef struct asc_settings asc_settings;
asc_schema asc_settings_schema(const asc_ctx *ctx, int i);
asc_settings *asc_settings_new(asc_ctx *ctx);
void asc_settings_free(asc_settings *settings);
asc_status asc_settings_set(asc_settings *settings, const char *key, const char *value);
const char *asc_settings_text(const asc_settings *settings, const char *key, bool *given);
asc_status asc_settings_load(asc_settings *settings, const char *path);
asc_status asc_settings_preset(asc_settings *settings, const char *name);
const char *asc_preset_at(int i);
asc_status asc_settings_resume(asc_settings *settings, const char *run);
asc_status asc_settings_data_of(asc_settings *settings, const char *run);
int asc_settings_threads(const asc_settings *settings);

STRUCT(asc_eval_options, 80)
FIELD(asc_eval_options, batch, 0) int64_t asc_eval_options_0_batch;
FIELD(asc_eval_options, length, 8) int64_t asc_eval_options_0_length;
FIELD(asc_eval_options, carry, 16) int64_t asc_eval_options_0_carry;
FIELD(asc_eval_options, tokens, 24) asc_status (*asc_eval_options_0_tokens)(void *user, const int64_t *ids, const double *losses, int64_t n);
FIELD(asc_eval_options, block, 32) asc_status (*asc_eval_options_0_block)(void *user, int64_t number, double nats, int64_t tokens);
FIELD(asc_eval_options, progress, 40) bool (*asc_eval_options_0_progress)(void *user, double done);
FIELD(asc_eval_options, user, 48) void *asc_eval_options_0_user;
FIELD(asc_eval_options, confusion, 56) int64_t *asc_eval_options_0_confusion;
FIELD(asc_eval_options, features, 64) const asc_features *asc_eval_options_0_features;
FIELD(asc_eval_options, sequence, 72) asc_status (*asc_eval_options_0_sequence)(void *user, int64_t number, int64_t label, int64_t found, double loss);

STRUCT(asc_eval_result, 72)
FIELD(asc_eval_result, tokens, 0) int64_t asc_eval_result_0_tokens;
FIELD(asc_eval_result, loss, 8) double asc_eval_result_0_loss;
FIELD(asc_eval_result, ppl, 16) double asc_eval_result_0_ppl;
FIELD(asc_eval_result, bits_per_byte, 24) double asc_eval_result_0_bits_per_byte;
FIELD(asc_eval_result, unknown, 32) double asc_eval_result_0_unknown;
FIELD(asc_eval_result, accuracy, 40) double asc_eval_result_0_accuracy;
FIELD(asc_eval_result, ece, 48) double asc_eval_result_0_ece;
FIELD(asc_eval_result, sequences, 56) int64_t asc_eval_result_0_sequences;
FIELD(asc_eval_result, exact, 64) double asc_eval_result_0_exact;
asc_status asc_evaluate(asc_ctx *ctx, asc_lm *lm, const asc_split *split, const asc_eval_options *options, asc_eval_result *result);

STRUCT(asc_model, 96)
FIELD(asc_model, lm, 0) asc_lm *asc_model_0_lm;
FIELD(asc_model, tokenizer, 8) asc_tokenizer *asc_model_0_tokenizer;
FIELD(asc_model, run, 16) char *asc_model_0_run;
FIELD(asc_model, data, 24) char *asc_model_0_data;
FIELD(asc_model, batch, 32) int64_t asc_model_0_batch;
FIELD(asc_model, precision, 40) asc_precision asc_model_0_precision;
FIELD(asc_model, checksum, 44) char asc_model_0_checksum[9];
FIELD(asc_model, classes, 56) char *asc_model_0_classes;
FIELD(asc_model, encoder, 64) char *asc_model_0_encoder;
FIELD(asc_model, encoder_checksum, 72) char asc_model_0_encoder_checksum[17];
asc_model *asc_model_open(asc_ctx *ctx, const char *path, const char *tokenizer, asc_dataset *data);
asc_status asc_lm_save(asc_ctx *ctx, asc_lm *lm, const char *path);
asc_lm *asc_lm_load(asc_ctx *ctx, const char *path);
void asc_model_free(asc_ctx *ctx, asc_model *model);
asc_status asc_model_check_split(asc_ctx *ctx, const asc_model *model, asc_split_kind kind, const asc_split *split);
asc_status asc_model_check_classes(asc_ctx *ctx, const asc_model *model, const asc_dataset *dataset);
VALUE(ASC_TRAIN_PHASE_READY, 0)
VALUE(ASC_TRAIN_PHASE_STEP, 1)
VALUE(ASC_TRAIN_PHASE_EVALUATING, 2)
VALUE(ASC_TRAIN_PHASE_EVALUATED, 3)

STRUCT(asc_train_progress, 200)
FIELD(asc_train_progress, phase, 0) asc_train_phase asc_train_progress_0_phase;
FIELD(asc_train_progress, step, 8) int64_t asc_train_progress_0_step;
FIELD(asc_train_progress, steps, 16) int64_t asc_train_progress_0_steps;
FIELD(asc_train_progress, epoch, 24) double asc_train_progress_0_epoch;
FIELD(asc_train_progress, tokens, 32) int64_t asc_train_progress_0_tokens;
FIELD(asc_train_progress, loss, 40) double asc_train_progress_0_loss;
FIELD(asc_train_progress, lr, 48) double asc_train_progress_0_lr;
FIELD(asc_train_progress, grad_norm, 56) double asc_train_progress_0_grad_norm;
FIELD(asc_train_progress, tokens_per_s, 64) double asc_train_progress_0_tokens_per_s;
FIELD(asc_train_progress, elapsed_s, 72) double asc_train_progress_0_elapsed_s;
FIELD(asc_train_progress, spent_s, 80) double asc_train_progress_0_spent_s;
FIELD(asc_train_progress, limit_s, 88) double asc_train_progress_0_limit_s;
FIELD(asc_train_progress, left_s, 96) double asc_train_progress_0_left_s;
FIELD(asc_train_progress, evaluated, 104) double asc_train_progress_0_evaluated;
FIELD(asc_train_progress, valid, 112) asc_eval_result asc_train_progress_0_valid;
FIELD(asc_train_progress, best_step, 184) int64_t asc_train_progress_0_best_step;
FIELD(asc_train_progress, log, 192) bool asc_train_progress_0_log;

STRUCT(asc_train_hooks, 48)
FIELD(asc_train_hooks, progress, 0) bool (*asc_train_hooks_0_progress)(void *user, const asc_train_progress *progress);
FIELD(asc_train_hooks, message, 8) void (*asc_train_hooks_0_message)(void *user, const char *text);
FIELD(asc_train_hooks, user, 16) void *asc_train_hooks_0_user;
FIELD(asc_train_hooks, working, 24) bool (*asc_train_hooks_0_working)(void *user, const asc_train_progress *progress);
FIELD(asc_train_hooks, sample, 32) void (*asc_train_hooks_0_sample)(void *user, const asc_train_progress *progress, const char *prompt, const char *continuation);
FIELD(asc_train_hooks, encoding, 40) void (*asc_train_hooks_0_encoding)(void *user, double done);
VALUE(ASC_TRAIN_END_STEPS, 0)
VALUE(ASC_TRAIN_END_EARLY, 1)
VALUE(ASC_TRAIN_END_MINUTES, 2)
VALUE(ASC_TRAIN_END_STOPPED, 3)

STRUCT(asc_train_result, 120)
FIELD(asc_train_result, parameters, 0) int64_t asc_train_result_0_parameters;
FIELD(asc_train_result, step, 8) int64_t asc_train_result_0_step;
FIELD(asc_train_result, steps, 16) int64_t asc_train_result_0_steps;
FIELD(asc_train_result, tokens, 24) int64_t asc_train_result_0_tokens;
FIELD(asc_train_result, elapsed_s, 32) double asc_train_result_0_elapsed_s;
FIELD(asc_train_result, best_loss, 40) double asc_train_result_0_best_loss;
FIELD(asc_train_result, best_ppl, 48) double asc_train_result_0_best_ppl;
FIELD(asc_train_result, best_bits_per_byte, 56) double asc_train_result_0_best_bits_per_byte;
FIELD(asc_train_result, best_accuracy, 64) double asc_train_result_0_best_accuracy;
FIELD(asc_train_result, unknown, 72) double asc_train_result_0_unknown;
FIELD(asc_train_result, best_step, 80) int64_t asc_train_result_0_best_step;
FIELD(asc_train_result, has_test, 88) bool asc_train_result_0_has_test;
FIELD(asc_train_result, carry, 96) int64_t asc_train_result_0_carry;
FIELD(asc_train_result, source_ppl, 104) double asc_train_result_0_source_ppl;
FIELD(asc_train_result, end, 112) asc_train_end asc_train_result_0_end;
asc_status asc_train(asc_ctx *ctx, asc_settings *settings, const char *run, bool resume, const asc_train_hooks *hooks, asc_train_result *result);
asc_status asc_train_resume(asc_ctx *ctx, const char *run, const asc_train_hooks *hooks, asc_train_result *result);

STRUCT(asc_sampling, 56)
FIELD(asc_sampling, temperature, 0) double asc_sampling_0_temperature;
FIELD(asc_sampling, top_k, 8) int64_t asc_sampling_0_top_k;
FIELD(asc_sampling, top_p, 16) double asc_sampling_0_top_p;
FIELD(asc_sampling, seed, 24) uint64_t asc_sampling_0_seed;
FIELD(asc_sampling, min_p, 32) double asc_sampling_0_min_p;
FIELD(asc_sampling, repeat_penalty, 40) double asc_sampling_0_repeat_penalty;
FIELD(asc_sampling, nth, 48) uint64_t asc_sampling_0_nth;
int64_t asc_sample_token(asc_ctx *ctx, asc_tensor logits, const asc_sampling *sampling, uint64_t draw);
int64_t asc_sample_after(asc_ctx *ctx, asc_tensor logits, const int32_t *before, int64_t n, const asc_sampling *sampling, uint64_t draw);
asc_status asc_generate(asc_ctx *ctx, const asc_model *model, const int32_t *prompt, int64_t n, int64_t count, const asc_sampling *sampling, bool (*token)(void *user, int32_t id), void *user);

STRUCT(asc_writing, 96)
FIELD(asc_writing, tokens, 0) int64_t asc_writing_0_tokens;
FIELD(asc_writing, sampling, 8) asc_sampling asc_writing_0_sampling;
FIELD(asc_writing, stop, 64) const char *const *asc_writing_0_stop;
FIELD(asc_writing, text, 72) bool (*asc_writing_0_text)(void *user, const char *text, size_t n);
FIELD(asc_writing, token, 80) bool (*asc_writing_0_token)(void *user, int32_t id);
FIELD(asc_writing, user, 88) void *asc_writing_0_user;
VALUE(ASC_WRITING_END_TOKENS, 0)
VALUE(ASC_WRITING_END_STOP, 1)
VALUE(ASC_WRITING_END_REFUSED, 2)

STRUCT(asc_written, 24)
FIELD(asc_written, end, 0) asc_writing_end asc_written_0_end;
FIELD(asc_written, tokens, 8) int64_t asc_written_0_tokens;
FIELD(asc_written, seconds, 16) double asc_written_0_seconds;
asc_status asc_generate_text(asc_ctx *ctx, const asc_model *model, const char *prompt, size_t n, const asc_writing *writing, asc_written *written);

STRUCT(asc_bools, 16)
FIELD(asc_bools, n, 0) int64_t asc_bools_0_n;
FIELD(asc_bools, at, 8) const bool *asc_bools_0_at;

STRUCT(asc_texts, 16)
FIELD(asc_texts, n, 0) int64_t asc_texts_0_n;
FIELD(asc_texts, at, 8) const char *const *asc_texts_0_at;
VALUE(ASC_FIELD_INT, 1)
VALUE(ASC_FIELD_REAL, 2)
VALUE(ASC_FIELD_BOOL, 3)
VALUE(ASC_FIELD_TEXT, 4)
VALUE(ASC_FIELD_CHOICE, 5)
VALUE(ASC_FIELD_COUNT, 6)
VALUE(ASC_FIELD_INTS, 7)
VALUE(ASC_FIELD_REALS, 8)
VALUE(ASC_FIELD_BOOLS, 9)
VALUE(ASC_FIELD_TEXTS, 10)
VALUE(ASC_FIELD_LIST, 11)
VALUE(ASC_FIELD_NAMES, 12)
VALUE(ASC_FIELD_TUPLES, 13)

STRUCT(asc_field, 32)
FIELD(asc_field, key, 0) const char *asc_field_0_key;
FIELD(asc_field, kind, 8) asc_field_kind asc_field_0_kind;
FIELD(asc_field, offset, 16) size_t asc_field_0_offset;
FIELD(asc_field, choices, 24) const char *const *asc_field_0_choices;

STRUCT(asc_typed, 24)
FIELD(asc_typed, owner, 0) const char *asc_typed_0_owner;
FIELD(asc_typed, fields, 8) const asc_field *asc_typed_0_fields;
FIELD(asc_typed, values, 16) const void *asc_typed_0_values;
const char *asc_typed_json(asc_ctx *ctx, const asc_typed *parts, int n);

/* All functions are there. */
typedef void any(void);
any *const functions[] = {
    (any *)asc_abs,
    (any *)asc_accuracy,
    (any *)asc_adamw_new,
    (any *)asc_add,
    (any *)asc_add_dropout,
    (any *)asc_add_scalar,
    (any *)asc_alibi,
    (any *)asc_alloc,
    (any *)asc_apply,
    (any *)asc_apply1,
    (any *)asc_apply_into,
    (any *)asc_arange,
    (any *)asc_argmax,
    (any *)asc_array_of,
    (any *)asc_ascender,
    (any *)asc_ascender_background,
    (any *)asc_attention,
    (any *)asc_attention_entropies,
    (any *)asc_attention_profile,
    (any *)asc_attention_pushed,
    (any *)asc_backward,
    (any *)asc_backward_loss,
    (any *)asc_batches_free,
    (any *)asc_batches_new,
    (any *)asc_batches_next,
    (any *)asc_bce_with_logits,
    (any *)asc_bench_encode,
    (any *)asc_bench_flops,
    (any *)asc_bench_gemm,
    (any *)asc_bench_generate,
    (any *)asc_bench_layer,
    (any *)asc_bench_layer_cross,
    (any *)asc_bench_op,
    (any *)asc_bench_sgemm,
    (any *)asc_bench_speed,
    (any *)asc_bench_train,
    (any *)asc_block_count,
    (any *)asc_block_fill,
    (any *)asc_block_length,
    (any *)asc_block_order,
    (any *)asc_block_streams,
    (any *)asc_block_targets,
    (any *)asc_bpe_learner_add,
    (any *)asc_bpe_learner_free,
    (any *)asc_bpe_learner_new,
    (any *)asc_bpe_learner_save,
    (any *)asc_builtin_class_name,
    (any *)asc_builtin_labels,
    (any *)asc_builtin_score,
    (any *)asc_builtin_text,
    (any *)asc_builtin_token_labels,
    (any *)asc_cache_append,
    (any *)asc_cache_home,
    (any *)asc_cache_make,
    (any *)asc_cache_stage,
    (any *)asc_call_expect,
    (any *)asc_call_fail,
    (any *)asc_call_output,
    (any *)asc_call_save,
    (any *)asc_call_scratch,
    (any *)asc_call_view,
    (any *)asc_carry_again,
    (any *)asc_cast,
    (any *)asc_causal_check,
    (any *)asc_clamp,
    (any *)asc_class_fill,
    (any *)asc_class_width,
    (any *)asc_clip_scale,
    (any *)asc_cluster_labels,
    (any *)asc_comm_lost,
    (any *)asc_compare,
    (any *)asc_compare_seeds,
    (any *)asc_compared_free,
    (any *)asc_concat,
    (any *)asc_contiguous,
    (any *)asc_conv1d,
    (any *)asc_copy,
    (any *)asc_cos,
    (any *)asc_cosine_similarity,
    (any *)asc_cross_entropy,
    (any *)asc_cross_entropy_smoothed,
    (any *)asc_ctx_free,
    (any *)asc_ctx_new,
    (any *)asc_cumsum,
    (any *)asc_data,
    (any *)asc_data_mut,
    (any *)asc_data_source_at,
    (any *)asc_data_source_find,
    (any *)asc_data_source_register,
    (any *)asc_dataset_class,
    (any *)asc_dataset_collect,
    (any *)asc_dataset_entropy,
    (any *)asc_dataset_free,
    (any *)asc_dataset_longest,
    (any *)asc_dataset_open,
    (any *)asc_dataset_stretch,
    (any *)asc_dataset_text,
    (any *)asc_decoder_end,
    (any *)asc_decoder_free,
    (any *)asc_decoder_new,
    (any *)asc_decoder_next,
    (any *)asc_decoder_put,
    (any *)asc_detach,
    (any *)asc_div,
    (any *)asc_dropout,
    (any *)asc_dtype_name,
    (any *)asc_dtype_of,
    (any *)asc_dtype_size,
    (any *)asc_einsum,
    (any *)asc_embedding,
    (any *)asc_empty,
    (any *)asc_encoder_dim,
    (any *)asc_encoder_encode,
    (any *)asc_encoder_fingerprint,
    (any *)asc_encoder_free,
    (any *)asc_encoder_layers,
    (any *)asc_encoder_longest,
    (any *)asc_encoder_open,
    (any *)asc_encoder_parameters,
    (any *)asc_encoder_states,
    (any *)asc_encoder_tokenizer,
    (any *)asc_encoder_type,
    (any *)asc_equal,
    (any *)asc_erf,
    (any *)asc_error,
    (any *)asc_error_clear,
    (any *)asc_error_detail,
    (any *)asc_error_message,
    (any *)asc_error_subject,
    (any *)asc_evaluate,
    (any *)asc_exp,
    (any *)asc_expand,
    (any *)asc_expm1,
    (any *)asc_fail,
    (any *)asc_fail_on,
    (any *)asc_features_count,
    (any *)asc_features_dim,
    (any *)asc_features_fill,
    (any *)asc_features_first_rows,
    (any *)asc_features_free,
    (any *)asc_features_most_rows,
    (any *)asc_features_open,
    (any *)asc_features_read,
    (any *)asc_features_rows,
    (any *)asc_flops,
    (any *)asc_flops_reset,
    (any *)asc_flow_leading,
    (any *)asc_flow_mean,
    (any *)asc_flow_path,
    (any *)asc_flow_stability,
    (any *)asc_format,
    (any *)asc_free,
    (any *)asc_from,
    (any *)asc_full,
    (any *)asc_gated_fusion,
    (any *)asc_gated_memory,
    (any *)asc_gather,
    (any *)asc_geglu_linear,
    (any *)asc_gelu,
    (any *)asc_gelu_linear,
    (any *)asc_gelu_tanh,
    (any *)asc_gemm_speed,
    (any *)asc_gemm_speed_of,
    (any *)asc_generate,
    (any *)asc_generate_text,
    (any *)asc_grad,
    (any *)asc_grad_into,
    (any *)asc_grad_norm,
    (any *)asc_gradcheck,
    (any *)asc_gradcheck_mutants,
    (any *)asc_grassmann,
    (any *)asc_grid_neighbors,
    (any *)asc_head_rms,
    (any *)asc_ids_free,
    (any *)asc_ids_push,
    (any *)asc_index_select,
    (any *)asc_interrupted,
    (any *)asc_is_contiguous,
    (any *)asc_is_leaf,
    (any *)asc_is_valid,
    (any *)asc_item,
    (any *)asc_keep,
    (any *)asc_kl_div,
    (any *)asc_kmeans,
    (any *)asc_l2_normalize,
    (any *)asc_layer_config,
    (any *)asc_layer_cross,
    (any *)asc_layer_forward,
    (any *)asc_layer_forward_aux,
    (any *)asc_layer_free,
    (any *)asc_layer_given,
    (any *)asc_layer_hold,
    (any *)asc_layer_inspect,
    (any *)asc_layer_inspect_cross,
    (any *)asc_layer_new,
    (any *)asc_layer_norm,
    (any *)asc_layer_params,
    (any *)asc_layer_project,
    (any *)asc_layer_ramp,
    (any *)asc_layer_restrict,
    (any *)asc_layer_set_bias,
    (any *)asc_less,
    (any *)asc_less_equal,
    (any *)asc_linear,
    (any *)asc_linear_attention,
    (any *)asc_linear_cross_entropy,
    (any *)asc_linear_cross_entropy_top,
    (any *)asc_lm_block,
    (any *)asc_lm_cache_capacity,
    (any *)asc_lm_cache_free,
    (any *)asc_lm_cache_length,
    (any *)asc_lm_cache_new,
    (any *)asc_lm_cache_reset,
    (any *)asc_lm_carried_advance,
    (any *)asc_lm_carried_free,
    (any *)asc_lm_carried_length,
    (any *)asc_lm_carried_load,
    (any *)asc_lm_carried_new,
    (any *)asc_lm_carried_reset,
    (any *)asc_lm_carried_save,
    (any *)asc_lm_carry,
    (any *)asc_lm_causal_check,
    (any *)asc_lm_class_objective,
    (any *)asc_lm_classes,
    (any *)asc_lm_classify,
    (any *)asc_lm_config,
    (any *)asc_lm_features,
    (any *)asc_lm_free,
    (any *)asc_lm_hold,
    (any *)asc_lm_inspect,
    (any *)asc_lm_layer,
    (any *)asc_lm_layers,
    (any *)asc_lm_load,
    (any *)asc_lm_log,
    (any *)asc_lm_logits,
    (any *)asc_lm_longest,
    (any *)asc_lm_loss,
    (any *)asc_lm_loss_top,
    (any *)asc_lm_moves,
    (any *)asc_lm_new,
    (any *)asc_lm_next,
    (any *)asc_lm_objective,
    (any *)asc_lm_pair_inputs,
    (any *)asc_lm_params,
    (any *)asc_lm_project,
    (any *)asc_lm_ramp,
    (any *)asc_lm_rate_scale,
    (any *)asc_lm_save,
    (any *)asc_lm_schema,
    (any *)asc_lm_set_aux,
    (any *)asc_lm_set_carried,
    (any *)asc_lm_set_class_weights,
    (any *)asc_lm_set_dropout,
    (any *)asc_lm_set_recompute,
    (any *)asc_lm_states,
    (any *)asc_lm_streams,
    (any *)asc_lm_vocab,
    (any *)asc_log,
    (any *)asc_log1p,
    (any *)asc_log_softmax,
    (any *)asc_logsumexp,
    (any *)asc_lr_at,
    (any *)asc_machine_info,
    (any *)asc_make_linear,
    (any *)asc_make_norm,
    (any *)asc_make_param,
    (any *)asc_make_values,
    (any *)asc_masked_fill,
    (any *)asc_matmul,
    (any *)asc_matmul_transposed,
    (any *)asc_max,
    (any *)asc_maximum,
    (any *)asc_mean,
    (any *)asc_mean_within,
    (any *)asc_memory,
    (any *)asc_memory_speed,
    (any *)asc_min,
    (any *)asc_minimum,
    (any *)asc_mixing_at,
    (any *)asc_mixing_find,
    (any *)asc_mixing_register,
    (any *)asc_mixing_takes,
    (any *)asc_model_check_classes,
    (any *)asc_model_check_split,
    (any *)asc_model_encoder,
    (any *)asc_model_free,
    (any *)asc_model_open,
    (any *)asc_module_attention,
    (any *)asc_module_dropout,
    (any *)asc_module_embedding,
    (any *)asc_module_feed_forward,
    (any *)asc_module_forward,
    (any *)asc_module_free,
    (any *)asc_module_function,
    (any *)asc_module_layer_norm,
    (any *)asc_module_linear,
    (any *)asc_module_mixing,
    (any *)asc_module_params,
    (any *)asc_module_residual,
    (any *)asc_module_sequential,
    (any *)asc_module_train,
    (any *)asc_mpi_abort,
    (any *)asc_mpi_close,
    (any *)asc_mpi_launched,
    (any *)asc_mpi_open,
    (any *)asc_mpi_version,
    (any *)asc_mse,
    (any *)asc_mul,
    (any *)asc_mutant_name,
    (any *)asc_ndim,
    (any *)asc_neg,
    (any *)asc_norm,
    (any *)asc_normal,
    (any *)asc_not_equal,
    (any *)asc_npy_read,
    (any *)asc_npy_write,
    (any *)asc_npz_read,
    (any *)asc_npz_write,
    (any *)asc_numel,
    (any *)asc_on_grad,
    (any *)asc_op_at,
    (any *)asc_op_find,
    (any *)asc_op_register,
    (any *)asc_optim_average,
    (any *)asc_optim_free,
    (any *)asc_optim_group,
    (any *)asc_optim_new,
    (any *)asc_optim_share_of,
    (any *)asc_optim_state,
    (any *)asc_optim_step,
    (any *)asc_optim_swap_average,
    (any *)asc_outer,
    (any *)asc_pad,
    (any *)asc_pair_features,
    (any *)asc_pair_fill,
    (any *)asc_pair_predict,
    (any *)asc_pair_sentences,
    (any *)asc_pair_width,
    (any *)asc_pairwise_sqdist,
    (any *)asc_parallel,
    (any *)asc_params_add,
    (any *)asc_params_at,
    (any *)asc_params_count,
    (any *)asc_params_decays,
    (any *)asc_params_extend,
    (any *)asc_params_find,
    (any *)asc_params_free,
    (any *)asc_params_load,
    (any *)asc_params_name,
    (any *)asc_params_new,
    (any *)asc_params_numel,
    (any *)asc_params_save,
    (any *)asc_params_zero_grad,
    (any *)asc_permute,
    (any *)asc_plane_angles,
    (any *)asc_plane_mean,
    (any *)asc_plane_residual,
    (any *)asc_plane_space,
    (any *)asc_plucker_wedge,
    (any *)asc_plucker_wedge_past,
    (any *)asc_pooling_name,
    (any *)asc_pooling_rows,
    (any *)asc_pow,
    (any *)asc_pow_scalar,
    (any *)asc_precision_of,
    (any *)asc_preset_at,
    (any *)asc_probe_labels,
    (any *)asc_probe_values,
    (any *)asc_profile_free,
    (any *)asc_profile_new,
    (any *)asc_profile_rows,
    (any *)asc_profile_stop,
    (any *)asc_profile_sum,
    (any *)asc_profile_write,
    (any *)asc_quantiles,
    (any *)asc_reciprocal,
    (any *)asc_recompute,
    (any *)asc_relative_bias,
    (any *)asc_release,
    (any *)asc_relu,
    (any *)asc_relu2_linear,
    (any *)asc_require_grad,
    (any *)asc_requires_grad,
    (any *)asc_reshape,
    (any *)asc_rg_lru,
    (any *)asc_rms_norm,
    (any *)asc_roll,
    (any *)asc_rotary,
    (any *)asc_row_norm,
    (any *)asc_rsqrt,
    (any *)asc_run_folder,
    (any *)asc_run_free,
    (any *)asc_run_info_of,
    (any *)asc_run_key_at,
    (any *)asc_run_read,
    (any *)asc_run_rows,
    (any *)asc_run_setting,
    (any *)asc_run_setting_at,
    (any *)asc_run_state_name,
    (any *)asc_run_value,
    (any *)asc_runs_find,
    (any *)asc_safetensors_at,
    (any *)asc_safetensors_close,
    (any *)asc_safetensors_count,
    (any *)asc_safetensors_find,
    (any *)asc_safetensors_metadata,
    (any *)asc_safetensors_metadata_at,
    (any *)asc_safetensors_open,
    (any *)asc_safetensors_read,
    (any *)asc_safetensors_read_into,
    (any *)asc_safetensors_write,
    (any *)asc_sample_after,
    (any *)asc_sample_token,
    (any *)asc_scalar,
    (any *)asc_scale,
    (any *)asc_scale_shift,
    (any *)asc_scatter_add,
    (any *)asc_scope_begin,
    (any *)asc_scope_end,
    (any *)asc_scope_end_but,
    (any *)asc_score,
    (any *)asc_scores_free,
    (any *)asc_scores_read,
    (any *)asc_scores_write,
    (any *)asc_sentences_add,
    (any *)asc_sentences_add_pair,
    (any *)asc_sentences_at,
    (any *)asc_sentences_count,
    (any *)asc_sentences_cut,
    (any *)asc_sentences_fill,
    (any *)asc_sentences_free,
    (any *)asc_sentences_longest,
    (any *)asc_sentences_new,
    (any *)asc_sentences_total,
    (any *)asc_set_comm,
    (any *)asc_set_data,
    (any *)asc_set_interrupt,
    (any *)asc_set_label,
    (any *)asc_set_nan_check,
    (any *)asc_set_observer,
    (any *)asc_set_precision,
    (any *)asc_set_recording,
    (any *)asc_set_rehearsal,
    (any *)asc_set_step,
    (any *)asc_set_threads,
    (any *)asc_setting_find,
    (any *)asc_settings_data_of,
    (any *)asc_settings_free,
    (any *)asc_settings_load,
    (any *)asc_settings_new,
    (any *)asc_settings_preset,
    (any *)asc_settings_resume,
    (any *)asc_settings_schema,
    (any *)asc_settings_set,
    (any *)asc_settings_text,
    (any *)asc_settings_threads,
    (any *)asc_sgd_new,
    (any *)asc_shape,
    (any *)asc_sigmoid,
    (any *)asc_silu,
    (any *)asc_sin,
    (any *)asc_sink_put,
    (any *)asc_size,
    (any *)asc_slice,
    (any *)asc_smooth_l1,
    (any *)asc_soft_cap,
    (any *)asc_softmax,
    (any *)asc_softplus,
    (any *)asc_span_begin,
    (any *)asc_span_end,
    (any *)asc_split_blocks,
    (any *)asc_split_free,
    (any *)asc_split_load,
    (any *)asc_split_load_lines,
    (any *)asc_split_longest,
    (any *)asc_split_name,
    (any *)asc_split_targets,
    (any *)asc_split_width,
    (any *)asc_sqrt,
    (any *)asc_square,
    (any *)asc_squeeze,
    (any *)asc_stack,
    (any *)asc_stats_band,
    (any *)asc_stats_calibration,
    (any *)asc_stats_clusters,
    (any *)asc_stats_front,
    (any *)asc_stats_holm,
    (any *)asc_stats_interval,
    (any *)asc_stats_mcnemar,
    (any *)asc_stats_mean,
    (any *)asc_stats_pair,
    (any *)asc_stats_smooth,
    (any *)asc_status_name,
    (any *)asc_strides,
    (any *)asc_sub,
    (any *)asc_subspace,
    (any *)asc_sum,
    (any *)asc_swiglu_linear,
    (any *)asc_tanh,
    (any *)asc_tensor_split,
    (any *)asc_text_bytes,
    (any *)asc_text_close,
    (any *)asc_text_lines,
    (any *)asc_text_next,
    (any *)asc_text_open,
    (any *)asc_text_open_memory,
    (any *)asc_threads,
    (any *)asc_tokenizer_collect,
    (any *)asc_tokenizer_encode,
    (any *)asc_tokenizer_eos,
    (any *)asc_tokenizer_find_unknown,
    (any *)asc_tokenizer_free,
    (any *)asc_tokenizer_kind_at,
    (any *)asc_tokenizer_kind_find,
    (any *)asc_tokenizer_load,
    (any *)asc_tokenizer_name,
    (any *)asc_tokenizer_new,
    (any *)asc_tokenizer_parse,
    (any *)asc_tokenizer_piece,
    (any *)asc_tokenizer_register,
    (any *)asc_tokenizer_save,
    (any *)asc_tokenizer_size,
    (any *)asc_tokenizer_text,
    (any *)asc_tokenizer_unknown,
    (any *)asc_top_classes,
    (any *)asc_topk,
    (any *)asc_topk_gather,
    (any *)asc_train,
    (any *)asc_train_resume,
    (any *)asc_transpose,
    (any *)asc_tril,
    (any *)asc_typed_json,
    (any *)asc_uniform,
    (any *)asc_unsqueeze,
    (any *)asc_variance,
    (any *)asc_version,
    (any *)asc_vocabulary_add,
    (any *)asc_vocabulary_find,
    (any *)asc_vocabulary_read,
    (any *)asc_where,
    (any *)asc_window_count,
    (any *)asc_window_means,
    (any *)asc_wrap,
    (any *)asc_write,
    (any *)asc_zero_grad,
    (any *)asc_zeros,
};

int main(void)
{
    return !functions[0] || asc_version() < 200;
}
