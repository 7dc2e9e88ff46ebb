#include "judge/build/build.h"

#include "base/array.h"
#include "base/clock.h"
#include "judge/build/extension.h"
#include "judge/build/triton.h"
#include "judge/context.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 3 /* all builds of a candidate, in times of what loading may take */

static int build_ptx(struct builds *builds, const json_t *request, struct buf *text,
                     struct err *err)
{
    return triton_build_ptx(builds->session, request, text, err);
}

static int build_launcher(struct builds *builds, const json_t *request, struct buf *text,
                          struct err *err)
{
    return triton_build_launcher(builds->session, request, text, err);
}

static const struct {
    const char *name;
    build_function *build;
} kinds[] = {
    {"extension", extension_build},
    {"ptx", build_ptx},
    {"launcher", build_launcher},
};

static build_function *find_kind(const char *name)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].build;
    return NULL;
}

static int build(struct child_builder *builder, const char *request, size_t bytes, char *text,
                 size_t text_bytes)
{
    struct builds *builds = (struct builds *)(void *)builder;
    const struct settings *settings = builds->session->settings;
    struct err err = {0};
    struct buf reason;
    const char *kind = NULL;
    json_t *object = NULL;
    int64_t start_ns = clock_now_ns();
    buf_init(&reason, text_bytes - 1);
    bool shared = session_share_no_more(builds->session);
    int result = json_parse("the build request", request, bytes, &object, &err);
    if (result == 0)
        result = json_get_string(object, "kind", &kind, &err);
    if (result == 0 && builds->elapsed_ms > (double)settings->run_load_timeout_ms * LONGEST)
        result = err_set(&err, ERR_LIMIT, "what it has built takes longer than loading may");
    build_function *function = result == 0 ? find_kind(kind) : NULL;
    if (result == 0 && !function)
        result = err_set(&err, ERR_INPUT, "nothing of kind \"%.40s\" is built here", kind);
    if (function)
        result = function(builds, object, &reason, &err);
    json_decref(object);
    builds->elapsed_ms += clock_ms_since(start_ns);
    start_ns = clock_now_ns();
    session_share_again(builds->session, shared);
    builds->waited_ms += clock_ms_since(start_ns);
    if (result < 0)
        snprintf(text, text_bytes, "%s", reason.len ? reason.data : err.text);
    buf_deinit(&reason);
    return result;
}

void builds_init(struct builds *builds, struct session *session)
{
    *builds = (struct builds){.builder = {.build = build}, .session = session};
}

void session_end_stage(struct session *session, enum verdict_stage stage, int64_t start_ns)
{
    double *stages_ms = session->verdict->stages_ms;
    struct builds *builds = &session->builds;
    session->verdict->extensions += builds->extensions;
    session->verdict->extensions_slim += builds->slim;
    stages_ms[STAGE_COMPILE] += builds->elapsed_ms;
    stages_ms[stage] += clock_ms_since(start_ns) - builds->elapsed_ms - builds->waited_ms;
    builds->elapsed_ms = builds->waited_ms = 0;
    builds->extensions = builds->slim = 0;
}
