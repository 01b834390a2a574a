// SPDX-License-Identifier: Apache-2.0
//
// An artifact on a device: its memory, its kernels, and what is bound to it.
//
// Loading allocates everything a run can need: each parameter and state, one
// arena as large as the largest function's, scratch for each thread, and the
// argument list of every launch with all addresses filled in but those of
// inputs and outputs. A second arena, memory of the host whatever the device,
// holds what copies take away and bring back. Binding fills those in. A run
// walks the list and allocates nothing.
//
// On a device whose memory the CPU may not touch, every argument is an address
// all the same: scalars and constants have a slot of 8 bytes each in the
// device's memory, the scalars' written anew before each run. Ports bound to
// memory of the host get memory of the device, copied before or after the run.
// From the second run on, the launches are one graph where the device has
// those; nothing in it changes but by binding.
//
// Three modes, off by default. Two are for checking a compiler:
// - debug: the arena is filled with 0xff (a NaN in every float type) before a
//   run, and each buffer of the plan at its death. A value that is read after
//   its lifetime, or before it was written, turns the results into NaN.
// - measure: the arena is filled with a pattern before a run, and afterwards
//   the highest byte that differs from it is reported, or that of a workspace
//   that only kernels of other devices need; the scratch of each thread
//   likewise.
// - time: an event is recorded before each launch and after the last. There is
//   no graph then, in which the time of one kernel could not be told.
#ifndef ACT_RUNTIME_STEP_LOADEDSTEP_H
#define ACT_RUNTIME_STEP_LOADEDSTEP_H
#include "act/Artifact/Step.h"
#include "runtime/Executor.h"
#include "runtime/step/HostView.h"
#include "runtime/step/TensorBytes.h"
#include <mutex>

namespace act::runtime {

struct StepOptions {
  bool allowNative = false, debug = false, measure = false, time = false;
  /// Load also where the device seems to have too little memory.
  bool anyMemory = false;
};

struct StepStatistics {
  /// As allocated when the step was loaded.
  uint64_t parameterBytes = 0, gradientBytes = 0, optimizerBytes = 0;
  uint64_t arenaBytes = 0;     // of the function asked about
  uint64_t arenaHighWater = 0; // measure mode: highest byte used + 1
  uint64_t hostArenaBytes = 0, hostArenaHighWater = 0; // of the second arena
  uint64_t scratchBytesPerThread = 0;
  uint64_t scratchBytes = 0;     // all threads
  uint64_t scratchHighWater = 0; // measure mode: of the thread that wrote most
  uint64_t runs = 0;
};

class LoadedStep {
public:
  static Result<std::unique_ptr<LoadedStep>>
  load(std::shared_ptr<Executor> executor, artifact::Step step,
       const StepOptions &options);
  ~LoadedStep();
  const artifact::Step &step() const { return data; }

  /// Every parameter from the seed, masters after them, other states to zero.
  Status initialise(uint64_t seed);
  /// One of them, and its masters.
  Status initialiseParameter(size_t index, uint64_t seed);
  /// Any float type is converted to the parameter's; nf4 is quantised. Master
  /// states of the parameter follow.
  Status setParameter(size_t index, artifact::DType type, const void *source);
  Status getParameter(size_t index, artifact::DType type, void *target);
  Status setState(size_t index, artifact::DType type, const void *source);
  Status getState(size_t index, artifact::DType type, void *target);
  Status setScalar(const std::string &name, double value);
  Status setScalar(const std::string &name, int64_t value);
  /// The memory must stay valid until it is bound anew or the step is gone.
  Status bind(size_t function, bool output, size_t port, void *memory);
  Status run(size_t function);
  StepStatistics statistics(size_t function) const;
  /// Of the last run in time mode, a number for each launch; else zeros.
  std::vector<double> milliseconds(size_t function) const;

private:
  struct Launch {
    Kernel *kernel; // null: a copy
    uint64_t bytes; // of a copy
    LaunchShape shape;
    uint32_t firstArgument, argumentCount;
  };
  struct Patch { // argument slot <- port's address + offset
    size_t argument, port;
    uint64_t offset;
  };
  struct Prepared {
    std::vector<Launch> launches;
    std::vector<void *> arguments;
    std::vector<Patch> patches[2]; // inputs, outputs
    std::vector<void *> bound[2];
    std::vector<void *> staged[2]; // the device's memory, or null: in place
    std::unique_ptr<Graph> graph;
    std::vector<std::unique_ptr<Event>> events; // time mode: around launches
    std::vector<double> milliseconds;
    std::vector<uint32_t> scalars; // those that a launch reads
    std::vector<uint32_t> deaths;  // plan indices by last launch
    uint64_t scratch = 0, scratchHighWater = 0, highWater = 0,
             hostHighWater = 0, runs = 0;
  };

  LoadedStep(std::shared_ptr<Executor> executor, artifact::Step step,
             const StepOptions &options);
  Status checkMemory() const;
  Status prepare();
  Status allocateHostArena();
  Status prepare(const artifact::Function &function, Prepared &prepared);
  Result<void *> addressOf(const artifact::Operand &operand);
  HostView view(void *address, const artifact::TensorType &type);
  Status copyPorts(const artifact::Function &f, const Prepared &p, bool output);
  Status poison();
  Status measure(const artifact::Function &f, Prepared &p);
  Status copyBetweenArenas(const Launch &launch, const Prepared &p);
  Status enqueue(const artifact::Function &f, const Prepared &p);
  Status recordEvent(const Prepared &p, size_t i);
  Status readEvents(Prepared &p);
  Status enqueueAsGraph(const artifact::Function &f, Prepared &p);
  Status checkRunnable(const artifact::Function &f, const Prepared &p) const;
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
  std::unique_ptr<Module> module;
  std::unique_ptr<Stream> stream;
  std::vector<void *> parameters, states;
  bool statesWritten = false;     // else they are as they were allocated: zero
  uint8_t *staging = nullptr;     // while values are set, unless `direct`
  bool direct = true;             // the CPU may touch the device's memory
  std::vector<uint64_t> slots;    // scalars, then constants; addresses stay put
  size_t constants = 0;           // slots of constants in use
  uint8_t *deviceSlots = nullptr; // unless `direct`
  std::vector<bool> scalarSet;
  uint8_t *arena = nullptr;
  uint64_t arenaSize = 0;
  uint8_t *hostArena = nullptr; // null where no function has one
  uint64_t hostArenaSize = 0;
  StepStatistics allocated; // the bytes of parameters and states
  std::vector<Prepared> functions;
};

} // namespace act::runtime
#endif
