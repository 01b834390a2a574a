// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %S/../Inputs/three-layers.mlir --remat=offload -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: act-opt %t.mlir --plan-memory | FileCheck %s --check-prefix=PLAN
// RUN: act-opt %t.mlir --memory-report -o /dev/null | FileCheck %s --check-prefix=TEXT
// RUN: act-opt %t.mlir --memory-report=format=json -o /dev/null | FileCheck %s --check-prefix=JSON
// RUN: act-opt %S/../Inputs/three-layers.mlir --remat=offload=1kB/s --memory-report=format=json -o /dev/null | FileCheck %s --check-prefix=SLOW
// RUN: act-opt %S/../Inputs/three-layers.mlir --remat=budget=800,offload=100TB/s | FileCheck %s --check-prefix=BUDGET
// RUN: act-opt %S/../Inputs/three-layers.mlir --remat=budget=fit:1MB,offload | FileCheck %s --check-prefix=ROOM

// Forward moves what it saves when it is done with it; backward brings it back.
// CHECK: act.offload_rates = array<f64: 3.120000e+14, 2.039000e+12, 2.500000e+10>
// CHECK: func.func private @layer.fwd
// CHECK: %[[H:.+]] = act.offload
// CHECK: return %{{.+}}, {{.*}}%[[H]]
// CHECK: func.func private @layer.bwd
// CHECK: act.fetch %arg

// PLAN: act.plan = {arena_bytes = {{[0-9]+}} : i64, buffers = [
// PLAN-SAME: host,
// PLAN-SAME: host_arena_bytes = {{[1-9][0-9]*}} : i64
// TEXT: arena on the host
// TEXT: moved there and back {{.*}} ms at 25 GB/s,
// JSON: "host_arena_bytes": [[BYTES:[1-9][0-9]*]],
// JSON-NEXT: "host_peak_bytes"
// SLOW: "link_bytes_per_second": 1000.0
// SLOW-NEXT: "copy_seconds": {{[0-9.]+}}
// SLOW: "hidden": false
// Copies that take no time are better than running anything again.
// BUDGET: act.remat_result = "peak {{.*}} of 800 bytes, recompute +0.00 %, copies +
// BUDGET: act.offload
// ROOM: act.remat_result = "total peak {{.*}}, recompute +0.00 %, copies +0.00 %, optimal within 0.00 %"
// ROOM-NOT: act.offload %
