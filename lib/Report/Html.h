// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_LIB_REPORT_HTML_H
#define ACT_LIB_REPORT_HTML_H
#include <string>

namespace act::report {

/// As text of an element, or in quotes as an attribute's value.
std::string escaped(const std::string &text);

} // namespace act::report
#endif
