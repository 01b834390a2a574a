// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_TEST_RUNTIME_TESTNAME_H
#define ACT_TEST_RUNTIME_TESTNAME_H
#include <cctype>
#include <string>

/// `text` as GoogleTest takes the name of a case: letters, digits and _.
inline std::string testName(std::string text) {
  for (char &c : text)
    c = isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return text;
}
#endif
