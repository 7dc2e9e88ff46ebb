#include "judge/build/torch_paths.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/paths.h"
#include "base/process.h"
#include "judge/build/scratch.h"

#include <stdlib.h>
#include <string.h>

#define QUERY_TIMEOUT_MS 20000
#define ANSWER_BYTES 16384

/* Debian's default scheme is not where headers are. */
static int query_python(struct build_tools *tools, struct err *err)
{
    static const char query[] =
        "import importlib.metadata as m, importlib.util as u, os, sysconfig\n"
        "scheme = sysconfig.get_default_scheme().replace('posix_local', 'posix_prefix')\n"
        "print(os.path.dirname(os.path.dirname(u.find_spec('torch').origin)))\n"
        "print(sysconfig.get_paths(scheme)['include'])\n"
        "print(m.version('torch'))\n";
    const char *argv[] = {tools->installation->python, "-E", "-c", query, NULL};
    struct arena arena = {0};
    const char *environment[] = {paths_python_user_base(&arena), NULL};
    struct command command = {.argv = argv,
                              .environment = environment,
                              .directory = "/",
                              .timeout_ms = QUERY_TIMEOUT_MS};
    struct outcome outcome;
    outcome_init(&outcome, ANSWER_BYTES);
    int result = process_runner.run(&process_runner, &command, &outcome, err);
    if (result == 0 && outcome.exit_code != 0)
        result = err_set(err, ERR_MISSING, "%s does not say where PyTorch is",
                         tools->installation->python);
    if (result == 0)
        tools->torch_paths = mem_strdup(outcome.output.data);
    outcome_deinit(&outcome);
    arena_deinit(&arena);
    return result;
}

int torch_paths_init(struct torch_paths *place, struct build_tools *tools, struct err *err)
{
    char **lines[] = {&place->packages, &place->include, &place->version};
    *place = (struct torch_paths){0};
    if (!tools->installation->python)
        return err_set(err, ERR_MISSING, "there is no Python with PyTorch");
    pthread_mutex_lock(&tools->lock);
    int result = tools->torch_paths ? 0 : query_python(tools, err);
    pthread_mutex_unlock(&tools->lock);
    const char *at = tools->torch_paths;
    for (size_t i = 0; result == 0 && i < COUNT(lines); i++) {
        size_t length = strcspn(at, "\n");
        *lines[i] = mem_printf("%.*s", (int)length, at);
        at += length + (at[length] != '\0');
    }
    return result;
}

void torch_paths_deinit(struct torch_paths *place)
{
    mem_free(place->packages);
    mem_free(place->include);
    mem_free(place->version);
}

int torch_paths_version(const struct torch_paths *place)
{
    char *end = NULL;
    long major = strtol(place->version, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return major >= 0 && major < 100 && minor >= 0 && minor < 100 ? (int)(major * 100 + minor) : 0;
}
