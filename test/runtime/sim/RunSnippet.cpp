// SPDX-License-Identifier: Apache-2.0
#include "test/runtime/sim/RunSnippet.h"

namespace act::runtime::sim {

bool Snippet::run() {
  error.clear();
  Result<Target> machine = targetNamed(target);
  if (!machine)
    return refuse(machine.error().str());
  Simulator sim(*machine, options);
  auto module = sim.load(text(), "snippet");
  if (!module)
    return refuse(module.error().str());
  auto memory = sim.allocate(bytesOfAll(), "lanes");
  if (!memory)
    return refuse(memory.error().str());
  auto *base = static_cast<uint8_t *>(*memory);
  uint64_t offset = 0;
  for (const Value &v : values) {
    std::memcpy(base + offset, v.bytes.data(), v.bytes.size());
    if (v.isInput)
      sim.markInitialised(base + offset, v.bytes.size());
    offset += v.bytes.size();
  }
  LaunchRequest request;
  request.block[0] = threads;
  request.parameters.resize(8);
  std::memcpy(request.parameters.data(), &base, 8);
  auto report = sim.launch(**module, "snippet", request);
  if (!report)
    return refuse(report.error().str());
  if (report->stoppedAfter)
    return refuse(stopped("snippet", report->stoppedAfter).str());
  findings = report->findings;
  for (Finding &f : sim.takenByHost(*memory, bytesOfAll()))
    findings.push_back(std::move(f));
  counters = report->counters;
  offset = 0;
  for (Value &v : values) {
    std::memcpy(v.bytes.data(), base + offset, v.bytes.size());
    offset += v.bytes.size();
  }
  if (Status freed = sim.free(*memory); !freed)
    return refuse(freed.error().str());
  if (!findings.empty() && !findingsAllowed)
    return refuse(findings[0].str());
  return true;
}

std::string Snippet::text() const {
  std::string t = ".version " + version + "\n.target " + target +
                  "\n.address_size 64\n" + moduleText +
                  "\n.visible .entry snippet(.param .u64 memory)\n{\n"
                  ".reg .b64 at__;\n.reg .b32 lane__;\n";
  std::string before = "ld.param.u64 at__, [memory];\n"
                       "mov.u32 lane__, %laneid;\n",
              after;
  uint64_t offset = 0;
  for (const Value &v : values) {
    std::string bits = "b" + std::to_string(8 * v.size);
    std::string address = "at_" + v.name;
    t += ".reg ." + bits + " " + v.name + ";\n.reg .b64 " + address + ";\n";
    before += "mad.wide.u32 " + address + ", lane__, " +
              std::to_string(v.size) + ", at__;\n";
    if (!v.predicate.empty())
      t += ".reg .pred " + v.predicate + ";\n";
    bool wide = v.size == 16;
    std::string place = "[" + address + "+" + std::to_string(offset) + "]";
    if (wide)
      t += ".reg .b64 " + v.name + "_lo, " + v.name + "_hi;\n";
    std::string halves = "{" + v.name + "_lo, " + v.name + "_hi}";
    if (v.isInput) {
      before += wide
                    ? "ld.global.v2.b64 " + halves + ", " + place +
                          ";\nmov.b128 " + v.name + ", " + halves + ";\n"
                    : "ld.global." + bits + " " + v.name + ", " + place + ";\n";
      if (!v.predicate.empty())
        before += "setp.ne.u32 " + v.predicate + ", " + v.name + ", 0;\n";
    } else {
      if (!v.predicate.empty())
        after += "selp.u32 " + v.name + ", 1, 0, " + v.predicate + ";\n";
      after += wide ? "mov.b128 " + halves + ", " + v.name +
                          ";\nst.global.v2.b64 " + place + ", " + halves + ";\n"
                    : "st.global." + bits + " " + place + ", " + v.name + ";\n";
    }
    offset += v.bytes.size();
  }
  return t + before + body + "\n" + after + "ret;\n}\n";
}

std::string whyNot(const std::string &body, const std::string &target,
                   const std::string &version) {
  Snippet s(body);
  s.target = target;
  s.version = version;
  Result<Target> machine = targetNamed(target);
  if (!machine)
    return machine.error().str();
  Simulator sim(*machine, {});
  auto module = sim.load(s.text(), "snippet");
  return module ? "" : module.error().str();
}

} // namespace act::runtime::sim
