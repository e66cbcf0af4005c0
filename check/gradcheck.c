/* check/gradcheck.c: the gradient check of an op: its samples, its parts, its report. */

#include "check/gradcheck.h"
#include "tensor/need.h"

static asc_status check_sample(asc_check *c)
{
    asc_scope_begin(c->ctx);
    asc_status status = asc_check_prepare(c);
    status = status ? status : asc_check_parts(c);
    asc_scope_end(c->ctx);
    return status;
}

static asc_status check_op(asc_check *model)
{
    asc_status status = ASC_OK;
    for (int i = 0; i < model->op->n_samples && !status && !asc_check_enough(model); i++) {
        asc_check c = *model;
        c.sample = i;
        c.form = &c.op->samples[i];
        status = check_sample(&c);
    }
    for (int i = 0; i < model->op->n_samples && !status && !asc_check_enough(model); i++) {
        status = asc_check_variants(model, i);
    }
    return status ? status : model->ctx->status;
}

asc_status asc_gradcheck_begin(asc_ctx *ctx, const asc_op *op, const asc_gradcheck_options *options,
                               asc_gradcheck_options *filled)
{
    asc_gradcheck_options o = options ? *options : (asc_gradcheck_options){0};
    if (ctx->status) {
        return ctx->status;
    }
    if (!(o.multiple >= 0) || o.most_elements < 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "gradcheck: multiple is %g, most_elements %lld; expected at least 0",
                        o.multiple, (long long)o.most_elements);
    }
    for (int i = 0; i < op->n_samples; i++) {
        if (op->attrs_size && !op->samples[i].attrs) {
            return asc_fail(ctx, ASC_ERR_ARG, "gradcheck: %s: sample %d has no attributes, expected %zu bytes",
                            op->name, i, op->attrs_size);
        }
    }
    o.multiple = o.multiple > 0 ? o.multiple : 16;
    o.most_elements = o.most_elements > 0 ? o.most_elements : 200;
    *filled = o;
    return ASC_OK;
}

asc_status asc_gradcheck(asc_ctx *ctx, const asc_op *op, const asc_gradcheck_options *options,
                         asc_gradcheck_report *report)
{
    asc_status status = ASC_NEED(ctx, "gradcheck: op report", op, report);
    if (status) {
        return status;
    }
    if (asc_op_check(ctx, "gradcheck", op)) {
        return asc_error(ctx);
    }
    if (op->backward && op->n_samples == 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "gradcheck: %s: no samples: there is nothing to check it on", op->name);
    }
    *report = (asc_gradcheck_report){.op = op->name, .digits = 16, .worst = {.sample = -1}, .first = {.sample = -1},
                                     .kink = {.sample = -1}};
    asc_check_crew crew = {{NULL}};
    asc_guarded guarded;
    asc_guard_seen seen = {0};
    asc_check c = {.ctx = ctx, .op = asc_guard(&guarded, op, &seen), .guarded = &guarded, .report = report,
                   .crew = &crew, .suspects = UINT32_MAX};
    status = asc_gradcheck_begin(ctx, op, options, &c.options);
    if (status) {
        return status;
    }
    asc_check_setting setting = asc_check_enter(ctx);
    status = op->backward ? check_op(&c) : ASC_OK;
    asc_check_leave(ctx, &setting);
    asc_check_crew_free(&crew);
    report->passed = !status && report->failures == 0;
    return status;
}
