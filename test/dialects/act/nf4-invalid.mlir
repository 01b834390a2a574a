// RUN: act-opt %s --split-input-file --verify-diagnostics

// blocks of 3
// expected-error@+1 {{nf4 block size must be a power of two from 2 to 4096, got 3}}
func.func private @f(tensor<4x64x!act.nf4<block = 3>>)

// -----

// blocks of 1
// expected-error@+1 {{nf4 block size must be a power of two from 2 to 4096, got 1}}
func.func private @f(tensor<4x64x!act.nf4<block = 1>>)

// -----

// blocks of 8192
// expected-error@+1 {{nf4 block size must be a power of two from 2 to 4096, got 8192}}
func.func private @f(tensor<4x64x!act.nf4<block = 8192>>)

// -----

// blocks of -64
// expected-error@+1 {{nf4 block size must be a power of two from 2 to 4096, got -64}}
func.func private @f(tensor<4x64x!act.nf4<block = -64>>)
