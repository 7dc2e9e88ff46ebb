/* warpgym-child: the standby server for native candidates and for compilers (sandbox/standby.h).
 * Started by the judge with the control socket as descriptor 3; of no use by hand.
 *
 *   warpgym-child                    candidates on the CPU, compilers, programs of
 *                                   languages from outside
 *   warpgym-child --cuda LIBRARY     candidates on a GPU: the driver's library, and what objects
 *                                   that nvcc made want, are loaded before the sandbox is locked;
 *                                   the driver starts after that: no fork survives a start.
 *                                   The one of CUDA_INJECTION64_PATH, too (child/tracing.h)
 *   warpgym-child --nvrtc LIBRARY    device code: the compiler is loaded, and has compiled once
 */
#include "base/array.h"
#include "judge/child/native.h"
#include "judge/child/nvrtc_command.h"
#include "sandbox/command.h"
#include "sandbox/program.h"
#include "sandbox/server.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *option(int argc, char **argv, const char *name)
{
    return argc == 3 && strcmp(argv[1], name) == 0 ? argv[2] : NULL;
}

static void load_driver(const char *driver)
{
    static const char *const wanted[] = {"libstdc++.so.6", "libgcc_s.so.1", "libm.so.6"};
    for (size_t i = 0; i < COUNT(wanted); i++)
        (void)!dlopen(wanted[i], RTLD_NOW | RTLD_GLOBAL);
    if (!dlopen(driver, RTLD_NOW | RTLD_GLOBAL))
        fprintf(stderr, "warpgym-child: %s\n", dlerror());
}

int main(int argc, char **argv)
{
    static struct sandbox sandbox;
    struct tracing tracing = {0};
    struct err err = {0};
    uint32_t layers = 0;
    const char *driver = option(argc, argv, "--cuda");
    const char *compiler = option(argc, argv, "--nvrtc");
    if (driver) {
        load_driver(driver);
        tracing_load(&tracing, getenv("CUDA_INJECTION64_PATH"), getenv("WARPGYM_CUPTI"));
    }
    if (compiler && nvrtc_command_load(compiler, &err) < 0) {
        fprintf(stderr, "warpgym-child: %s\n", err.text);
        return 1;
    }
    if (sandbox_filter_prepare(&err) < 0)
        fprintf(stderr, "warpgym-child: %s\n",
                err.text); /* sandbox_lock reports it to the judge as well */
    if (server_ready(SERVER_CONTROL_FD) < 0) {
        fprintf(stderr, "warpgym-child: started by warpgym itself; of no use by hand\n");
        return 2;
    }
    int channel = server_loop(SERVER_CONTROL_FD, &sandbox, &layers);
    if (channel < 0)
        return 0;
    if (compiler)
        return command_serve(channel, &sandbox, layers, nvrtc_command_compile);
    if (sandbox.kind == SANDBOX_PROGRAM)
        return program_serve(channel, &sandbox, layers);
    return sandbox.kind == SANDBOX_BUILD
               ? command_serve(channel, &sandbox, layers, NULL)
               : native_serve(channel, &sandbox, layers, driver, &tracing);
}
