#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py BUILD [plain|host|blocks] [NAME]: values of every act op by its linalg form,
compiled by upstream's passes, as host kernels, or as PTX from blocks.

NAME selects the cases whose name contains it. KEEP=DIR keeps the intermediate
files.
"""
import pathlib
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
    lower = pathlib.Path(sys.argv[1]) / "bin/act-lower-linalg"
    sys.exit(harness.run(cases, lower, *sys.argv[2:4]))
