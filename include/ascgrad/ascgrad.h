/* ascgrad/ascgrad.h: all of the library. */
#ifndef ASCGRAD_ASCGRAD_H
#define ASCGRAD_ASCGRAD_H

#include <ascgrad/base.h>
#include <ascgrad/batches.h>
#include <ascgrad/bench.h>
#include <ascgrad/builtin.h>
#include <ascgrad/check.h>
#include <ascgrad/comm.h>
#include <ascgrad/compare.h>
#include <ascgrad/corpus.h>
#include <ascgrad/data.h>
#include <ascgrad/encoder.h>
#include <ascgrad/inspect.h>
#include <ascgrad/mixing.h>
#include <ascgrad/mixing_ops.h>
#include <ascgrad/module.h>
#include <ascgrad/nn.h>
#include <ascgrad/npz.h>
#include <ascgrad/op.h>
#include <ascgrad/ops.h>
#include <ascgrad/optim.h>
#include <ascgrad/pairs.h>
#include <ascgrad/params.h>
#include <ascgrad/probe.h>
#include <ascgrad/profile.h>
#include <ascgrad/runs.h>
#include <ascgrad/safetensors.h>
#include <ascgrad/setting.h>
#include <ascgrad/stats.h>
#include <ascgrad/tensor.h>
#include <ascgrad/train.h>
#include <ascgrad/typed.h>

#endif
