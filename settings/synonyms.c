/* settings/synonyms.c: what other programs call our settings. */
#include <ascgrad/setting.h>
#include <program/names.h>
#include <program/settings.h>

#include <stdio.h>
#include <string.h>

static const struct {
    const char *key, *names; /* with a blank before and behind each */
} table[] = {
    {"data", " dataset dataset_name data_dir data_path data_file train_data train_file corpus text input "},
    {"tokenizer", " tokenizer_name tokenizer_path tok "},
    {"batch", " batch_size bs train_batch_size per_device_train_batch_size minibatch micro_batch_size "},
    {"accumulate", " gradient_accumulation_steps grad_accum accumulation_steps accumulate_grad_batches "},
    {"dropout", " drop drop_rate dropout_rate dropout_prob hidden_dropout_prob "},
    {"lr", " learning_rate max_lr peak_lr eta alpha base_lr rate "},
    {"min_lr", " min_learning_rate final_lr end_lr "},
    {"warmup", " warmup_steps num_warmup_steps warmup_iters "},
    {"schedule", " lr_schedule scheduler lr_scheduler lr_scheduler_type decay "},
    {"schedule_steps", " lr_decay_iters decay_steps lr_decay_steps "},
    {"weight_decay", " wd l2 "},
    {"beta1", " adam_beta1 "},
    {"beta2", " adam_beta2 "},
    {"clip", " grad_clip max_grad_norm clip_grad clip_grad_norm gradient_clip gradient_clip_val clip_norm "},
    {"epochs", " num_epochs n_epochs max_epochs num_train_epochs "},
    {"steps", " max_steps num_steps n_steps max_iters iters iterations num_iterations total_steps train_steps "},
    {"minutes", " time max_time timeout hours time_limit max_minutes seconds "},
    {"eval_every", " eval_interval eval_steps val_every val_interval val_check_interval validate_every eval_freq "},
    {"log_every", " log_interval logging_steps log_freq print_every "},
    {"checkpoint_every", " save_every save_steps checkpoint_interval save_interval save_freq ckpt_every "
                         "ckpt_interval "},
    {"seed", " random_seed rng_seed random_state "},
    {"threads", " num_threads n_threads nthreads workers num_workers cpus jobs "},
    {"recompute", " gradient_checkpointing activation_checkpointing checkpointing "},
    {"dtype", " float type "},
    {"init", " init_from pretrained from_pretrained load finetune load_from resume_from weights "},
    {"debug_nan", " detect_anomaly check_nan nan "},
    {"layers", " num_layers n_layers n_layer num_hidden_layers depth nlayers "},
    {"mix", " arch architecture model_type model_name kind "},
    {"d_model", " hidden_size n_embd embed_dim embedding_dim d_embed embed hidden_dim width n_embed emb_dim "
                "model_dim hidden "},
    {"d_ff", " ffn_dim intermediate_size mlp_dim dim_feedforward n_inner feedforward ff_dim ff "},
    {"activation", " hidden_act activation_function mlp_type ffn_type "},
    {"norm", " norm_type normalization layer_norm_type "},
    {"tied", " tie_word_embeddings tie_embeddings tied_embeddings weight_tying share_embeddings "},
    {"logit_cap", " final_logit_softcapping logit_softcap softcap soft_cap logit_softcapping "},
    {"mup_width", " mup mup_base_width base_width mup_base_hidden_size "},
    {"vocab", " vocab_size n_vocab vocabulary_size "},
    {"block", " block_size context context_length context_size seq_len seq_length sequence_length max_length n_ctx "
              "max_seq_len bptt ctx max_position_embeddings n_positions window_size "},
    {"heads", " num_heads n_heads n_head num_attention_heads nhead attention_heads "},
    {"positions", " position_embedding positional_encoding pos_encoding position_embedding_type rope rotary alibi "},
};
enum { N = sizeof table / sizeof *table };

enum { WORD = 64, SHORTEST = 5 };

/* `name` with underscores, as the table has it; false: no name is like that. */
static bool spell(const char *name, char word[WORD])
{
    size_t n = name ? strlen(name) : 0;
    if (n == 0 || n > WORD - 3 || strchr(name, ' ')) {
        return false;
    }
    for (size_t i = 0; i <= n; i++) {
        word[i] = name[i] == '-' ? '_' : name[i];
    }
    return true;
}

const char *asc_setting_synonym(const char *name)
{
    char word[WORD], spelled[WORD];
    if (!spell(name, spelled)) {
        return NULL;
    }
    snprintf(word, sizeof word, " %.61s ", spelled);
    for (int i = 0; i < N; i++) {
        if (strstr(table[i].names, word)) {
            return table[i].key;
        }
    }
    return NULL;
}

const char *asc_setting_synonym_guess(const char *name)
{
    char word[WORD], spelled[WORD];
    const char *best = NULL;
    int least = WORD;
    for (int i = 0; spell(name, spelled) && i < N; i++) {
        for (const char *at = table[i].names + 1; *at; at += strlen(word) + 1) {
            size_t n = strcspn(at, " ");
            memcpy(word, at, n);
            word[n] = '\0';
            bool long_enough = n >= SHORTEST; /* of two letters a slip is anything */
            if (long_enough && asc_name_close(spelled, word) && asc_name_distance(spelled, word) < least) {
                least = asc_name_distance(spelled, word);
                best = table[i].key;
            }
        }
    }
    return best;
}
