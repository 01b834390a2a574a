// SPDX-License-Identifier: Apache-2.0
#include "act/CInterface/LastError.h"

static thread_local std::string message;

void act::recordError(const std::string &text) {
  try {
    message = text;
  } catch (const std::bad_alloc &) {
    message.clear();
  }
}

const char *act::lastError() { return message.c_str(); }
