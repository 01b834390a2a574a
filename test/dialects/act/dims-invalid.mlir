// RUN: act-opt %s --split-input-file --verify-diagnostics

// too few names
// expected-error@+1 {{#act.dims names 1 dimensions of a tensor of rank 2}}
func.func private @f(tensor<2x4xf32, #act.dims<b>>)

// -----

// a dynamic dimension without a letter
// expected-error@+1 {{dynamic dimension 0 is named '4', expected a name with a letter}}
func.func private @f(tensor<?xf32, #act.dims<4>>)

// -----

// another size
// expected-error@+1 {{dimension 0 of size 4 is named '5'}}
func.func private @f(tensor<4xf32, #act.dims<5>>)

// -----

// no multiple
// expected-error@+1 {{dimension 0 of size 5 is named '2*s'}}
func.func private @f(tensor<5xf32, #act.dims<2*s>>)

// -----

// zero
// expected-error@+1 {{expected a positive dimension factor below 2^63}}
func.func private @f(tensor<?xf32, #act.dims<0*s>>)

// -----

// past 2^63
// expected-error@+1 {{expected a positive dimension factor below 2^63}}
func.func private @f(tensor<?xf32, #act.dims<9223372036854775807*2*s>>)

// -----

// no monomial
// expected-error@+1 {{'a b' is not a product of letters and positive integers}}
func.func private @f(tensor<?xf32, #act.dims<"a b">>)
