# Filled in by the install step: headers, libraries, tools and the CMake package Act.
