/* ops/list.c: the registry's table. */
#include <ascgrad/op.h>

#define OP(name) extern const asc_op asc_op_##name;
#include "ops/list.h"
#undef OP

extern const asc_op *const asc_op_list[];

#define OP(name) &asc_op_##name,
const asc_op *const asc_op_list[] = {
#include "ops/list.h"
    NULL,
};
