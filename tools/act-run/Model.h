// SPDX-License-Identifier: Apache-2.0
//
// A step on a device, through the runtime's C interface. Errors are Results,
// and its functions' ports have memory.
#ifndef ACT_TOOLS_ACTRUN_MODEL_H
#define ACT_TOOLS_ACTRUN_MODEL_H
#include "act-c/Runtime.h"
#include "tools/act-run/StepSource.h"
#include <map>
#include <memory>
#include <vector>

namespace act::run {

struct ModelOptions {
  std::string device = "host";
  unsigned threads = 0;
  bool allowNative = false, debug = false, measure = false, time = false;
  bool anyMemory = false; // load even if it does not seem to fit
};

/// A parameter, state, input or output.
struct Entity {
  std::string name;
  actrt_type type{};
  uint64_t bytes = 0;
  bool frozen = false;
  actrt_role role = ACTRT_ROLE_NONE;
  std::string parameter;         // of a state
  std::vector<std::string> tied; // a parameter's further names in files
  uint64_t elements() const;
  std::vector<int64_t> shape() const {
    return {type.shape, type.shape + type.rank};
  }
};
std::string describe(const Entity &entity); // tokens: i32[2,64]

/// One of a function's launches; the time is the last run's, if enabled.
struct Launch {
  std::string name, kernel; // no kernel: a copy
  double milliseconds = 0;
};

/// Memory bound to all ports of one function.
class Ports {
public:
  const Entity *input(const std::string &name) const;
  const Entity *output(const std::string &name) const;
  std::vector<Entity> inputs, outputs;
  uint64_t maxPositions = 0; // no sequence may be longer; 0: any length
  /// Sets an input of any integer type; the counts must agree.
  Status set(const std::string &input, const std::vector<int64_t> &values);
  const uint8_t *data(const std::string &port) const;
  /// Element `i` of a float port.
  double value(const std::string &port, size_t i = 0) const;

private:
  friend class Model;
  struct Release {
    void operator()(void *p) const;
  };
  std::map<std::string, std::unique_ptr<uint8_t, Release>> memory;
};

class Model {
public:
  static Result<std::unique_ptr<Model>> load(StepSource &source,
                                             const ModelOptions &options);
  ~Model();
  std::vector<Entity> parameters, states;
  std::vector<std::string> functions, scalars;
  std::string name, optimizer, report;
  uint32_t microBatches = 1, threads = 1;
  uint64_t maxPositions = 0;
  int64_t vocabulary = 0;   // tokens are below this; 0: unknown
  bool predictsNext = true; // labels are the tokens shifted by one
  artifact::LossAverage lossAverage = artifact::LossAverage::Labels;
  bool onHost = true; // no memory belongs to a simulator or driver

  const Entity *parameter(const std::string &name) const;
  bool hasFunction(const std::string &name) const;
  bool hasScalar(const std::string &name) const;

  /// Initialises a parameter and its master copy; other states start as zero.
  Status initialise(const Entity &parameter, uint64_t seed);
  Status set(actrt_entity kind, const std::string &name, const void *data,
             const actrt_type &type);
  Result<std::vector<uint8_t>> get(actrt_entity kind, const Entity &entity,
                                   actrt_dtype as);
  /// Scalars that the step does not have are ignored.
  Status setScalar(const std::string &name, double value);
  Status setScalar(const std::string &name, int64_t value);
  Result<std::unique_ptr<Ports>> bindPorts(const std::string &function);
  Status run(const std::string &function);
  Result<actrt_step_statistics> statistics(const std::string &function);
  Result<std::vector<Launch>> launches(const std::string &function);

private:
  Model() = default;
  Status describeAll();
  Result<std::vector<Entity>> list(actrt_entity kind, const char *function);
  actrt_device device = nullptr;
  actrt_step step = nullptr;
};

/// Names of element types in a safetensors file.
const char *safetensorsName(actrt_dtype dtype);
Result<actrt_dtype> fromSafetensors(const std::string &dtype);

} // namespace act::run
#endif
