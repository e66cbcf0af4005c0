/* tools/experiment/experiment.c: ascgrad experiment: finds the kind that is meant, whose options are its own. */
#include "tools/experiment/experiment.h"

#include <stdio.h>

#include <program/file.h>

#include "tools/commands.h"

static const cli_command *const kinds[] = {&experiment_run, &experiment_status, &experiment_report, NULL};

experiment_counts experiment_count(const asc_experiment *e)
{
    experiment_counts c = {0};
    const asc_experiment_run *run;
    for (; (run = asc_experiment_run_at(e, c.all)); c.all++) {
        c.of[run->state]++;
    }
    return c;
}

const char *experiment_counts_text(const experiment_counts *c, char *text, size_t size)
{
    static const asc_experiment_state order[] = {ASC_EXPERIMENT_STATE_DONE,    ASC_EXPERIMENT_STATE_FAILED,
                                                 ASC_EXPERIMENT_STATE_RUNNING, ASC_EXPERIMENT_STATE_INTERRUPTED,
                                                 ASC_EXPERIMENT_STATE_OPEN,    ASC_EXPERIMENT_STATE_WAITING};
    size_t n = (size_t)snprintf(text, size, "%d run%s", c->all, c->all == 1 ? "" : "s");
    const char *between = ": ";
    for (size_t i = 0; i < sizeof order / sizeof *order && n < size; i++) {
        if (c->of[order[i]] > 0) {
            n += (size_t)snprintf(text + n, size - n, "%s%d %s", between, c->of[order[i]],
                                  asc_experiment_state_name(order[i]));
            between = ", ";
        }
    }
    return text;
}

json_t *experiment_counts_json(const experiment_counts *c)
{
    json_t *object = json_pack("{s:i}", "all", c->all);
    for (int i = 0; i <= ASC_EXPERIMENT_STATE_FAILED; i++) {
        json_object_set_new(object, asc_experiment_state_name((asc_experiment_state)i), json_integer(c->of[i]));
    }
    return object;
}

void experiment_read_end(const char *path, char *text, size_t size)
{
    FILE *f = asc_file_read(path);
    size_t n = 0;
    if (f) {
        if (fseek(f, -(long)(size - 1), SEEK_END)) {
            rewind(f);
        }
        n = fread(text, 1, size - 1, f);
        fclose(f);
    }
    text[n] = '\0';
}

void experiment_failure(const asc_experiment *e, const asc_experiment_run *run, char text[EXPERIMENT_SAID])
{
    char path[4400];
    snprintf(path, sizeof path, "%.4000s/failed/%.200s.txt", asc_experiment_folder(e), run->name);
    experiment_read_end(path, text, EXPERIMENT_SAID);
}

static int run(int argc, char **argv)
{
    return cli_run_kind(&command_experiment, kinds, argc, argv);
}

const cli_command command_experiment = {
    "experiment",
    "trains the runs of an experiment: systems, a grid, seeds",
    "KIND",
    "What FILE holds is explained in doc/experiments.md.",
    "ascgrad experiment run experiments/builtin.json --scale tiny --jobs 2\n"
    "ascgrad experiment status builtin-tiny\n"
    "ascgrad experiment report builtin-tiny",
    NULL,
    run,
};
