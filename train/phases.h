/* train/phases.h: what a training brings in late, or leads along a course: ASCender's separation, auxiliary losses, any
 * number of the layers over the steps, dropout. A function of the settings and the step alone, so that resumes are
 * exact. */
#ifndef TRAIN_PHASES_H
#define TRAIN_PHASES_H

#include "train/settings.h"

enum { ASC_COURSES = 16, ASC_COURSE_POINTS = 32 };

/* A number's way through the run: straight from point to point, or, of batch and block, level up to the next. Of a
 * layer's number it is trained after the last. */
typedef struct asc_course {
    const char *key; /* the setting that it is from */
    char name[32];   /* of a layer's number; else "" */
    int n;
    struct {
        int64_t step;
        double value;
    } point[ASC_COURSE_POINTS];
} asc_course;

typedef struct asc_phases {
    int64_t sep_from, sep_ramp; /* steps without separation, then steps in which it rises; sep_ramp 0: from the start */
    int64_t aux_from;           /* steps without auxiliary losses */
    int n_courses;
    asc_course course[ASC_COURSES];
    asc_course dropout; /* at least one point; stays at the last */
} asc_phases;

/* A length in a run of `steps` steps: below 1 a share of it, else steps; -1 stands for `warmup`. -1: the setting `key`
 * is neither. */
int64_t asc_phase_length(asc_ctx *ctx, const char *key, double given, int64_t steps, int64_t warmup);

/* Reads "AT:VALUE,AT:VALUE…" for a run of `run` steps. ASC_ERR_ARG: it is none, by the setting `key`. */
asc_status asc_course_read(asc_ctx *ctx, const char *key, const char *text, int64_t run, asc_course *c);

/* Whether any of them has a share of the run, which another number of steps moves. */
bool asc_phases_have_shares(const asc_values *v);

/* Reads them from the settings, for a run of `steps` steps. ASC_ERR_ARG: they are no such numbers, or contradict each
 * other, or no layer has what a course is for. The model's numbers of that name are written to. */
asc_status asc_phases_plan(asc_phases *p, asc_lm *lm, const asc_values *v, int64_t steps, asc_ctx *ctx);

/* Makes the model what it is to be in step number `step`, from 0 on. */
void asc_phases_apply(const asc_phases *p, asc_lm *lm, int64_t step);

/* The dropout of that step, and the highest of the run. */
double asc_phases_dropout(const asc_phases *p, int64_t step);
double asc_phases_most_dropout(const asc_phases *p);

#endif
