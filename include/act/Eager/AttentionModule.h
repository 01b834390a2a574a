// SPDX-License-Identifier: Apache-2.0
//
// Shows what PyTorch eager does with memory in the forward of one attention
// module, as many vision transformers have it, statement by statement:
//
//   def forward(self, x):                                    # [B, L, C]
//     qkv = self.qkv(x)                                      # no bias
//     q, k, v = rearrange(qkv, "b l (n h d) -> n b h l d", n=3)
//     attn = (q @ k.transpose(-2, -1)) * self.scale          # math
//     attn = attn.softmax(dim=-1)
//     attn = self.attn_drop(attn)                            # p = 0
//     x = (attn @ v).transpose(1, 2).reshape(B, L, C)
//     x = self.proj(x)                                       # with a bias
//     x = self.proj_drop(x)                                  # p = 0
//     return x
//
// With a kernel for attention, scaled_dot_product_attention(q, k, v) replaces
// the lines from the scores to the product.
#ifndef ACT_EAGER_ATTENTIONMODULE_H
#define ACT_EAGER_ATTENTIONMODULE_H
#include "act/Eager/Eager.h"

namespace act::eager {

struct AttentionModule {
  int64_t batch = 64, seq = 32, width = 512, heads = 8;
  artifact::DType dtype = artifact::DType::F32; // or F16, BF16
  /// Math: the lines above; Flash, Efficient: the kernels.
  Attention attention = Attention::Math;
  /// Copies q, k and v out of qkv before the kernel, so that qkv can die.
  bool copies = false;
};

struct ModuleRun {
  /// Has events up to the return; peak and retained bytes are not filled in.
  /// The residents are the weights and x.
  Run run;
  /// Names of the Mark events by number, each the statement before the mark:
  /// "qkv", ..., "return".
  std::vector<std::string> marks;
};

/// Fails unless the number of heads divides the width.
Result<ModuleRun> run(const AttentionModule &module);

} // namespace act::eager
#endif
