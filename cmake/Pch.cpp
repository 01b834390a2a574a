// The project-wide precompiled header is compiled through this file.
