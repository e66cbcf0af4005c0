/* check/parts.c: one sample, from its inputs to all parts of the check. */
#include "check/gradcheck.h"

asc_status asc_check_prepare(asc_check *c)
{
    asc_status status = asc_check_sample_inputs(c);
    if (status || (status = asc_check_measure(c)) || (status = asc_check_sample_cotangents(c))) {
        return status;
    }
    c->plain.out = asc_check_doubles(c, c->out_at[c->op->n_out]);
    c->plain.grad = asc_check_doubles(c, c->grad_at[c->n_in]);
    if (!c->plain.out || !c->plain.grad) {
        return ASC_ERR_MEMORY;
    }
    return asc_check_pass(c, &c->inputs, &(asc_check_request){c->leaves, c->roots, 1}, &c->plain);
}

asc_status asc_check_parts(asc_check *c)
{
    if (!c->leaves || !c->roots) {
        return ASC_OK;
    }
    asc_status status = asc_check_part_run(c, &asc_check_differences);
    for (const asc_check_part *part = asc_check_self_parts; part->name && !status; part++) {
        status = asc_check_part_run(c, part);
    }
    return status;
}
