// SPDX-License-Identifier: Apache-2.0
//
// What a step promises to those who run it: every index in range, every operand
// inside its buffer, every name unique. The runtime relies on it and checks
// nothing of this again.
#include "act/Artifact/Format.h"
#include "act/Artifact/Types.h"
#include "lib/Artifact/ValidateImages.h"
#include "lib/Artifact/ValidatePlan.h"
#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

using namespace act;
using namespace act::artifact;

namespace {

std::string quoted(const std::string &s) { return "'" + s + "'"; }
Error error(std::string message) { return {std::move(message), ""}; }

/// Names are printed, looked up and passed to C. So they must not be empty,
/// must not hold NUL and must be unique within their list.
class Names {
public:
  explicit Names(const char *what) : what(what) {}
  Status add(const std::string &name) {
    if (name.empty())
      return error(std::string("a ") + what + " has no name");
    if (name.find('\0') != std::string::npos)
      return error(std::string("a ") + what + "'s name contains a NUL");
    if (!seen.insert(name).second)
      return error(std::string("two ") + what + "s are called " + quoted(name));
    return ok();
  }

private:
  const char *what;
  std::set<std::string_view> seen;
};

Status validateType(const TensorType &t, const std::string &owner) {
  if (t.dtype > DType::U8)
    return error(owner + " has element type number " +
                 std::to_string(static_cast<int>(t.dtype)) + ", at most " +
                 std::to_string(static_cast<int>(DType::U8)) + " is known");
  if (t.shape.size() > 16)
    return error(owner + " has rank " + std::to_string(t.shape.size()) +
                 ", at most 16 is allowed");
  if (auto bytes = byteSize(t); !bytes)
    return error(owner + ": " + bytes.error().message);
  return ok();
}

class Validator {
public:
  explicit Validator(const Step &step) : step(step) {}
  Status run() {
    for (auto check :
         {&Validator::header, &Validator::kernels, &Validator::parameters,
          &Validator::states, &Validator::scalars, &Validator::functions})
      if (auto s = (this->*check)(); !s)
        return s;
    return ok();
  }

private:
  const Step &step;

  Status header() {
    if (step.device != "host" && step.device != "cuda")
      return error("the step is for device " + quoted(step.device) +
                   ", expected host or cuda");
    if (!step.optimizer.empty() &&
        std::find(optimizers.begin(), optimizers.end(), step.optimizer) ==
            optimizers.end())
      return error("the step's optimizer is " + quoted(step.optimizer) +
                   ", expected " + optimizerNames() + ", or none");
    if (step.microBatches < 1 || step.microBatches > (1u << 20))
      return error("the step has " + std::to_string(step.microBatches) +
                   " micro-batches, expected 1 to 2^20");
    if (step.lossAverage > LossAverage::Labels)
      return error("the step's loss is an average of kind " +
                   std::to_string(static_cast<int>(step.lossAverage)) +
                   ", at most 1 is known");
    return ok();
  }

  Status kernels() {
    // One symbol may serve several kernels (another grid), so only their
    // presence is checked.
    for (const Kernel &k : step.kernels) {
      if (k.symbol.empty() || k.symbol.find('\0') != std::string::npos)
        return error("a kernel's symbol is empty or contains a NUL");
      if (k.grid < 1 || k.grid > maxGrid)
        return error("kernel " + quoted(k.symbol) + " has a grid of " +
                     std::to_string(k.grid) + " blocks, expected 1 to 2^40");
      if (k.scratchBytes > maxScratchBytes)
        return error("kernel " + quoted(k.symbol) + " requests " +
                     std::to_string(k.scratchBytes) +
                     " bytes of scratch per thread, at most 2^32 is allowed");
      if (auto s = shape(k); !s)
        return s;
    }
    return validateImages(step);
  }

  /// What cuTensorMapEncodeTiled of the CUDA driver takes, so that binding
  /// memory cannot fail for another reason than its address.
  Status map(const TensorMap &m) {
    static constexpr uint32_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    const size_t rank = m.sizes.size();
    if (m.type >= std::size(bytes) || rank < 1 || rank > 5 ||
        m.strides.size() != rank || m.box.size() != rank)
      return error("a tensor map of type " + std::to_string(m.type) + " and " +
                   std::to_string(rank) + " dimensions");
    const int64_t element = bytes[m.type];
    for (size_t i = 0; i < rank; ++i) {
      const bool hasStride = i == 0
                                 ? m.strides[i] == element
                                 : m.strides[i] > 0 && m.strides[i] % 16 == 0 &&
                                       m.strides[i] < int64_t{1} << 40;
      if (m.sizes[i] < 1 || m.sizes[i] > int64_t{1} << 32 || !hasStride ||
          m.box[i] < 1 || m.box[i] > 256)
        return error("a tensor map with dimension " + std::to_string(i) +
                     " of size " + std::to_string(m.sizes[i]) + ", stride " +
                     std::to_string(m.strides[i]) + " and box " +
                     std::to_string(m.box[i]));
    }
    if ((m.swizzle && m.swizzle != 32 && m.swizzle != 64 && m.swizzle != 128) ||
        m.box[0] * element % 16 ||
        (m.swizzle && m.box[0] * element > int64_t(m.swizzle)))
      return error("a tensor map with a box of " +
                   std::to_string(m.box[0] * element) +
                   " bytes and a swizzle of " + std::to_string(m.swizzle));
    return ok();
  }
  /// Bytes from the tensor's first element to the end of its last one.
  static uint64_t reach(const TensorMap &m) {
    uint64_t end = uint64_t(m.strides[0]);
    for (size_t i = 0; i < m.sizes.size(); ++i) {
      uint64_t step;
      if (__builtin_mul_overflow(uint64_t(m.sizes[i] - 1),
                                 uint64_t(m.strides[i]), &step) ||
          __builtin_add_overflow(end, step, &end))
        return UINT64_MAX;
    }
    return end;
  }

  Status shape(const Kernel &k) {
    for (const TensorMap &m : k.tensorMaps)
      if (auto s = map(m); !s)
        return error("kernel " + quoted(k.symbol) + " has " +
                     s.error().message);
    if (k.tensorMaps.size() > maxTensorMaps)
      return error("kernel " + quoted(k.symbol) + " has " +
                   std::to_string(k.tensorMaps.size()) +
                   " tensor maps, at most " + std::to_string(maxTensorMaps) +
                   " are allowed");
    if (step.device == "host")
      return k.threads || k.cluster || k.sharedBytes || k.atOnce ||
                     !k.tensorMaps.empty()
                 ? error("kernel " + quoted(k.symbol) +
                         " specifies threads, a cluster, shared memory, blocks "
                         "at once or tensor maps, which the host does not have")
                 : ok();
    if (k.scratchBytes > 0)
      return error(
          "kernel " + quoted(k.symbol) +
          " requests scratch memory per thread, which only the host provides");
    if (k.threads < 1 || k.threads > 1024)
      return error("kernel " + quoted(k.symbol) + " has blocks of " +
                   std::to_string(k.threads) + " threads, expected 1 to 1024");
    if (k.grid > INT32_MAX)
      return error("kernel " + quoted(k.symbol) + " has a grid of " +
                   std::to_string(k.grid) + " blocks, expected 1 to 2^31 - 1");
    if (k.cluster > 16)
      return error("kernel " + quoted(k.symbol) + " has clusters of " +
                   std::to_string(k.cluster) +
                   " blocks, at most 16 are "
                   "allowed");
    if (k.cluster > 0 && k.grid % k.cluster != 0)
      return error("kernel " + quoted(k.symbol) + " has a grid of " +
                   std::to_string(k.grid) +
                   " blocks, expected a multiple of its clusters' " +
                   std::to_string(k.cluster));
    if (k.atOnce > k.grid)
      return error(
          "kernel " + quoted(k.symbol) + " needs " + std::to_string(k.atOnce) +
          " blocks at once, but its grid has " + std::to_string(k.grid));
    return ok();
  }

  Status parameters() {
    Names names("parameter");
    for (const Parameter &p : step.parameters) {
      if (auto s = names.add(p.name); !s)
        return s;
      std::string owner = "parameter " + quoted(p.name);
      if (auto s = validateType(p.type, owner); !s)
        return s;
      if (p.init > Init::Normal)
        return error(owner + " has initialisation number " +
                     std::to_string(static_cast<int>(p.init)) +
                     ", at most 2 is known");
      if (!std::isfinite(p.initStd) || p.initStd < 0)
        return error(owner + " has a standard deviation that is negative or "
                             "not finite");
    }
    // A second pass, so that the error can name a clash with a parameter.
    for (const Parameter &p : step.parameters)
      for (const std::string &name : p.tied)
        if (auto s = names.add(name); !s)
          return error("parameter " + quoted(p.name) +
                       ": tied name: " + s.error().message);
    return ok();
  }

  Status states() {
    Names names("state");
    for (const State &s : step.states) {
      if (auto status = names.add(s.name); !status)
        return status;
      std::string owner = "state " + quoted(s.name);
      if (auto status = validateType(s.type, owner); !status)
        return status;
      if (s.role > Role::ExpAvgSqScales)
        return error(owner + " has role number " +
                     std::to_string(static_cast<int>(s.role)) +
                     ", at most 8 is known");
      if (s.parameter >= step.parameters.size())
        return error(owner + " belongs to parameter " +
                     std::to_string(s.parameter) + " of " +
                     std::to_string(step.parameters.size()));
      const TensorType &p = step.parameters[s.parameter].type;
      if (s.role == Role::Master &&
          (s.type.shape != p.shape || !isFloat(s.type.dtype) ||
           !isFloat(p.dtype)))
        return error(owner + " is " + typeName(s.type) + ", a master copy of " +
                     typeName(p) + " cannot be");
    }
    return ok();
  }

  Status scalars() {
    Names names("scalar");
    for (const Scalar &s : step.scalars) {
      if (auto status = names.add(s.name); !status)
        return status;
      if (s.dtype != DType::F32 && s.dtype != DType::F64 &&
          s.dtype != DType::I32 && s.dtype != DType::I64)
        return error("scalar " + quoted(s.name) +
                     " has an element type other than f32, f64, i32, i64");
    }
    return ok();
  }

  Status functions() {
    Names names("function");
    for (const Function &f : step.functions) {
      if (auto s = names.add(f.name); !s)
        return s;
      if (f.arenaBytes > maxBytes)
        return error("function " + quoted(f.name) + " has an arena of " +
                     std::to_string(f.arenaBytes) +
                     " bytes, at most 2^48 is allowed");
      if (f.hostArenaBytes > maxBytes)
        return error("function " + quoted(f.name) + " has an arena of " +
                     std::to_string(f.hostArenaBytes) +
                     " bytes on the host, at most 2^48 is allowed");
      for (auto *ports : {&f.inputs, &f.outputs}) {
        Names portNames(ports == &f.inputs ? "input" : "output");
        for (const Port &p : *ports) {
          if (auto s = portNames.add(p.name); !s)
            return s;
          if (auto s = validateType(p.type, "function " + quoted(f.name) +
                                                ": port " + quoted(p.name));
              !s)
            return s;
        }
      }
      if (f.backward > f.launches.size())
        return error("function " + quoted(f.name) +
                     " has its backward at launch " +
                     std::to_string(f.backward) + " of " +
                     std::to_string(f.launches.size()));
      for (const Port &p : f.outputs)
        if (!p.updates.empty() &&
            std::none_of(f.inputs.begin(), f.inputs.end(),
                         [&](const Port &in) { return in.name == p.updates; }))
          return error("function " + quoted(f.name) + ": output " +
                       quoted(p.name) + " updates " + quoted(p.updates) +
                       ", which is no input");
      for (size_t i = 0; i < f.launches.size(); ++i)
        if (auto s = launch(f, f.launches[i]); !s)
          return error("function " + quoted(f.name) + ": launch " +
                       std::to_string(i) + " (" + f.launches[i].name +
                       "): " + s.error().message);
      if (auto s = validatePlan(f); !s)
        return s;
    }
    return ok();
  }

  Status launch(const Function &f, const Launch &l) {
    if (l.kernel == copyKernel)
      return copy(f, l);
    if (l.kernel >= step.kernels.size())
      return error("kernel " + std::to_string(l.kernel) + " of " +
                   std::to_string(step.kernels.size()));
    if (l.args.size() > maxArguments)
      return error(std::to_string(l.args.size()) + " arguments, at most " +
                   std::to_string(maxArguments) + " are allowed");
    for (size_t i = 0; i < l.args.size(); ++i) {
      auto s = l.args[i].space == Space::Host
                   ? Status(error(
                         "memory on the host, which only copies may access"))
                   : operand(f, l.args[i]);
      if (!s)
        return error("argument " + std::to_string(i) + ": " +
                     s.error().message);
    }
    for (const TensorMap &m : step.kernels[l.kernel].tensorMaps) {
      if (m.argument >= l.args.size())
        return error("a tensor map of argument " + std::to_string(m.argument) +
                     " of " + std::to_string(l.args.size()));
      const Operand &o = l.args[m.argument];
      if (o.space == Space::Scalar || o.space == Space::Immediate ||
          reach(m) > o.bytes)
        return error("a tensor map that reaches byte " +
                     std::to_string(reach(m)) + " of argument " +
                     std::to_string(m.argument) + ", which has " +
                     std::to_string(o.bytes));
    }
    return ok();
  }

  // Offloading is the only use of copies, so they go between the two arenas and
  // nowhere else.
  Status copy(const Function &f, const Launch &l) {
    if (l.args.size() != 2)
      return error("a copy of " + std::to_string(l.args.size()) +
                   " arguments, expected 2");
    const Operand &from = l.args[0], &to = l.args[1];
    bool away = from.space == Space::Arena && to.space == Space::Host;
    bool back = from.space == Space::Host && to.space == Space::Arena;
    if (!away && !back)
      return error("a copy that is not between the arena and the host");
    if (from.written || !to.written || from.bytes != to.bytes)
      return error("a copy of " + std::to_string(from.bytes) + " bytes to " +
                   std::to_string(to.bytes) +
                   ", expected as many, the first read, the second written");
    for (const Operand *o : {&from, &to})
      if (auto s = operand(f, *o); !s)
        return s;
    return ok();
  }

  // Compares by subtraction: offset + bytes may overflow in a damaged file.
  static Status range(const Operand &o, const std::string &what,
                      uint64_t size) {
    if (o.bytes > size || o.offset > size - o.bytes)
      return error(std::to_string(o.bytes) + " bytes at offset " +
                   std::to_string(o.offset) + " of " + what + " of " +
                   std::to_string(size) + " bytes");
    return ok();
  }

  template <typename T>
  static Status tensor(const Operand &o, const char *what,
                       const std::vector<T> &list) {
    if (o.index >= list.size())
      return error(std::string(what) + " " + std::to_string(o.index) + " of " +
                   std::to_string(list.size()));
    // The types were validated before, so the size is there.
    return range(o, std::string(what) + " " + quoted(list[o.index].name),
                 *byteSize(list[o.index].type));
  }

  static Status readOnly(const Operand &o, const char *what) {
    return o.written ? Status(error(std::string(what) + " is written")) : ok();
  }

  Status operand(const Function &f, const Operand &o) {
    switch (o.space) {
    case Space::Arena:
      if (o.offset % arenaAlignment != 0)
        return error("arena offset " + std::to_string(o.offset) +
                     " is not a multiple of 64");
      return range(o, "an arena", f.arenaBytes);
    case Space::Host:
      if (o.offset % arenaAlignment != 0)
        return error("host offset " + std::to_string(o.offset) +
                     " is not a multiple of 64");
      return range(o, "an arena on the host", f.hostArenaBytes);
    case Space::Parameter:
      if (auto s = tensor(o, "parameter", step.parameters); !s)
        return s;
      return step.parameters[o.index].frozen ? readOnly(o, "a frozen parameter")
                                             : ok();
    case Space::State:
      return tensor(o, "state", step.states);
    case Space::Input:
      if (auto s = readOnly(o, "an input"); !s)
        return s;
      return tensor(o, "input", f.inputs);
    case Space::Output:
      return tensor(o, "output", f.outputs);
    case Space::Scalar:
      if (o.index >= step.scalars.size())
        return error("scalar " + std::to_string(o.index) + " of " +
                     std::to_string(step.scalars.size()));
      return readOnly(o, "a scalar");
    case Space::Immediate:
      return readOnly(o, "an immediate");
    }
    return error("space number " + std::to_string(static_cast<int>(o.space)) +
                 ", at most 7 is known");
  }
};

} // namespace

Status artifact::validate(const Step &step) { return Validator(step).run(); }
