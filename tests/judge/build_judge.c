/* build_judge: what the judge builds for candidates, PyTorch extensions and Triton's code, and
 * nothing else of it, for test_extension.py and test_triton.py of tests/system and for
 * tests/gpu/extension_check.py.
 *
 *   build_judge DIRECTORY MAJOR MINOR
 *
 * Answers BUILD messages on descriptor 3 until that is closed, for a GPU of that compute capability
 * (0 0: none), which need not be there. Builds are kept below DIRECTORY. After each it prints a
 * line: extensions built, of these with the slim headers, milliseconds. The Python with PyTorch and
 * Triton is WARPGYM_PYTHON.
 */
#include "base/clock.h"
#include "base/file.h"
#include "judge/build/build.h"
#include "judge/judge_internal.h"
#include "judge/process/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHANNEL 3
#define REQUEST_BYTES ((size_t)16 << 20)

static void must(int result, const struct err *err)
{
    if (result < 0) {
        fprintf(stderr, "build_judge: %s\n", err->text);
        exit(1);
    }
}

static void answer(struct builds *builds, const int descriptors[WIRE_DESCRIPTORS])
{
    struct wire_built *built = mem_alloc(sizeof *built);
    struct err err = {0};
    char *text = NULL;
    size_t bytes = 0;
    *built = (struct wire_built){.type = WIRE_BUILT};
    must(file_read_fd(descriptors[0], "the request", REQUEST_BYTES, &text, &bytes, &err), &err);
    int64_t start_ns = clock_now_ns();
    int artifact = builds_run(builds, text, bytes, built->text, sizeof built->text);
    builds->use = (struct build_use){0}; /* as many as are wanted */
    built->failure = artifact >= 0                 ? FAILED_NONE
                     : artifact == ERR_UNSUPPORTED ? FAILED_UNSUPPORTED
                                                   : FAILED_COMPILE;
    must(wire_send(CHANNEL, built, sizeof *built, &artifact, artifact >= 0, &err), &err);
    printf("%u %u %.0f\n", builds->extensions, builds->slim, clock_ms_since(start_ns));
    fflush(stdout);
    builds->extensions = builds->slim = 0;
    if (artifact >= 0)
        close(artifact);
    mem_free(text);
    mem_free(built);
}

static void serve(struct builds *builds)
{
    union wire_message *message = mem_alloc(sizeof *message);
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    while (wire_receive(CHANNEL, message, &bytes, descriptors, NULL) == 0) {
        answer(builds, descriptors);
        for (int i = 0; i < WIRE_DESCRIPTORS; i++)
            if (descriptors[i] >= 0)
                close(descriptors[i]);
    }
    mem_free(message);
}

int main(int count, char **arguments)
{
    struct settings settings;
    struct judge *judge;
    struct standby *standby;
    struct gpu_context *gpu = mem_alloc(sizeof *gpu);
    struct err err = {0};
    char setting[512];
    if (count != 4)
        return 2;
    settings_init(&settings);
    snprintf(setting, sizeof setting, "cache.directory=%s", arguments[1]);
    must(settings_assign(&settings, setting, &err), &err);
    must(settings_assign(&settings, "run.load_timeout_ms=300s", &err), &err);
    must(judge_open(&judge, &(struct judge_options){.settings = &settings}, &err), &err);
    must(spawner_standby(&judge->spawner, SANDBOX_NATIVE, &standby, &err), &err);
    struct builds builds;
    gpu->facts.major = (int)strtol(arguments[2], NULL, 10);
    gpu->facts.minor = (int)strtol(arguments[3], NULL, 10);
    builds_init(&builds, &judge->tools, &settings, gpu->facts.major ? gpu : NULL);
    sandbox_runner_init(&builds.context.runner, standby, true, NULL, NULL);
    serve(&builds);
    judge_close(judge);
    settings_deinit(&settings);
    mem_free(gpu);
    return 0;
}
