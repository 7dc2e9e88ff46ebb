/* nvrtc_command: NVRTC behind a command line, a part of the child program.
 *
 *   nvrtc_command_load      in the server: the library, and one compilation, which warms it
 *   nvrtc_command_compile   in a sandboxed child of it: LIBRARY OPTION… SOURCE -o OBJECT
 *
 * What the compiler prints goes to standard output, the cubin to OBJECT. The process has read
 * untrusted text when it ends; its output and its object are as untrusted as those of any compiler.
 */
#pragma once

#include "base/err.h"

NODISCARD int nvrtc_command_load(const char *library, struct err *err);
/* A command_main. */
int nvrtc_command_compile(int argc, char **argv);
