// RUN: act-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: index) {
  // expected-error@+1 {{expected '=' after SSA name}}
  tile.fence_shared %x
  return
}
