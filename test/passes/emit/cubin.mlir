// SPDX-License-Identifier: Apache-2.0
// Cubins in an artifact. Scripts stand for ptxas, and no other is found: one in PATH, and later those of Python packages.
// RUN: rm -rf %t && mkdir -p %t/bin && cd %t && cp %S/Inputs/ptxas.sh bin/ptxas && chmod +x bin/ptxas
// DEFINE: %{path} = %t/bin:/usr/bin:/bin
// DEFINE: %{venv} = none
// DEFINE: %{options} =
// DEFINE: %{emit} = bash -c 'opt=$(command -v act-opt); PATH=%{path} CUDA_HOME=none VIRTUAL_ENV=%{venv} $opt %s --emit="file=%t/a.act cache-dir=%t/cache %{options}" -o /dev/null'
// DEFINE: %{made} = %python -c "import re; print(*re.findall(b'made by [0-9.]*', open('a.act', 'rb').read()), sep=chr(10), end='.')"

// By default where PTX is not portable either.
// REDEFINE: %{options} = target=sm_90a
// RUN: %{emit} && %{made} | FileCheck %s --check-prefix=TWO --match-full-lines
// REDEFINE: %{options} = target=sm_90a cubin=off
// RUN: %{emit} && %{made} | FileCheck %s --check-prefix=NONE --match-full-lines
// REDEFINE: %{options} = target=sm_80
// RUN: %{emit} && %{made} | FileCheck %s --check-prefix=NONE --match-full-lines
// REDEFINE: %{options} = target=sm_80 cubin=on
// RUN: %{emit} && %{made} | FileCheck %s --check-prefix=TWO --match-full-lines
// TWO: b'made by 99.0'
// TWO-NEXT: b'made by 99.0'.
// NONE-NOT: made
// NONE: .
// NONE-NOT: made

// They are kept: two for each target.
// RUN: %{emit} && %{made} | FileCheck %s --check-prefix=TWO --match-full-lines
// RUN: %python -c "assert len(list(open('bin/runs'))) == 4"

// The newest is taken, wherever it is.
// RUN: mkdir -p venv/lib/python3.12/site-packages/nvidia/cu13/bin venv/lib/python3.12/site-packages/triton/backends/nvidia/bin
// RUN: sed 's/99.0/100.1/' bin/ptxas > venv/lib/python3.12/site-packages/nvidia/cu13/bin/ptxas
// RUN: sed 's/99.0/100.0/' bin/ptxas > venv/lib/python3.12/site-packages/triton/backends/nvidia/bin/ptxas-blackwell
// RUN: sed 's/99.0/13.2/' bin/ptxas > venv/lib/python3.12/site-packages/triton/backends/nvidia/bin/ptxas
// RUN: chmod +x venv/lib/python3.12/site-packages/*/*/bin/ptxas venv/lib/python3.12/site-packages/triton/backends/nvidia/bin/*
// REDEFINE: %{venv} = %t/venv
// RUN: %{emit} && %{made} | FileCheck %s --check-prefix=CU13
// CU13: b'made by 100.1'
// RUN: rm -r venv/lib/python3.12/site-packages/nvidia
// RUN: %{emit} && %{made} | FileCheck %s --check-prefix=BLACKWELL
// BLACKWELL: b'made by 100.0'

// Before 13.3 ptxas is not right for wgmma, which kernels for sm_80 do not have.
// REDEFINE: %{venv} = none
// RUN: sed 's/99.0/13.2/' %S/Inputs/ptxas.sh > bin/ptxas
// RUN: %{emit} && %{made} | FileCheck %s --check-prefix=OLD
// OLD: b'made by 13.2'
// REDEFINE: %{options} = target=sm_90a
// RUN: %{emit} && %{made} | FileCheck %s --check-prefix=NONE --match-full-lines
// REDEFINE: %{options} = target=sm_90a cubin=on
// RUN: not %{emit} 2>&1 | FileCheck %s --check-prefix=WGMMA
// WGMMA: cubin.mlir:[[#]]:[[#]]: error: cubin=on needs ptxas 13.3 or newer for a kernel with wgmma; the newest in {{.*}} is ptxas 13.2 ({{.*}}bin/ptxas)

// Without one, and where it refuses a kernel.
// REDEFINE: %{path} = %t
// RUN: not %{emit} 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: cubin.mlir:{{.*}} error: cubin=on needs ptxas, which is in none of PATH, CUDA_HOME (/usr/local/cuda) and the Python packages
// REDEFINE: %{path} = %t/bin:/usr/bin:/bin
// REDEFINE: %{options} = target=sm_90a
// RUN: sed 's/^while/echo "no such instruction"; exit 1; &/' %S/Inputs/ptxas.sh > bin/ptxas
// RUN: not %{emit} 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: cubin.mlir:[[#]]:[[#]]: error: ptxas rejects the kernel:
// REFUSED: no such instruction

// RUN: not act-opt %s --target=sm_90a --emit="file=%t/a.act cubin=yes" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: cubin.mlir:{{.*}} error: unknown cubin 'yes': expected auto, on or off
// RUN: not act-opt %s --emit="file=%t/a.act cubin=on" -o /dev/null 2>&1 | FileCheck %s --check-prefix=HOST
// HOST: cubin.mlir:{{.*}} error: cubin=on applies to a GPU's kernels
func.func @forward(%x: tensor<1x1024x512xbf16>, %w: tensor<1024x512xbf16>, %v: tensor<512x1024xbf16>) -> tensor<1x1024x512xbf16> {
  %0 = act.linear %x, %w : (tensor<1x1024x512xbf16>, tensor<1024x512xbf16>) -> tensor<1x1024x1024xbf16>
  %1 = act.linear %0, %v : (tensor<1x1024x1024xbf16>, tensor<512x1024xbf16>) -> tensor<1x1024x512xbf16>
  return %1 : tensor<1x1024x512xbf16>
}
