// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's per-thread state: whether gradients are recorded, the next node's
// number, hooks on saved tensors.
#ifndef ACT_LIB_EAGER_SESSION_H
#define ACT_LIB_EAGER_SESSION_H
#include "lib/Eager/Log.h"
#include "lib/Eager/Tensor.h"
#include <functional>

namespace act::eager {

struct Recomputation; // of a checkpointed function, see Checkpoint.h

/// What a node keeps: a tensor, or a promise to recompute it.
struct SavedTensor {
  const char *name = "";
  Tensor tensor;
  std::shared_ptr<Recomputation> again;
  size_t index = 0; // in `again`

  Tensor unpack();
};

struct Session {
  std::shared_ptr<Log> log = std::make_shared<Log>();
  bool gradEnabled = true;
  uint64_t sequence = 0;
  /// Called with each tensor that a node wants to keep; decides what it keeps.
  std::function<SavedTensor(const char *name, const Tensor &)> pack;
  /// Called for each operator that ran, if set.
  std::function<void(const char *op, const Tensors &operands,
                     const Tensors &results, Node *)>
      listener;
};

/// This thread's session.
extern thread_local Session *session;

/// Makes a session the thread's while it lives.
class InSession {
public:
  explicit InSession(Session &mine) : before(session) { session = &mine; }
  ~InSession() { session = before; }
  InSession(const InSession &) = delete;

private:
  Session *before;
};

class GradMode {
public:
  explicit GradMode(bool enabled) : before(session->gradEnabled) {
    session->gradEnabled = enabled;
  }
  ~GradMode() { session->gradEnabled = before; }

private:
  bool before;
};

} // namespace act::eager
#endif
