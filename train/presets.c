/* train/presets.c: settings to start from. */
#include <string.h>

#include <program/names.h>
#include <program/settings.h>

#include "tensor/need.h"
#include "train/settings.h"

/* The papers' warm-up without separation, 10 to 20 % of the steps, and its ramp. */
#define SOURCES_SCHEDULE "\"sep_delay\": 0.15, \"sep_ramp\": 0.1, \"freeze_inert\": \"measured\""
/* The authors' listing learns λ, ω, κ, δ and τ_score; τ_sep and τ_coh are constants. */
#define LISTING_TRAINS "\"freeze\": [\"tau_sep\", \"tau_coh\"], \"freeze_inert\": false"
/* The small model trained by Muon, but for its rate; of Grassmann mixing lag and memory in turns. */
#define FAST                                                                                                           \
    "\"layers\": 6, \"dim\": 256, \"ffn\": 1024, \"heads\": 4, \"block\": 128, \"batch\": 8, \"dropout\": 0,"          \
    " \"block_norm\": \"pre\", \"pos_emb\": false, \"positions\": \"rotary\", \"zero_init\": true, \"emb_norm\": true,"\
    " \"optimizer\": \"muon\", \"momentum\": 0.9, \"min_lr\": 0, \"warmup\": 290, \"schedule\": \"cosine\","           \
    " \"weight_decay\": 0.1, \"clip\": 1, \"steps\": 2896, \"eval_every\": 362,"                                       \
    " \"offsets\": [[1], [], [2], [], [4], []], \"memory\": [false, true, false, true, false, true], \"r\": 44,"       \
    " \"groups\": 2, \"scale\": \"rms\", \"eps_rel\": 1e-3"

static const struct {
    const char *name, *summary, *json;
} presets[] = {
    {"tiny", "2 layers of width 32, 60 steps: some seconds, to try things out",
     "{\"layers\": 2, \"dim\": 32, \"heads\": 2, \"block\": 32, \"batch\": 8, \"lr\": 3e-3, \"warmup\": 10,"
     " \"steps\": 60, \"eval_every\": 20, \"checkpoint_every\": 20}"},
    {"quickstart", "2 layers of width 128 trained by Muon: half a minute on two cores; of Grassmann mixing a memory",
     "{\"layers\": 2, \"dim\": 128, \"heads\": 4, \"block\": 64, \"batch\": 8, \"dropout\": 0, \"block_norm\": \"pre\","
     " \"pos_emb\": false, \"positions\": \"rotary\", \"emb_norm\": true, \"decay\": \"gated\", \"offsets\": [1],"
     " \"memory\": true, \"r\": 24, \"groups\": 2, \"scale\": \"rms\", \"eps_rel\": 1e-3, \"optimizer\": \"muon\","
     " \"momentum\": 0.9, \"lr\": 1e-2, \"min_lr\": 0, \"warmup\": 50, \"weight_decay\": 0.1, \"epochs\": 2,"
     " \"eval_every\": 200}"},
    {"wikitext2-6l", "the papers' small model: 6 layers of width 256, block 128; 20 epochs, the papers have 30",
     "{\"layers\": 6, \"dim\": 256, \"ffn\": 1024, \"heads\": 4, \"block\": 128, \"batch\": 32, \"dropout\": 0.1,"
     " \"lr\": 1e-3, \"min_lr\": 6e-5, \"warmup\": 100, \"schedule\": \"cosine\", \"weight_decay\": 0.1,"
     " \"beta1\": 0.9, \"beta2\": 0.999, \"clip\": 1, \"epochs\": 20,"
     " \"r\": 32, \"offsets\": [1, 2, 4, 8, 12, 16]}"},
    {"wikitext2-6l-fast", "the small model trained by Muon, 1.3 epochs; of Grassmann mixing lag and memory in turns",
     "{" FAST ", \"lr\": 1.1e-2}"},
    {"wikitext2-6l-turns", "the same of Grassmann mixing, lag and memory in turns, at their own rate",
     "{\"model\": \"grassmann\", " FAST ", \"lr\": 4e-3}"},
    {"wikitext2-12l", "the papers' large model: 12 layers of width 256, block 256; 20 epochs, the papers have 30",
     "{\"layers\": 12, \"dim\": 256, \"ffn\": 1024, \"heads\": 4, \"block\": 256, \"batch\": 16, \"dropout\": 0.1,"
     " \"lr\": 6e-4, \"min_lr\": 6e-5, \"warmup\": 100, \"schedule\": \"cosine\", \"weight_decay\": 0.1,"
     " \"beta1\": 0.9, \"beta2\": 0.999, \"clip\": 1, \"epochs\": 20,"
     " \"r\": 32, \"offsets\": \"paper-12l\"}"},
    {"ascender", "ASCender as the papers train it: separation comes in after 15 % of the run",
     "{\"model\": \"ascender\", " SOURCES_SCHEDULE "}"},
    {"ascender-after", "the same with gates after the row normalisation, where they act",
     "{\"model\": \"ascender\", \"gate\": \"after\", " SOURCES_SCHEDULE "}"},
    {"intended", "ASCender as the authors' listing means it; it looks ahead, and is refused unless look_ahead is true",
     "{\"model\": \"ascender\", \"listing\": \"intended\", " LISTING_TRAINS "}"},
    {"intended-after", "the same with gates after the row normalisation",
     "{\"model\": \"ascender\", \"listing\": \"intended\", \"gate\": \"after\", " LISTING_TRAINS "}"},
    {"reference", "ASCender as the authors' listing runs; it looks ahead, too",
     "{\"model\": \"ascender\", \"listing\": \"reference\", " LISTING_TRAINS "}"},
    {"reference-after", "the same with gates after the row normalisation",
     "{\"model\": \"ascender\", \"listing\": \"reference\", \"gate\": \"after\", " LISTING_TRAINS "}"},
    {"nli", "pairs of sentences as the Grassmann paper has them: 2 layers of width 256 on windows of 8 tokens",
     "{\"head\": \"pairs\", \"layers\": 2, \"dim\": 256, \"ffn\": 512, \"heads\": 4, \"mask\": \"full\", \"block\": 48,"
     " \"r\": 64, \"groups\": 4, \"offsets\": [1, 2, 4, 8], \"batch\": 128, \"dropout\": 0.1, \"lr\": 1e-3,"
     " \"warmup\": 100, \"schedule\": \"cosine\", \"weight_decay\": 0.01, \"clip\": 1, \"epochs\": 20,"
     " \"best_by\": \"accuracy\"}"},
};
enum { N_PRESETS = sizeof presets / sizeof *presets };

const char *asc_preset_at(int i)
{
    return i >= 0 && i < N_PRESETS ? presets[i].name : NULL;
}

const char *asc_preset_summary(int i)
{
    return i >= 0 && i < N_PRESETS ? presets[i].summary : NULL;
}

const char *asc_preset_contents(int i)
{
    return i >= 0 && i < N_PRESETS ? presets[i].json : NULL;
}

asc_status asc_settings_preset(asc_settings *s, const char *name)
{
    asc_status status = ASC_NEED(s ? s->ctx : NULL, "settings_preset: name", name);
    if (status) {
        return status;
    }
    const char *names[N_PRESETS + 1] = {NULL};
    for (int i = 0; i < N_PRESETS; i++) {
        names[i] = presets[i].name;
        if (strcmp(presets[i].name, name) == 0) {
            json_t *object = json_loads(presets[i].json, 0, NULL);
            status = object ? asc_settings_put_all(s, object, ASC_SOURCE_PRESET, name)
                            : asc_fail(s->ctx, ASC_ERR_MEMORY, "preset: out of memory");
            json_decref(object);
            return status;
        }
    }
    const char *guess = asc_name_guess(name, names);
    return asc_fail_on(s->ctx, ASC_ERR_ARG, "preset", guess ? ": there is no '%s'; did you mean '%s'?"
                                                            : ": there is no '%s'; --preset list has them", name,
                       guess);
}
