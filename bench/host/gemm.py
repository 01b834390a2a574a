#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Matrix products of host kernels and of numpy, one thread each, in one run.

usage: gemm.py build/bin/HostKernelsBench
"""
import os
import re
import subprocess
import sys

for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[name] = "1"
import time

try:
    import numpy
except ImportError:
    sys.exit("gemm.py: needs numpy")


def best(m, n, k):
    a = numpy.random.rand(m, k).astype("f4")
    b = numpy.random.rand(k, n).astype("f4")
    times = []
    for _ in range(9):
        start = time.process_time()
        a @ b
        times.append(time.process_time() - start)
    return min(times)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    output = subprocess.run([sys.argv[1]], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    for line in output.splitlines():
        shape = re.match(r"gemm \w+ +\w+ \w+ +(\d+) x +(\d+) x +(\d+)", line)
        if shape:
            m, n, k = map(int, shape.groups())
            line += f"  numpy f32 {2e-9 * m * n * k / best(m, n, k):7.1f}"
        print(line)


main()
