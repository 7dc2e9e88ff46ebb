#include "judge/build/build.h"

#include "base/array.h"
#include "base/clock.h"
#include "judge/build/extension.h"
#include "judge/build/triton.h"
#include "judge/request/judge_settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int build_ptx(struct builds *builds, const json_t *request, struct buf *text,
                     struct err *err)
{
    return triton_build_ptx(&builds->context, request, text, err);
}

static int build_launcher(struct builds *builds, const json_t *request, struct buf *text,
                          struct err *err)
{
    return triton_build_launcher(&builds->context, request, text, err);
}

static int build_sycl(struct builds *builds, const json_t *request, struct buf *text,
                      struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, "there is no SYCL here");
}

static const struct {
    const char *name;
    build_function *build;
} kinds[] = {
    {"extension", extension_build},
    {"ptx", build_ptx},
    {"launcher", build_launcher},
    {"sycl", build_sycl},
};

static build_function *find_kind(const char *name)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].build;
    return NULL;
}

void builds_init(struct builds *builds, struct build_tools *tools, const struct settings *settings,
                 const struct gpu_context *gpu)
{
    *builds = (struct builds){
        .context = {.tools = tools, .settings = settings, .gpu = gpu, .use = &builds->use}};
}

/* ERR_LIMIT: the candidate has had what it may. */
static int admit_build(struct builds *builds, struct err *err)
{
    const struct compile_settings *limits = compile_settings(builds->context.settings);
    if (builds->use.builds >= limits->max_builds)
        return err_set(err, ERR_LIMIT,
                       "it has had %" PRId64 " builds, and gets no more (compile.max_builds)",
                       builds->use.builds);
    if (builds->use.spent_ms >= (double)limits->total_ms)
        return err_set(err, ERR_LIMIT,
                       "its builds have taken %.0f s, and it gets no more (compile.total_ms)",
                       builds->use.spent_ms * 1e-3);
    builds->use.builds++;
    return 0;
}

static int run_request(struct builds *builds, const char *request, size_t bytes, struct buf *reason,
                       struct err *err)
{
    const char *kind = NULL;
    json_t *object = NULL;
    int result = json_parse("the build request", request, bytes, &object, err);
    if (result == 0)
        result = json_get_string(object, "kind", &kind, err);
    build_function *function = result == 0 ? find_kind(kind) : NULL;
    if (result == 0 && !function)
        result = err_set(err, ERR_INPUT, "nothing of kind \"%.40s\" is built here", kind);
    if (function)
        result = function(builds, object, reason, err);
    json_decref(object);
    return result;
}

/* The artifact, unless all of them together are larger than they may be. */
static int weigh_artifact(struct builds *builds, int artifact, struct err *err)
{
    uint64_t most = compile_settings(builds->context.settings)->output_bytes;
    struct stat facts = {0};
    (void)fstat(artifact, &facts);
    builds->use.bytes += (uint64_t)facts.st_size;
    if (builds->use.bytes <= most)
        return artifact;
    close(artifact);
    return err_set(err, ERR_LIMIT,
                   "its builds are larger than %" PRIu64
                   " bytes all together (compile.output_bytes)",
                   most);
}

int builds_run(struct builds *builds, const char *request, size_t bytes, char *text,
               size_t text_bytes)
{
    struct err err = {0};
    struct buf reason;
    double waited_ms = builds->use.waited_ms;
    int64_t start_ns = clock_now_ns();
    buf_init(&reason, text_bytes - 1);
    int result = admit_build(builds, &err);
    if (result == 0)
        result = run_request(builds, request, bytes, &reason, &err);
    if (result >= 0)
        result = weigh_artifact(builds, result, &err);
    builds->elapsed_ms += clock_ms_since(start_ns) - (builds->use.waited_ms - waited_ms);
    if (result < 0)
        snprintf(text, text_bytes, "%s", reason.len ? reason.data : err.text);
    buf_deinit(&reason);
    return result;
}
