/* autograd/operands.h: what the tape may keep as bfloat16. */
#ifndef AUTOGRAD_OPERANDS_H
#define AUTOGRAD_OPERANDS_H

#include <ascgrad/op.h>

/* For infer: backward reads these inputs (bit i) as nothing but operands of products. Where the context's products are
 * of bfloat16 that is what the tape keeps of float32, once nobody else holds the tensor: the products' bits are the
 * same. */
void asc_call_operands(asc_call *call, uint32_t inputs);

#endif
