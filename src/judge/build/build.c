#include "judge/build/build.h"

#include "base/array.h"
#include "base/clock.h"
#include "judge/build/extension.h"
#include "judge/build/triton.h"
#include "judge/request/judge_settings.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 3 /* all builds of a candidate, in times of what loading may take */

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
    *builds = (struct builds){.context = {.tools = tools, .settings = settings, .gpu = gpu}};
}

int builds_run(struct builds *builds, const char *request, size_t bytes, char *text,
               size_t text_bytes)
{
    const struct settings *settings = builds->context.settings;
    struct err err = {0};
    struct buf reason;
    const char *kind = NULL;
    json_t *object = NULL;
    int64_t start_ns = clock_now_ns();
    buf_init(&reason, text_bytes - 1);
    int result = json_parse("the build request", request, bytes, &object, &err);
    if (result == 0)
        result = json_get_string(object, "kind", &kind, &err);
    if (result == 0 &&
        builds->elapsed_ms > (double)run_settings(settings)->load_timeout_ms * LONGEST)
        result = err_set(&err, ERR_LIMIT, "what it has built takes longer than loading may");
    build_function *function = result == 0 ? find_kind(kind) : NULL;
    if (result == 0 && !function)
        result = err_set(&err, ERR_INPUT, "nothing of kind \"%.40s\" is built here", kind);
    if (function)
        result = function(builds, object, &reason, &err);
    json_decref(object);
    builds->elapsed_ms += clock_ms_since(start_ns);
    if (result < 0)
        snprintf(text, text_bytes, "%s", reason.len ? reason.data : err.text);
    buf_deinit(&reason);
    return result;
}
