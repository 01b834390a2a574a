// SPDX-License-Identifier: Apache-2.0
//
// act-host-kernels FILE.mlir [--cpu=NAME] [--run] [--run-threads=N]
// [--repeat=N]
//                  [-o FILE.so]
//
// Compiles every function of a file as a host kernel and prints grid and
// scratch; with --run, runs each on random operands and prints the best time
// and a checksum of every result.
#include "mlir/Pass/PassManager.h"
#include "dialects/act/Dialect.h"
#include "passes/groups-to-host/Passes.h"
#include "test/passes/groups-to-host/KernelRunner.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <ctime>
#include <random>

using namespace mlir;

static llvm::cl::opt<std::string> input(llvm::cl::Positional,
                                        llvm::cl::Required,
                                        llvm::cl::desc("FILE.mlir"));
static llvm::cl::opt<std::string> cpu("cpu",
                                      llvm::cl::desc("CPU to compile for"));
static llvm::cl::opt<std::string>
    output("o", llvm::cl::desc("write the shared object"));
static llvm::cl::opt<bool> runKernels("run", llvm::cl::init(false),
                                      llvm::cl::desc("run each kernel"));
static llvm::cl::opt<unsigned> threads("run-threads", llvm::cl::init(1),
                                       llvm::cl::desc("threads to run on"));
static llvm::cl::opt<unsigned>
    repeat("repeat", llvm::cl::init(5),
           llvm::cl::desc("runs to take the best of"));

namespace {

int64_t bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 8;
  return tensor.getNumElements() *
         llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

void fill(std::vector<char> &bytes, Type type, std::mt19937 &random) {
  Type element = getElementTypeOrSelf(type);
  std::normal_distribution<float> normal;
  int64_t count =
      bytesOf(type) / llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  for (int64_t i = 0; i < count; ++i) {
    float value = normal(random);
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if (element.isF32())
      reinterpret_cast<float *>(bytes.data())[i] = value;
    else if (element.isF64())
      reinterpret_cast<double *>(bytes.data())[i] = value;
    else if (element.isBF16())
      reinterpret_cast<uint16_t *>(bytes.data())[i] = bits >> 16;
    else if (element.isF16())
      reinterpret_cast<uint16_t *>(bytes.data())[i] = 0x3000 | (bits & 0x83ff);
    else if (element.isInteger(1))
      bytes[i] = bits & 1;
    else if (element.isInteger(32))
      reinterpret_cast<int32_t *>(bytes.data())[i] = bits % 8;
    else if (element.isInteger(64))
      reinterpret_cast<int64_t *>(bytes.data())[i] = bits % 8;
  }
}

double checksum(const char *data, Type type) {
  Type element = getElementTypeOrSelf(type);
  double sum = 0;
  int64_t width = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  for (int64_t i = 0; i < bytesOf(type) / width; ++i) {
    if (element.isF32())
      sum += reinterpret_cast<const float *>(data)[i];
    else if (element.isF64())
      sum += reinterpret_cast<const double *>(data)[i];
    else if (element.isBF16()) {
      uint32_t bits = uint32_t(reinterpret_cast<const uint16_t *>(data)[i])
                      << 16;
      float value;
      std::memcpy(&value, &bits, 4);
      sum += value;
    } else
      sum += static_cast<unsigned char>(data[i * width]);
  }
  return sum;
}

/// One thread is timed by its own clock, which others' load does not change.
double seconds() {
  timespec now;
  clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC,
                &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

void runOne(const act::test::KernelRunner &runner, func::FuncOp func) {
  std::mt19937 random(1);
  std::vector<std::vector<char>> memory;
  std::vector<std::pair<size_t, Type>> results;
  llvm::DenseMap<int64_t, size_t> inPlace;
  auto add = [&](Type type) {
    memory.emplace_back(bytesOf(type) + 64);
    return memory.size() - 1;
  };
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    size_t at = add(func.getArgumentTypes()[i]);
    fill(memory[at], func.getArgumentTypes()[i], random);
    if (act::ArgumentRoleAttr role = act::roleOf(func, i))
      inPlace[role.getResult()] = at;
  }
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    Type type = func.getResultTypes()[i];
    auto found = inPlace.find(i);
    results.push_back(
        {found != inPlace.end() ? found->second : add(type), type});
  }
  std::vector<void *> args;
  for (auto &bytes : memory)
    args.push_back(bytes.data());
  double best = 1e9;
  for (unsigned i = 0; i < repeat; ++i) {
    double start = seconds();
    runner.run(func.getName().str(), args, threads);
    best = std::min(best, seconds() - start);
  }
  llvm::outs() << llvm::formatv("  best {0:F3} ms", best * 1e3);
  for (auto &[at, type] : results)
    llvm::outs() << llvm::formatv("  {0:E8}",
                                  checksum(memory[at].data(), type));
  llvm::outs() << "\n";
}

} // namespace

int main(int argc, char **argv) {
  act::registerGroupsToHostPasses();
  registerPassManagerCLOptions();
  registerMLIRContextCLOptions();
  llvm::cl::ParseCommandLineOptions(argc, argv, "compiles host kernels\n");
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(input);
  if (!file) {
    llvm::errs() << input << ": " << file.getError().message() << "\n";
    return 1;
  }
  act::HostOptions options;
  options.cpu = cpu;
  auto runner =
      act::test::KernelRunner::create((*file)->getBuffer().str(), options);
  if (!runner)
    return 1;
  llvm::outs() << llvm::formatv(
      "{0}: {1} kernels, {2} bytes, {3:F3} s\n", runner->code().cpu,
      runner->code().kernels.size(), runner->code().sharedObject.size(),
      runner->compileSeconds());
  if (!output.empty()) {
    std::error_code code;
    llvm::raw_fd_ostream stream(output, code);
    stream.write(
        reinterpret_cast<const char *>(runner->code().sharedObject.data()),
        runner->code().sharedObject.size());
  }
  for (auto func : runner->module().getOps<func::FuncOp>()) {
    const act::HostKernelInfo *info = runner->find(func.getName().str());
    llvm::outs() << info->symbol << ": grid " << info->grid << " scratch "
                 << info->scratchBytes << "\n";
    if (runKernels)
      runOne(*runner, func);
  }
  return 0;
}
