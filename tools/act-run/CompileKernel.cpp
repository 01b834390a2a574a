// SPDX-License-Identifier: Apache-2.0
//
// Compiles a kernel in blocks, for a GPU or for the host, and finds what its
// parameters are.
#include "tools/act-run/CompileKernel.h"
#include "act/Artifact/Format.h"
#include "dialects/tile/Dialect.h"
#include "passes/tile-to-host/CompileForHost.h"
#include "passes/tile-to-nvvm/CompileKernels.h"
#include "passes/tile-to-nvvm/PtxText.h"
#include "passes/tile-to-nvvm/Schedule.h"
#include "passes/tile/SetBlockSizes.h"
#include "tools/act-run/ParseModule.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace act;
using namespace act::run;

/// The kernel called `wanted`, or the only one, with its block sizes set.
static Result<gpu::GPUFuncOp> choose(ParsedModule &parsed,
                                     const std::string &path,
                                     const KernelOptions &options) {
  tile::BlockSizes sizes;
  if (Status read = tile::parseBlockSizes(options.blockSizes, sizes); !read)
    return Error{read.error().str(), "--block-size"};
  const std::string &wanted = options.entry;
  std::vector<std::string> names;
  gpu::GPUFuncOp kernel;
  (**parsed).walk([&](gpu::GPUFuncOp function) {
    if (!function.isKernel())
      return;
    names.push_back(function.getName().str());
    if (!kernel && (wanted.empty() || function.getName() == wanted))
      kernel = function;
  });
  if (names.empty())
    return Error{"the file has no kernel: no gpu.func with the word kernel",
                 path};
  if (!kernel || (wanted.empty() && names.size() > 1))
    return Error{(wanted.empty()
                      ? "expected --kernel, one of "
                      : "no kernel '" + wanted + "'; the file has ") +
                     llvm::join(names, ", "),
                 path};
  if (failed(tile::setBlockSizes(kernel, sizes)))
    return parsed.error("cannot be compiled");
  return kernel;
}

/// The parameter's kind; views of constant size also give their bytes.
static simtool::Parameter parameterOf(Type type) {
  using simtool::Parameter;
  Parameter p;
  llvm::raw_string_ostream(p.type) << type;
  if (type.isIndex())
    p.kind = Parameter::Integer;
  if (type.isIntOrFloat()) {
    p.kind = type.isInteger() ? Parameter::Integer : Parameter::Float;
    p.bytes = (type.getIntOrFloatBitWidth() + 7) / 8;
  }
  auto view = dyn_cast<tile::ViewType>(type);
  auto pointer = dyn_cast<tile::PtrType>(type);
  if (!view && !pointer)
    return p;
  Type element = view ? view.getElementType() : pointer.getElementType();
  p.kind = view ? Parameter::Array : Parameter::Pointer;
  p.elementBytes = std::max(8u, element.getIntOrFloatBitWidth()) / 8;
  if (view) {
    p.arrayBytes =
        uint64_t(ShapedType::getNumElements(view.getShape())) * p.elementBytes;
    // A view with strides does not have the layout of an array of its shape.
    if (view.getStrides().empty())
      p.shape = view.getShape().vec();
  }
  if (element.isInteger())
    p.elements = Parameter::Integers;
  else if (element.isF16() || element.isF32() || element.isF64())
    p.elements = Parameter::Floats;
  return p;
}

/// The IR shows which arrays the kernel writes: those behind the views of its
/// stores.
static std::vector<simtool::Parameter> parametersOf(gpu::GPUFuncOp kernel) {
  std::vector<simtool::Parameter> parameters;
  for (Type type : kernel.getArgumentTypes())
    parameters.push_back(parameterOf(type));
  kernel.walk([&](Operation *op) {
    Value view;
    if (auto access = dyn_cast<tile::BlockAccessOpInterface>(op))
      view = isa<tile::LoadOp>(op) ? Value() : access.getView();
    else if (isa<tile::TicketOp, tile::PassTurnOp>(op))
      view = op->getOperand(0);
    if (!view)
      return;
    auto memory = dyn_cast<BlockArgument>(tile::memoryOf(view));
    if (memory && memory.getOwner() == &kernel.getBody().front())
      parameters[memory.getArgNumber()].isWritten = true;
  });
  return parameters;
}

Result<Kernel> run::compileKernel(const std::string &path,
                                  const KernelOptions &options) {
  auto parsed = ParsedModule::open(path, /*threads=*/1);
  if (!parsed)
    return parsed.error();
  auto kernel = choose(**parsed, path, options);
  if (!kernel)
    return kernel.error();
  tile::PtxOptions ptx;
  ptx.chip = options.target;
  auto kernels =
      tile::compileKernels(***parsed, ptx, tile::PtxCache(options.cacheDir),
                           kernel->getName().str());
  if (failed(kernels) || failed(checkSharedMemory(*kernels, ptx.chip)))
    return (*parsed)->error("cannot be compiled");
  tile::CompiledKernel &made = kernels->front();
  Kernel k;
  k.name = made.name;
  k.cluster = tile::clusterIn(made.ptx);
  k.ptx = std::move(made.ptx);
  k.sharedBytes = uint64_t(made.sharedBytes);
  // A memref becomes several parameters, so the arguments in the IR would not
  // match those of the PTX.
  if (llvm::none_of(made.source.getArgumentTypes(), llvm::IsaPred<MemRefType>))
    k.parameters = parametersOf(made.source);
  if (k.parameters)
    for (artifact::TensorMap &map : made.tensorMaps) {
      simtool::Parameter p;
      p.kind = simtool::Parameter::Map;
      p.bytes = artifact::tensorMapBytes;
      p.type = "a tensor map";
      p.map = std::move(map);
      k.parameters->push_back(std::move(p));
    }
  for (int i = 0; i < 3; ++i) {
    k.grid[i] = uint32_t(made.grid[i]);
    k.block[i] = uint32_t(made.block[i]);
  }
  k.persistent = made.isPersistent();
  k.atOnce = uint32_t(made.atOnce);
  if (k.persistent) {
    k.grid[0] *= k.grid[1] * k.grid[2];
    k.grid[1] = k.grid[2] = 1;
  }
  return k;
}

Result<NativeKernel> run::compileKernelForHost(const std::string &path,
                                               const KernelOptions &options) {
  auto parsed = ParsedModule::open(path, /*threads=*/1);
  if (!parsed)
    return parsed.error();
  auto chosen = choose(**parsed, path, options);
  if (!chosen)
    return chosen.error();
  gpu::GPUFuncOp kernel = *chosen;
  auto made = tile::compileForHost(kernel);
  if (failed(made))
    return (*parsed)->error("cannot be compiled");
  NativeKernel k;
  k.name = kernel.getName().str();
  k.sharedObject = std::move(made->sharedObject);
  k.scratchBytes = made->scratchBytes;
  k.checks = std::move(made->checks);
  for (auto [i, n] : llvm::enumerate(tile::gridSize(kernel)))
    k.grid[i] = uint32_t(n);
  k.parameters = parametersOf(kernel);
  return k;
}
