// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_LIB_REPORT_HTML_H
#define ACT_LIB_REPORT_HTML_H
#include <string>

namespace act::report {

/// Escapes text for an element's content or a quoted attribute value.
std::string escaped(const std::string &text);

} // namespace act::report
#endif
