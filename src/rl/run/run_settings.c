#include "rl/run/run_settings.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "rl/run/checkpoints.h"
#include "rl/run/run.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

/* Settings that change no result: locations, speed, endpoints, logging. */
static const char *const may_differ[] = {
    "log.",
    "cache.",
    "queue.",
    "worker.",
    "server.",
    "client.",
    "mcp.",
    "python.",
    "gpu.",
    "problems.path",
    "languages.path",
    "prompts.path",
    "retrieval.directory",
    "retrieval.embeddings_url",
    "train.steps", /* further steps continue after those done */
    "train.jobs",
    "train.keep",
    "train.early_stop",
    "train.save_every",
    "train.text_every",
    "train.trace_tokens",
    "train.url",
    "train.wait_ms",
    "policy.url",
    "policy.ca_file",
    "policy.stream",
    "policy.concurrency",
    "policy.connect_timeout_ms",
    "policy.first_token_timeout_ms",
    "policy.token_timeout_ms",
    "policy.timeout_ms",
    "policy.retry_budget_ms",
    "policy.future_timeout_ms",
    "policy.shutdown_timeout_ms",
    "policy.attempts",
    "policy.backoff_ms",
    "policy.price_prompt",
    "policy.price_cached",
    "policy.price_completion",
};

#define FREE_COUNT COUNT(may_differ)

const char *run_settings_may_differ(size_t index)
{
    return index < FREE_COUNT ? may_differ[index] : NULL;
}

static bool may_differ_on_resume(const char *path)
{
    for (size_t i = 0; i < FREE_COUNT; i++) {
        size_t length = strlen(may_differ[i]);
        bool section = may_differ[i][length - 1] == '.';
        if (section ? strncmp(path, may_differ[i], length) == 0 : strcmp(path, may_differ[i]) == 0)
            return true;
    }
    return false;
}

json_t *run_settings_changed(const struct settings *settings)
{
    struct settings standard;
    json_t *changed = json_object();
    settings_init(&standard);
    size_t index = settings_difference(&standard, settings, 0);
    for (; index < settings_count(); index = settings_difference(&standard, settings, index + 1)) {
        struct buf text;
        buf_init(&text, LIMIT_YAML_BYTES);
        settings_show_value(settings, index, &text);
        json_put(changed, settings_path(index), json_text(text.data));
        buf_deinit(&text);
    }
    settings_deinit(&standard);
    return changed;
}

char *run_settings_unquote(const char *text)
{
    size_t length = strlen(text), quoted = length >= 2 && *text == '"';
    return mem_printf("%.*s", (int)(length - 2 * quoted), text + quoted);
}

int run_settings_read(const char *directory, struct settings *settings, struct err *err)
{
    char *path = mem_printf("%s/" RUN_CONFIG, directory);
    settings_init(settings);
    int result = settings_read_file(settings, path, err);
    mem_free(path);
    return result;
}

static int write_config(const char *path, const struct settings *settings, struct err *err)
{
    struct buf text;
    buf_init(&text, LIMIT_YAML_BYTES);
    settings_show(settings, &text);
    int result = text.cut ? err_set(err, ERR_LIMIT, "%s: settings of more than %zu bytes", path,
                                    LIMIT_YAML_BYTES)
                          : file_write_atomic(path, text.data, text.len, 0644, err);
    buf_deinit(&text);
    return result;
}

static int set_difference_error(const char *path, const struct settings *was,
                                const struct settings *is, size_t index, struct err *err)
{
    struct buf before, now;
    buf_init(&before, 120);
    buf_init(&now, 120);
    settings_show_value(was, index, &before);
    settings_show_value(is, index, &now);
    int result = err_set(err, ERR_INPUT,
                         "%s: the run was started with %s %s, now it is %s: resume with the same "
                         "settings, or name another directory",
                         path, settings_path(index), before.data, now.data);
    buf_deinit(&before);
    buf_deinit(&now);
    return result;
}

/* *changed: a setting that may differ does. */
static int compare_settings(const char *path, const struct settings *was, const struct settings *is,
                            bool *changed, struct err *err)
{
    size_t index = settings_difference(was, is, 0);
    for (; index < settings_count(); index = settings_difference(was, is, index + 1)) {
        if (!may_differ_on_resume(settings_path(index)))
            return set_difference_error(path, was, is, index, err);
        *changed = true;
    }
    return 0;
}

/* Whether the run has results. */
static bool has_begun(const char *directory)
{
    static const char *const names[] = {RUN_METRICS, RUN_CHECKPOINTS};
    bool begun = false;
    for (size_t i = 0; i < COUNT(names); i++) {
        char *path = mem_printf("%s/%s", directory, names[i]);
        struct stat status;
        begun |= stat(path, &status) == 0 && status.st_size > 0;
        mem_free(path);
    }
    return begun;
}

int run_settings_settle(const char *directory, const struct settings *settings, struct err *err)
{
    char *path = mem_printf("%s/" RUN_CONFIG, directory);
    struct settings was;
    bool changed = !file_exists(path) || !has_begun(directory);
    int result = 0;
    if (!changed) {
        result = run_settings_read(directory, &was, err);
        if (result == 0)
            result = compare_settings(path, &was, settings, &changed, err);
        settings_deinit(&was);
    }
    if (result == 0 && changed)
        result = write_config(path, settings, err);
    mem_free(path);
    return result;
}
