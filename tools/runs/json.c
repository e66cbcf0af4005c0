/* tools/runs/json.c: runs as JSON. */
#include <string.h>

#include "tools/runs/runs.h"

static json_t *json_count(double value)
{
    return value >= 0 && value < 9e15 ? json_integer((json_int_t)value) : json_null();
}

static json_t *json_best(const asc_run_best *b)
{
    return b->step < 0 ? json_null()
                       : json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "step", (json_int_t)b->step, "tokens",
                                   json_count(b->tokens), "elapsed_s", cli_json_real(b->elapsed_s), "valid_loss",
                                   cli_json_real(b->valid_loss), "valid_ppl", cli_json_real(b->valid_ppl),
                                   "valid_bits_per_byte", cli_json_real(b->valid_bits_per_byte), "valid_accuracy",
                                   cli_json_real(b->valid_accuracy));
}

static json_t *json_settings(const asc_run *run)
{
    json_t *all = json_object();
    const char *key;
    for (int i = 0; (key = asc_run_setting_at(run, i)); i++) {
        json_object_set_new(all, key, json_loads(asc_run_setting(run, key), JSON_DECODE_ANY, NULL));
    }
    return all;
}

static json_t *json_run(const asc_run *run, double now)
{
    const asc_run_info *i = asc_run_info_of(run);
    const char *folder = asc_run_folder(run);
    json_t *best = json_best(&i->best), *settings = json_settings(run);
    json_t *object =
        json_pack("{s:o, s:s, s:s?, s:I, s:o, s:o, s:o, s:o}", "run", cli_json_string(folder), "state",
                  asc_run_state_name(i->state), "reason", i->reason, "step", (json_int_t)i->step, "steps",
                  i->steps ? json_integer(i->steps) : json_null(), "tokens", json_count(i->tokens), "epochs",
                  cli_json_real(i->epochs), "wall_s", cli_json_real(i->wall_s));
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"tokens_per_s", i->tokens_per_s},
                   {"peak_rss_mib", i->peak_rss_mib},
                   {"gflop_per_token", i->gflop_per_token},
                   {"age_s", now - i->updated_s}};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        json_object_set_new(object, numbers[k].key, cli_json_real(numbers[k].value));
    }
    json_object_set_new(object, "parameters", json_count(i->parameters));
    json_object_set_new(object, "best", best);
    json_object_set_new(object, "settings", settings);
    return object;
}

int runs_print_json(const runs_list *l, const runs_setting *settings, int n_settings)
{
    json_t *runs = json_array(), *keys = json_array();
    double now = runs_now();
    for (int i = 0; i < l->n; i++) {
        json_array_append_new(runs, json_run(l->runs[i], now));
    }
    for (int s = 0; s < n_settings; s++) {
        json_array_append_new(keys, json_string(settings[s].key));
    }
    return cli_print_json(json_pack("{s:o, s:o}", "runs", runs, "differ", keys));
}
