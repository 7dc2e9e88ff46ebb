#include "judge/build/python_query.h"

#include "base/mem.h"
#include "base/paths.h"
#include "base/process.h"

#include <string.h>

#define TIMEOUT_MS 20000
#define ANSWER_BYTES 16384

static int ask(const char *python, const struct python_query *query, struct err *err)
{
    const char *argv[] = {python, "-E", "-c", query->text, NULL};
    struct arena arena = {0};
    const char *environment[] = {paths_python_user_base(&arena), NULL};
    struct command command = {.argv = argv,
                              .environment = environment,
                              .directory = "/",
                              .timeout_ms = TIMEOUT_MS};
    struct outcome outcome;
    outcome_init(&outcome, ANSWER_BYTES);
    int result = process_runner.run(&process_runner, &command, &outcome, err);
    if (result == 0 && outcome.exit_code != 0)
        result = err_set(err, ERR_MISSING, "%s does not say where %s is", python, query->wanted);
    if (result == 0)
        *query->kept = mem_strdup(outcome.output.data);
    outcome_deinit(&outcome);
    arena_deinit(&arena);
    return result;
}

int python_query_lines(struct build_tools *tools, const struct python_query *query,
                       char **const lines[], size_t count, struct err *err)
{
    pthread_mutex_lock(&tools->lock);
    int result = *query->kept ? 0 : ask(tools->installation->python, query, err);
    pthread_mutex_unlock(&tools->lock);
    const char *at = *query->kept;
    for (size_t i = 0; result == 0 && i < count; i++) {
        size_t length = strcspn(at, "\n");
        *lines[i] = mem_printf("%.*s", (int)length, at);
        at += length + (at[length] != '\0');
    }
    return result;
}
