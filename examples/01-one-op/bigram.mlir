// RUN: act-opt %s --memory-report -o /dev/null
// RUN: act-run train %s --data %examples/data/tinyshakespeare.txt --steps 20 --lr 0.1

// The smallest language model: row c of the table holds the logits of the character
// that follows c. One op with a parameter, and a loss.
#b_s = #act.dims<b, s>
module @bigram {
  act.parameter @table "table" : tensor<65x65xf32, #act.dims<V, V>>

  func.func @forward(%tokens: tensor<8x64xi32, #b_s> {act.name = "tokens"},
                     %labels: tensor<8x64xi32, #b_s> {act.name = "labels"})
      -> (tensor<f32> {act.name = "loss"}) {
    %table = act.param @table : tensor<65x65xf32, #act.dims<V, V>>
    %logits = act.embedding %table, %tokens
      : (tensor<65x65xf32, #act.dims<V, V>>, tensor<8x64xi32, #b_s>)
        -> tensor<8x64x65xf32, #act.dims<b, s, V>>
    %loss = act.cross_entropy %logits, %labels ignore -100 reduction mean
      : (tensor<8x64x65xf32, #act.dims<b, s, V>>, tensor<8x64xi32, #b_s>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
