// SPDX-License-Identifier: Apache-2.0
//
// A thread that tells how slow work proceeds. Work that takes less than a
// second says nothing.
#include "tools/act-run/Stage.h"
#include <cstdio>
#include <system_error>
#include <unistd.h>

using namespace act::run;
using namespace std::chrono_literals;

Stage::Stage(std::string what, uint64_t bytes)
    : what(std::move(what)), bytes(bytes) {
  try {
    watcher = std::thread([this] { watch(); });
  } catch (const std::system_error &) {
    // Without a thread nothing is shown.
  }
}

Stage::~Stage() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    over = true;
  }
  changed.notify_all();
  if (watcher.joinable())
    watcher.join();
}

double Stage::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void Stage::say(bool terminal) const {
  std::string line = what;
  char text[64];
  if (bytes) {
    snprintf(text, sizeof text, ": %.2f of %.2f GB",
             static_cast<double>(done.load()) * 1e-9,
             static_cast<double>(bytes) * 1e-9);
    line += text;
  } else if (terminal) {
    snprintf(text, sizeof text, ", %.0f s", seconds());
    line += text;
  }
  fprintf(stderr, terminal ? "\r\033[K%s" : "%s\n", line.c_str());
  fflush(stderr);
}

void Stage::watch() {
  const bool terminal = isatty(STDERR_FILENO);
  std::unique_lock<std::mutex> lock(mutex);
  bool said = false;
  while (!changed.wait_for(lock,
                           !said      ? 1000ms
                           : terminal ? 200ms
                                      : 10000ms,
                           [this] { return over; })) {
    say(terminal);
    said = true;
  }
  if (said && terminal)
    fputs("\r\033[K", stderr);
}
