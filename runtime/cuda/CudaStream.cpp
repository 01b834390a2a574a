// SPDX-License-Identifier: Apache-2.0
//
// Streams, events and graphs of the driver.
#include "runtime/cuda/CudaStream.h"
#include "runtime/cuda/CudaModule.h"

using namespace act;
using namespace act::runtime;
using namespace act::runtime::cuda;

static CUdeviceptr pointer(const void *p) {
  return reinterpret_cast<CUdeviceptr>(p);
}

// ---- Events -----------------------------------------------------------------

Result<std::unique_ptr<Event>> CudaEvent::create(CudaContext &device) {
  CurrentContext current(device.driver, device.context);
  if (auto s = current.status(); !s)
    return s.error();
  CUevent event = nullptr;
  if (CUresult r = device.driver.cuEventCreate(&event, 0))
    return device.driver.error(r, "create an event");
  return std::unique_ptr<Event>(new CudaEvent(device, event));
}

CudaEvent::~CudaEvent() {
  CurrentContext current(device.driver, device.context);
  if (current.status())
    device.driver.cuEventDestroy(event);
}

Status CudaEvent::synchronize() {
  if (!recorded)
    return Error{"the event was never recorded", ""};
  CurrentContext current(device.driver, device.context);
  return device.driver.check(device.driver.cuEventSynchronize(event),
                             "wait for an event");
}

Result<double> CudaEvent::elapsedSince(Event &start) {
  auto &other = static_cast<CudaEvent &>(start);
  if (!recorded || !other.recorded)
    return Error{"the event was never recorded", ""};
  CurrentContext current(device.driver, device.context);
  float ms = 0;
  CUresult r = device.driver.cuEventElapsedTime(&ms, other.event, event);
  if (r != 0)
    return device.driver.error(r, "measure the time between events");
  return static_cast<double>(ms);
}

// ---- Streams ----------------------------------------------------------------

Result<std::unique_ptr<Stream>> CudaStream::create(CudaContext &device) {
  CurrentContext current(device.driver, device.context);
  if (auto s = current.status(); !s)
    return s.error();
  // Non-blocking: the stream does not wait for work of the legacy default
  // stream, which others in the process may use.
  CUstream stream = nullptr;
  if (CUresult r = device.driver.cuStreamCreate(&stream, streamNonBlocking))
    return device.driver.error(r, "create a stream");
  return std::unique_ptr<Stream>(new CudaStream(device, stream));
}

CudaStream::~CudaStream() {
  CurrentContext current(driver, device.context);
  if (current.status())
    driver.cuStreamDestroy(stream);
}

Status CudaStream::copy(void *to, const void *from, uint64_t bytes,
                        Direction direction) {
  CurrentContext current(driver, device.context);
  if (auto s = current.status(); !s)
    return s;
  CUresult r = 0;
  switch (direction) {
  case Direction::HostToDevice:
    r = driver.cuMemcpyHtoDAsync(pointer(to), from, bytes, stream);
    break;
  case Direction::DeviceToHost:
    r = driver.cuMemcpyDtoHAsync(to, pointer(from), bytes, stream);
    break;
  case Direction::DeviceToDevice:
    r = driver.cuMemcpyDtoDAsync(pointer(to), pointer(from), bytes, stream);
    break;
  case Direction::Any:
    r = driver.cuMemcpyAsync(pointer(to), pointer(from), bytes, stream);
    break;
  }
  return driver.check(r, "copy");
}

Status CudaStream::fill(void *to, uint8_t value, uint64_t bytes) {
  return fillWords(to, value, 1, bytes);
}

Status CudaStream::fillWords(void *to, uint32_t value, unsigned width,
                             uint64_t count) {
  CurrentContext current(driver, device.context);
  if (auto s = current.status(); !s)
    return s;
  CUdeviceptr p = pointer(to);
  CUresult r = errorInvalidValue;
  if (width == 1)
    r = driver.cuMemsetD8Async(p, static_cast<unsigned char>(value), count,
                               stream);
  else if (width == 2)
    r = driver.cuMemsetD16Async(p, static_cast<unsigned short>(value), count,
                                stream);
  else if (width == 4)
    r = driver.cuMemsetD32Async(p, value, count, stream);
  return driver.check(r, "fill memory");
}

// The pointers to the parameters' values, as the driver takes them.
static Result<std::vector<void *>> parameterPointers(const CudaKernel &k,
                                                     const Arguments &a) {
  if (k.layout) // checks counts and sizes
    if (auto packed = packArguments(*k.layout, a); !packed)
      return packed.error();
  if (a.asDeclared)
    return std::vector<void *>{};
  std::vector<void *> out(a.count);
  for (uint32_t i = 0; i < a.count; ++i)
    out[i] =
        a.scalarBytes && a.scalarBytes[i]
            ? a.addresses[i]
            : const_cast<void *>(static_cast<const void *>(&a.addresses[i]));
  return out;
}

// Checks what every GPU requires first, so that messages are the same on a card
// and in the simulator.
Status CudaStream::launch(Kernel &kernel, const LaunchShape &shape,
                          const Arguments &arguments) {
  auto &k = static_cast<CudaKernel &>(kernel);
  if (auto s = checkLaunch(device.facts, k.facts, shape); !s)
    return s;
  auto pointers = parameterPointers(k, arguments);
  if (!pointers)
    return pointers.error();
  void **parameters = arguments.asDeclared
                          ? const_cast<void **>(arguments.addresses)
                          : pointers->data();
  CurrentContext current(driver, device.context);
  if (auto s = current.status(); !s)
    return s;
  if (auto s = k.allowShared(driver, shape.sharedBytes); !s)
    return s;
  uint64_t clusterBlocks =
      uint64_t{shape.cluster[0]} * shape.cluster[1] * shape.cluster[2];
  if (auto s = k.allowCluster(driver, clusterBlocks); !s)
    return s;

  CUlaunchAttribute attributes[2] = {};
  CUlaunchConfig config{};
  for (int i = 0; i < 3; ++i) {
    config.grid[i] = static_cast<unsigned>(shape.grid[i]);
    config.block[i] = shape.block[i];
  }
  config.sharedBytes = static_cast<unsigned>(shape.sharedBytes);
  config.stream = stream;
  config.attributes = attributes;
  if (clusterBlocks > 0) {
    auto &a = attributes[config.attributeCount++];
    a.id = launchCluster;
    a.value.cluster = {shape.cluster[0], shape.cluster[1], shape.cluster[2]};
  }
  if (shape.persistent || shape.atOnce) {
    const uint32_t cluster = clusterAlongX(k.facts, shape);
    auto resident =
        k.residentBlocks(driver, config, cluster, device.facts.multiprocessors);
    if (!resident)
      return resident.error();
    if (auto s = checkAtOnce(shape, *resident); !s)
      return s;
    if (shape.persistent)
      config.grid[0] = static_cast<unsigned>(
          residentBlocks(*resident, cluster, shape.grid[0]));
  }
  if (shape.cooperative) {
    auto &a = attributes[config.attributeCount++];
    a.id = launchCooperative;
    a.value.cooperative = 1;
  }
  // Older drivers lack this function. They can launch everything that needs no
  // attributes.
  if (driver.cuLaunchKernelEx)
    return driver.check(
        driver.cuLaunchKernelEx(&config, k.function, parameters, nullptr),
        "launch the kernel");
  if (config.attributeCount > 0)
    return Error{"the CUDA driver is too old for cluster and cooperative "
                 "launches: it lacks cuLaunchKernelEx",
                 ""};
  return driver.check(driver.cuLaunchKernel(k.function, config.grid[0],
                                            config.grid[1], config.grid[2],
                                            config.block[0], config.block[1],
                                            config.block[2], config.sharedBytes,
                                            stream, parameters, nullptr),
                      "launch the kernel");
}

Status CudaStream::record(Event &event) {
  auto &e = static_cast<CudaEvent &>(event);
  CurrentContext current(driver, device.context);
  auto s =
      driver.check(driver.cuEventRecord(e.event, stream), "record an event");
  if (s)
    e.recorded = true;
  return s;
}

Status CudaStream::wait(Event &event) {
  CurrentContext current(driver, device.context);
  return driver.check(driver.cuStreamWaitEvent(
                          stream, static_cast<CudaEvent &>(event).event, 0),
                      "let a stream wait for an event");
}

Status CudaStream::synchronize() {
  CurrentContext current(driver, device.context);
  return driver.check(driver.cuStreamSynchronize(stream),
                      "synchronize the stream");
}

// The driver owns the function from a successful call on, and the callback
// deletes it.
Status CudaStream::callback(std::function<void()> function) {
  auto call = std::make_unique<std::function<void()>>(std::move(function));
  CurrentContext current(driver, device.context);
  CUresult r = driver.cuLaunchHostFunc(
      stream,
      [](void *user) {
        std::unique_ptr<std::function<void()>> f(
            static_cast<std::function<void()> *>(user));
        (*f)();
      },
      call.get());
  if (r == 0)
    call.release();
  return driver.check(r, "add a callback to the stream");
}

// ---- Graphs -----------------------------------------------------------------

namespace {
class CudaGraph : public Graph {
public:
  CudaGraph(CudaContext &device, CUgraphExec graph)
      : device(device), graph(graph) {}
  ~CudaGraph() override {
    CurrentContext current(device.driver, device.context);
    if (current.status())
      device.driver.cuGraphExecDestroy(graph);
  }
  CudaContext &device;
  const CUgraphExec graph;
};
} // namespace

// Thread-local: calls of other threads, which the capture does not concern,
// cannot invalidate it.
Status CudaStream::beginCapture() {
  CurrentContext current(driver, device.context);
  return driver.check(driver.cuStreamBeginCapture(stream, captureThreadLocal),
                      "begin a stream capture");
}

// The captured graph is only the template of the one that is launched.
Result<std::unique_ptr<Graph>> CudaStream::endCapture() {
  CurrentContext current(driver, device.context);
  CUgraph graph = nullptr;
  if (CUresult r = driver.cuStreamEndCapture(stream, &graph))
    return driver.error(r, "end a stream capture");
  CUgraphExec executable = nullptr;
  CUresult r = driver.cuGraphInstantiateWithFlags(&executable, graph, 0);
  driver.cuGraphDestroy(graph);
  if (r != 0)
    return driver.error(r, "instantiate a graph");
  return std::unique_ptr<Graph>(new CudaGraph(device, executable));
}

Status CudaStream::launch(Graph &graph) {
  CurrentContext current(driver, device.context);
  return driver.check(
      driver.cuGraphLaunch(static_cast<CudaGraph &>(graph).graph, stream),
      "launch a graph");
}
