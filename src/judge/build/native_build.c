#include "judge/build/native_build.h"

#include "base/log.h"
#include "judge/build/device_only.h"
#include "judge/request/judge_settings.h"

#include <stdio.h>

int native_build(const struct build_context *context, enum native_source source,
                 enum compile_kind kind, const char *name, const char *text, size_t bytes,
                 struct artifact *artifact, struct err *err)
{
    char architecture[16] = "90";
    if (context->gpu) /* 90 and later have instructions of their own only under an `a` */
        snprintf(architecture, sizeof architecture, "%d%d%s", context->gpu->facts.major,
                 context->gpu->facts.minor, context->gpu->facts.major >= 9 ? "a" : "");
    struct sandbox_runner runner = context->runner; /* one for each thread */
    const struct compile_settings *limits = compile_settings(context->settings);
    const struct cache_settings *values = cache_settings(context->settings);
    struct compile_request request = {.kind = kind,
                                      .name = name,
                                      .text = text,
                                      .text_bytes = bytes,
                                      .architecture = architecture,
                                      .timeout_ms = limits->timeout_ms,
                                      .memory_bytes = limits->memory_bytes,
                                      .cache_max_bytes = values->max_bytes};
    if (source == NATIVE_TRUSTED && request.timeout_ms < NATIVE_TRUSTED_MS)
        request.timeout_ms = NATIVE_TRUSTED_MS;
    const char *cache = values->max_bytes ? context->tools->installation->cache : NULL;
    int result = kind == COMPILE_CUBIN
                     ? spawner_nvrtc(context->tools->spawner, &runner.resident, err)
                     : 0;
    if (result < 0)
        return result;
    result = compile_source(context->tools->toolchain, &runner.runner, cache, &request, artifact,
                            err);
    if (result == 0 && artifact->cache_problem)
        log_write(LOG_LEVEL_WARN, "compile", "the build is not kept: %s", artifact->cache_problem);
    return result;
}
