#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py BUILD [plain|host|blocks] [NAME] [--every N] [--seeds N] [--target sm_80,sm_89] [-j N]: values of
every act op by its linalg form, compiled by upstream's passes, as host kernels, or as
PTX from blocks.

NAME selects the cases whose name contains it, --every N every Nth of those with the
same ops. KEEP=DIR keeps the intermediate
files. As PTX, each case runs on each target under N scheduling seeds, without a
finding of the simulator, N cases at once; the same bits each time, but where a seed,
every other one, draws how tensor cores and approximations round:

    run.py BUILD blocks --seeds 20 --target sm_80,sm_89 -j 2
"""
import argparse
import pathlib
import re
import sys

import cases_attention
import cases_elementwise
import cases_loss
import cases_norm
import cases_optimizer
import cases_primitives
import cases_shape
import harness  # which finds what is in test/python
from sample import every

if __name__ == "__main__":
    modules = [cases_elementwise, cases_shape, cases_norm, cases_primitives, cases_loss,
               cases_optimizer, cases_attention]
    cases = [case for module in modules for case in module.cases()]
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("backend", nargs="?", default="plain", choices=["plain", "host", "blocks"])
    parser.add_argument("name", nargs="?")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("-j", type=int, default=1)
    o = parser.parse_args()
    cases = every(cases, o.every, lambda case: tuple(re.findall(r"act\.\w+", case.text)))
    sys.exit(harness.run(cases, o.build / "bin/act-lower-linalg", o.backend, o.name, o.seeds, o.target.split(","), o.j))
