// SPDX-License-Identifier: Apache-2.0
#include "test/runtime/sim/RunKernel.h"
#include <gtest/gtest.h>
#include <numeric>

namespace act::runtime::sim {

std::string Kernel::text() const {
  std::string t = ".version " + version + "\n.target " + target +
                  "\n.address_size 64\n" + functions + "\n.visible .entry k(";
  for (size_t i = 0; i < arguments.size(); ++i) {
    size_t size = arguments[i].isArray ? 8 : arguments[i].bytes.size();
    std::string name = "p" + std::to_string(i);
    t += i ? ", " : "";
    t += size == 128 ? ".param .align 64 .b8 " + name + "[128]"
                     : ".param .b" + std::to_string(8 * size) + " " + name;
  }
  return t + ") " + directives + "\n{\n" + shared +
         "\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>;\n"
         ".reg .b64 %rd<32>; .reg .f32 %f<8>;\n" +
         body + "\nret;\n}\n";
}

bool Kernel::run() {
  auto refuse = [&](const Error &e) {
    error = e.str();
    return false;
  };
  error.clear();
  findings.clear();
  results.clear();
  auto machine = targetNamed(target);
  if (!machine)
    return refuse(machine.error());
  Options options;
  options.seed = seed;
  options.drawsRounding = drawsRounding;
  options.strict = strict;
  options.maximumInstructions = 2000000;
  Simulator sim(*machine, options);
  auto module = sim.load(text(), "k.ptx");
  if (!module)
    return refuse(module.error());
  LaunchRequest request;
  request.grid[0] = grid;
  request.block[0] = block;
  request.cluster[0] = cluster;
  auto info = (*module)->kernel("k");
  request.parameters.resize(info->parameterBytes);
  std::vector<void *> places(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument &a = arguments[i];
    if (!a.isArray)
      continue;
    auto p = sim.allocate(a.bytes.size(), "'p" + std::to_string(i) + "'");
    if (!p)
      return refuse(p.error());
    places[i] = *p;
    std::memcpy(*p, a.bytes.data(), a.bytes.size());
    if (a.initialised)
      sim.markInitialised(*p, a.bytes.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument &a = arguments[i];
    std::vector<uint8_t> bytes = a.bytes;
    if (a.isArray) {
      bytes.resize(8);
      std::memcpy(bytes.data(), &places[i], 8);
    } else if (a.isMap) {
      TiledTensor t = a.tensor;
      t.address = reinterpret_cast<uint64_t>(places[a.over]) + t.address;
      auto map = encodeTensorMap(t);
      if (!map)
        return refuse(map.error());
      std::memcpy(bytes.data(), map->bytes, 128);
    }
    std::memcpy(request.parameters.data() + info->parameters[i].offset,
                bytes.data(), bytes.size());
  }
  auto report = sim.launch(**module, "k", request);
  if (!report)
    return refuse(report.error());
  if (report->stoppedAfter)
    return refuse(stopped("k", report->stoppedAfter));
  findings = report->findings;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (places[i])
      for (Finding &f : sim.takenByHost(places[i], arguments[i].bytes.size()))
        findings.push_back(std::move(f));
  counters = report->counters;
  for (size_t i = 0; i < arguments.size(); ++i) {
    results.push_back(arguments[i].bytes);
    if (places[i])
      std::memcpy(results[i].data(), places[i], results[i].size());
  }
  return true;
}

bool Kernel::runClean(uint64_t seeds) {
  for (uint64_t s = seeds; s-- > 0;) {
    seed = s;
    if (!run())
      return false;
    if (!findings.empty()) {
      error = "seed " + std::to_string(s) + ": " + told();
      return false;
    }
  }
  return true;
}

bool Kernel::finds(FindingKind kind, const std::string &what) const {
  for (const Finding &f : findings)
    if (f.kind == kind && f.message.find(what) != std::string::npos)
      return true;
  return false;
}

bool Kernel::findsSometimes(FindingKind kind, const std::string &what,
                            uint64_t seeds) {
  for (seed = 0; seed < seeds; ++seed)
    if (!run())
      return false;
    else if (finds(kind, what))
      return true;
  return false;
}

std::string Kernel::told() const {
  std::string all = error;
  for (const Finding &f : findings)
    all += f.str() + "\n";
  return all;
}

std::vector<uint32_t> counted(size_t n, uint32_t first) {
  std::vector<uint32_t> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

void expectRefused(const std::string &body, const std::string &version,
                   const std::string &why, const std::string &target) {
  Kernel k;
  k.target = target;
  k.version = version;
  k.body = body;
  EXPECT_FALSE(k.run()) << body;
  EXPECT_NE(k.error.find(why), std::string::npos) << body << "\n" << k.error;
}

} // namespace act::runtime::sim
