// SPDX-License-Identifier: Apache-2.0
//
// The log of storages.
#ifndef ACT_LIB_EAGER_LOG_H
#define ACT_LIB_EAGER_LOG_H
#include "act/Eager/Eager.h"

namespace act::eager {

class Tensor;

/// Storages with the moments at which they are born and die. A moment is an
/// operator: a storage that dies between two operators is alive at the first.
class Log {
public:
  int64_t born(int64_t bytes, const char *op);
  void died(int64_t number) {
    allocations[number].died = now + 1;
    happened(Event::Kind::Died, number);
  }
  /// Logs the launch of a matrix product's kernel.
  void product(bool biased) {
    happened(biased ? Event::Kind::BiasedProduct : Event::Kind::Product,
             phase == Phase::Backward);
  }
  void happened(Event::Kind kind, int64_t which) {
    events.push_back({kind, which, now});
  }
  void apart(const Tensor &tensor);

  int64_t now = 0;
  int layer = -1;
  Phase phase = Phase::Forward;
  std::vector<Allocation> allocations;
  std::vector<Event> events;
  std::vector<Resident> resident;
};

} // namespace act::eager
#endif
