// SPDX-License-Identifier: Apache-2.0
//
// The progress bar, and its lines where standard error is no terminal.
#include "tools/act-run/Progress.h"
#include <cstdio>
#include <unistd.h>

using namespace act::run;

Progress::Progress(uint64_t first, uint64_t last, uint64_t tokensPerStep)
    : first(first), last(last), tokens(tokensPerStep), current(first),
      start(Clock::now()), drawn(start), terminal(isatty(STDERR_FILENO)) {}

Progress::~Progress() {
  if (open)
    fputc('\n', stderr);
}

double Progress::tokensPerSecond() const {
  double s = std::chrono::duration<double>(Clock::now() - start).count();
  return s > 0 ? static_cast<double>((current - first) * tokens) / s : 0;
}

void Progress::note(const std::string &line) {
  fprintf(stderr, "%s%s\n", open ? "\r\033[K" : "", line.c_str());
  open = false;
}

static std::string thousands(double v) {
  char text[32];
  if (v >= 1e6)
    snprintf(text, sizeof text, "%.2fM", v / 1e6);
  else if (v >= 1e3)
    snprintf(text, sizeof text, "%.1fk", v / 1e3);
  else
    snprintf(text, sizeof text, "%.0f", v);
  return text;
}

void Progress::step(uint64_t step, double loss) {
  current = step;
  auto now = Clock::now();
  double since = std::chrono::duration<double>(now - drawn).count();
  bool end = step == last || step == first + 1;
  if (!end && since < (terminal ? 0.1 : 10.0))
    return;
  drawn = now;
  std::string rate = thousands(tokensPerSecond()) + " tokens/s";
  auto n = static_cast<unsigned long long>(step);
  auto of = static_cast<unsigned long long>(last);
  if (!terminal) {
    fprintf(stderr, "step %llu/%llu  loss %.4f  %s\n", n, of, loss,
            rate.c_str());
    return;
  }
  double elapsed = std::chrono::duration<double>(now - start).count();
  double done = static_cast<double>(step - first);
  auto left = static_cast<long>(
      elapsed / done * static_cast<double>(last - step) + 0.5);
  constexpr int width = 30;
  int full = static_cast<int>(done * width / static_cast<double>(last - first));
  std::string bar(static_cast<size_t>(full), '#');
  bar.resize(width, '-');
  fprintf(stderr, "\r\033[K[%s]  %llu/%llu  loss %.4f  %s  %ld:%02ld left",
          bar.c_str(), n, of, loss, rate.c_str(), left / 60, left % 60);
  fflush(stderr);
  open = true;
}
