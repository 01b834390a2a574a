// A schedule: act's passes by their names and options.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%model: !transform.any_op {transform.consumed}) {
    %0 = transform.apply_registered_pass "fuse-attention" with options = { "remarks" = "none" } to %model : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
