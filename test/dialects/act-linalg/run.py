#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py ACT_LOWER_LINALG [plain|host] [NAME]: values of every act op by its
linalg form, compiled by upstream's passes or as host kernels.

Needs numpy and ml_dtypes. NAME selects the cases whose name contains it. KEEP=DIR
keeps the intermediate files.
"""
import sys

import cases_attention
import cases_elementwise
import cases_loss
import cases_norm
import cases_optimizer
import cases_primitives
import cases_shape
import harness

if __name__ == "__main__":
    modules = [cases_elementwise, cases_shape, cases_norm, cases_primitives, cases_loss,
               cases_optimizer, cases_attention]
    cases = [case for module in modules for case in module.cases()]
    sys.exit(harness.run(cases, *sys.argv[1:4]))
