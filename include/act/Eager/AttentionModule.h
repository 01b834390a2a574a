// SPDX-License-Identifier: Apache-2.0
//
// The forward of one attention module, as it stands in many vision
// transformers, statement by statement, to see what PyTorch eager does with
// memory in it:
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
// With a kernel for attention, the lines from scores to product are
// scaled_dot_product_attention(q, k, v).
#ifndef ACT_EAGER_ATTENTIONMODULE_H
#define ACT_EAGER_ATTENTIONMODULE_H
#include "act/Eager/Eager.h"

namespace act::eager {

struct AttentionModule {
  int64_t batch = 64, seq = 32, width = 512, heads = 8;
  artifact::DType dtype = artifact::DType::F32; // or F16, BF16
  /// Math: the lines above; Flash, Efficient: the kernels.
  Attention attention = Attention::Math;
  /// q, k and v are copied out of qkv before the kernel, so that it need not
  /// live on.
  bool copies = false;
};

struct ModuleRun {
  /// Events up to the return; peak and retained bytes are not filled in. The
  /// residents are the weights and x.
  Run run;
  /// What an event of kind Mark stands behind, by its number: "qkv", ...,
  /// "return".
  std::vector<std::string> marks;
};

/// Heads have to divide the width.
Result<ModuleRun> run(const AttentionModule &module);

} // namespace act::eager
#endif
