// SPDX-License-Identifier: Apache-2.0
//
// A CPU view of a range of device memory: the memory itself if the CPU may
// access it, else a copy.
//
//   HostView view(device, stream, address, bytes);
//   if (auto s = view.fetch(); !s) return s;     // only to read
//   use(view.data());
//   return view.store();                         // only after writing
#ifndef ACT_RUNTIME_STEP_HOSTVIEW_H
#define ACT_RUNTIME_STEP_HOSTVIEW_H
#include "runtime/Executor.h"

namespace act::runtime {

class HostView {
public:
  HostView(bool direct, Stream &stream, void *address, uint64_t bytes)
      : stream(stream), address(address), bytes(bytes),
        copy(direct ? 0 : bytes), direct(direct) {}
  void *data() { return direct ? address : copy.data(); }
  Status fetch() {
    return direct ? ok() : move(copy.data(), address, Direction::DeviceToHost);
  }
  Status store() {
    return direct ? ok() : move(address, copy.data(), Direction::HostToDevice);
  }

private:
  Status move(void *to, const void *from, Direction direction) {
    if (bytes == 0)
      return ok();
    auto s = stream.copy(to, from, bytes, direction);
    return s ? stream.synchronize() : s;
  }
  Stream &stream;
  void *address;
  uint64_t bytes;
  std::vector<uint8_t> copy;
  bool direct;
};

} // namespace act::runtime
#endif
