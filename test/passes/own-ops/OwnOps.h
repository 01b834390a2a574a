// SPDX-License-Identifier: Apache-2.0
#ifndef OWN_OPS_H
#define OWN_OPS_H
#include "dialects/act/Dialect.h"
#include "dialects/act/KernelForm.h"

#include "test/passes/own-ops/OwnOpsDialect.h.inc"
#define GET_OP_CLASSES
#include "test/passes/own-ops/OwnOps.h.inc"
#endif
