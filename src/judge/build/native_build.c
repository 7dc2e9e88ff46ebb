#include "judge/build/native_build.h"

#include "base/log.h"
#include "judge/build/device_only.h"
#include "judge/request/judge_settings.h"

#include <stdio.h>
#include <string.h>

/* `request` lacks what is the same for all sources. */
static int build_source(const struct build_context *context, struct compile_request request,
                        struct artifact *artifact, struct err *err)
{
    char architecture[16] = "90";
    if (context->gpu) /* 90 and later have instructions of their own only under an `a` */
        snprintf(architecture, sizeof architecture, "%d%d%s", context->gpu->facts.major,
                 context->gpu->facts.minor, context->gpu->facts.major >= 9 ? "a" : "");
    struct sandbox_runner runner = context->runner; /* one for each thread */
    const struct settings *settings = context->settings;
    const struct cache_settings *values = cache_settings(settings);
    request.architecture = architecture;
    request.memory_bytes = compile_settings(settings)->memory_bytes;
    request.cache_max_bytes = values->max_bytes;
    const char *cache = values->max_bytes ? context->tools->installation->cache : NULL;
    int result = request.kind == COMPILE_CUBIN
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

int native_build(const struct build_context *context, enum compile_kind kind, const char *name,
                 const char *text, size_t bytes, struct artifact *artifact, struct err *err)
{
    struct compile_request request = {.kind = kind,
                                      .name = name,
                                      .text = text,
                                      .text_bytes = bytes,
                                      .timeout_ms =
                                          compile_settings(context->settings)->timeout_ms};
    return build_source(context, request, artifact, err);
}

int native_build_own(const struct build_context *context, const char *name, const char *source,
                     struct artifact *artifact, struct err *err)
{
    struct compile_request request = {.kind = COMPILE_CUBIN,
                                      .name = name,
                                      .text = source,
                                      .text_bytes = strlen(source),
                                      .timeout_ms = NATIVE_OWN_TIMEOUT_MS};
    return build_source(context, request, artifact, err);
}
