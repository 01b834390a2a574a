// SPDX-License-Identifier: Apache-2.0
//
// An artifact on a device: its memory, its kernels and its bound inputs and
// outputs.
//
// Loading allocates everything that a run needs: each parameter and state, one
// arena as large as the largest function's, scratch for each thread, and the
// argument list of every launch. All addresses are filled in except those of
// inputs and outputs; binding fills in those. A second arena, in host memory on
// any device, holds offloaded buffers. A run walks the list and allocates
// nothing.
//
// On a device whose memory the CPU cannot access, every argument is still an
// address: scalars and constants have 8-byte slots in device memory, and the
// scalars are rewritten before each run. Ports bound to host memory get device
// memory, copied before or after the run. From the second run on, the launches
// are one graph if the device supports graphs; only binding changes it.
//
// A card runs a kernel from its image if its driver takes that, else from the
// step's PTX. PTX that no kernel needs is not loaded, since the driver would
// compile it.
//
// A function may run in two parts (Function::backward). Its forward leaves what
// backward needs in the arena, so nothing else runs in between.
//
// With bindTensors, parameters and states are the caller's memory, bound like
// ports. Where the device cannot reach it, parameters are copied before a run,
// states before and after it.
//
// Three modes, off by default. The first two check a compiler:
// - debug: fills the arena with 0xff (NaN in every float type) before a run,
//   and each buffer of the plan at its death. Reading a value after its
//   lifetime, or before it was written, turns the results into NaN.
// - measure: fills the arena with a pattern before a run and then reports the
//   highest byte that differs, or the end of a workspace that only kernels of
//   other devices need. The scratch of each thread likewise.
// - time: records an event before each launch and after the last. This disables
//   the graph, where the time of one kernel cannot be measured.
#ifndef ACT_RUNTIME_STEP_LOADEDSTEP_H
#define ACT_RUNTIME_STEP_LOADEDSTEP_H
#include "act/Artifact/Step.h"
#include "runtime/Executor.h"
#include "runtime/step/HostView.h"
#include "runtime/step/TensorBytes.h"
#include <mutex>
#include <optional>

namespace act::runtime {

struct StepOptions {
  bool allowNative = false, debug = false, measure = false, time = false;
  /// Load even if the device seems to have too little memory.
  bool anyMemory = false;
  /// Parameters and states are the caller's, bound like ports.
  bool bindTensors = false;
};

struct StepStatistics {
  /// As allocated when the step was loaded.
  uint64_t parameterBytes = 0, gradientBytes = 0, optimizerBytes = 0;
  uint64_t arenaBytes = 0;     // of the function in question
  uint64_t arenaHighWater = 0; // measure mode: highest byte used + 1
  uint64_t hostArenaBytes = 0, hostArenaHighWater = 0; // of the second arena
  uint64_t scratchBytesPerThread = 0;
  uint64_t scratchBytes = 0;     // all threads
  uint64_t scratchHighWater = 0; // measure mode: maximum over the threads
  uint64_t runs = 0;
};

/// What of a function is run. Backward follows forward, with no other run in
/// between, as the arena holds what forward has saved.
enum class Part { Whole, Forward, Backward };

/// What a caller binds memory to.
enum class Bindable { Input, Output, Parameter, State };

class LoadedStep {
public:
  static Result<std::unique_ptr<LoadedStep>>
  load(std::shared_ptr<Executor> executor, artifact::Step step,
       const StepOptions &options);
  ~LoadedStep();
  const artifact::Step &step() const { return data; }

  /// Sets every parameter from the seed, masters to match, other states to 0.
  Status initialise(uint64_t seed);
  /// Sets one parameter and its masters.
  Status initialiseParameter(size_t index, uint64_t seed);
  /// Converts any float type to the parameter's; quantises for nf4. Also sets
  /// the parameter's master states.
  Status setParameter(size_t index, artifact::DType type, const void *source);
  Status getParameter(size_t index, artifact::DType type, void *target);
  Status setState(size_t index, artifact::DType type, const void *source);
  Status getState(size_t index, artifact::DType type, void *target);
  Status setScalar(const std::string &name, double value);
  Status setScalar(const std::string &name, int64_t value);
  /// The memory must stay valid until the next bind of the port or the end of
  /// the step.
  Status bind(size_t function, bool output, size_t port, void *memory);
  /// Likewise, of a step with bindTensors.
  Status bindParameter(size_t index, void *memory);
  Status bindState(size_t index, void *memory);
  Status run(size_t function, Part part = Part::Whole);
  /// Whether the port is first used in backward.
  bool inBackward(size_t function, bool output, size_t port) const;
  StepStatistics statistics(size_t function) const;
  /// The last run in time mode: a number for each launch; else zeros.
  std::vector<double> milliseconds(size_t function) const;

private:
  struct Launch {
    Kernel *kernel; // null: a copy
    uint64_t bytes; // of a copy
    LaunchShape shape;
    uint32_t firstArgument, argumentCount;
  };
  /// A tensor map among the arguments, of another one, and where it is.
  struct Mapped {
    size_t argument, of;
    const artifact::TensorMap *map;
  };
  struct Patch { // argument := address of the bound memory + offset
    size_t argument, index;
    uint64_t offset;
  };
  struct Bound {
    void *memory = nullptr; // the caller's
    void *staged = nullptr; // the device's next to it, or null: in place
    bool backward = false;  // a port that is first used in backward
  };
  /// A part of a function, as launches.
  struct Range {
    uint32_t begin, end;
  };
  struct Prepared {
    std::vector<Launch> launches;
    std::vector<void *> arguments;       // a map's is its address on the host
    std::vector<uint32_t> argumentBytes; // 0, or those of a tensor map
    std::vector<Mapped> mapped;
    std::vector<TensorMap> maps;                // by `mapped`
    std::vector<Patch> patches[4];              // by Bindable
    std::vector<Bound> ports[2];                // inputs, outputs
    std::unique_ptr<Graph> graphs[3];           // by Part
    bool ran[3] = {};                           // by Part
    std::vector<std::unique_ptr<Event>> events; // time mode: around launches
    std::vector<double> milliseconds;
    std::vector<uint32_t> scalars; // those that launches read
    std::vector<uint32_t> deaths;  // plan indices by last launch
    uint64_t scratch = 0, scratchHighWater = 0, highWater = 0,
             hostHighWater = 0, runs = 0;
  };

  LoadedStep(std::shared_ptr<Executor> executor, artifact::Step step,
             const StepOptions &options);
  Status checkMemory() const;
  Status loadCode();
  Status prepare();
  Status allocateHostArena();
  Result<Kernel *> kernelOf(uint32_t number);
  Status prepare(const artifact::Function &function, Prepared &prepared);
  Status encode(Prepared &prepared, size_t mapped);
  Result<void *> addressOf(const artifact::Operand &operand);
  HostView view(void *address, const artifact::TensorType &type);
  Result<void *> place(Bound &bound, const std::string &name,
                       const artifact::TensorType &type, void *memory);
  Status patch(Prepared &p, Bindable what, size_t index, void *address,
               const std::string &name);
  Status bindTensor(Bindable what, size_t index, void *memory);
  Status copyPorts(const artifact::Function &f, const Prepared &p, bool output,
                   Part part);
  Status copyTensors(Part part, bool back);
  Status checkSettable(bool state, size_t i) const;
  Status poison();
  Status measure(const artifact::Function &f, Prepared &p);
  Status copyBetweenArenas(const Launch &launch, const Prepared &p);
  static Range rangeOf(const artifact::Function &f, Part part);
  Status enqueue(const artifact::Function &f, const Prepared &p, Range range);
  Status recordEvent(const Prepared &p, size_t i);
  Status readEvents(Prepared &p, Range range);
  Status enqueueAsGraph(const artifact::Function &f, Prepared &p, Part part);
  Status checkRunnable(size_t function, Part part) const;
  unsigned threads() const;
  Status reserveStaging();
  void releaseStaging();
  Status write(void *address, const artifact::TensorType &type,
               const Elements &elements);
  Status writeParameter(size_t index, const Elements &elements);
  Status resetStates();
  Status setTensor(const std::string &name, const artifact::TensorType &type,
                   artifact::DType given, const void *source, void *address);
  Status getTensor(const std::string &name, const artifact::TensorType &type,
                   void *address, artifact::DType wanted, void *target);
  Result<artifact::Scalar *> scalar(const std::string &name);

  mutable std::mutex mutex;
  std::shared_ptr<Executor> executor;
  artifact::Step data;
  StepOptions options;
  std::unique_ptr<Module> module; // null if all kernels have images
  std::vector<std::unique_ptr<Module>> images; // by kernel, or null: `module`
  std::unique_ptr<Stream> stream;
  std::vector<void *> parameters, states; // null until bound, if bindTensors
  std::vector<Bound> boundTensors[2];     // bindTensors: parameters, states
  /// The function whose forward has run and whose backward may follow.
  std::optional<size_t> awaitsBackward;
  bool statesWritten = false;     // else still zero from allocation
  uint8_t *staging = nullptr;     // while values are set, unless `direct`
  bool direct = true;             // the CPU may access the device's memory
  std::vector<uint64_t> slots;    // scalars, then constants; never reallocated
  size_t constants = 0;           // slots of constants in use
  uint8_t *deviceSlots = nullptr; // unless `direct`
  std::vector<bool> scalarSet;
  uint8_t *arena = nullptr;
  uint64_t arenaSize = 0;
  uint8_t *hostArena = nullptr; // null if no function has one
  uint64_t hostArenaSize = 0;
  StepStatistics allocated; // the bytes of parameters and states
  std::vector<Prepared> functions;
};

} // namespace act::runtime
#endif
