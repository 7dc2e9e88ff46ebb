#include "policy/script.h"

#include "base/array.h"
#include "base/json.h"
#include "base/json_mend.h"
#include "base/limits.h"

#include <stdbool.h>
#include <string.h>

#define DELAY_MAX_MS 86400000

int script_check_path(const char *path, struct err *err)
{
    const char *part = path;
    while (true) {
        size_t length = strcspn(part, "/");
        if (length == 0 || strspn(part, ".") >= length)
            return err_set(err, ERR_INPUT, "\"file\": '%.100s' is not below the script's directory",
                           path);
        if (!part[length])
            return 0;
        part += length + 1;
    }
}

static int refuse_negative(const char *key, struct err *err)
{
    return err_set(err, ERR_INPUT, "\"%s\" is negative", key);
}

/* An optional number that must not be negative. */
static int find_count(const json_t *object, const char *key, int64_t *out, struct err *err)
{
    int64_t value = 0;
    int result = json_find_int(object, key, &value, err);
    if (result < 0 || !json_is_integer(json_object_get(object, key)))
        return result;
    *out = value;
    return value < 0 ? refuse_negative(key, err) : 0;
}

/* Text, or {"file": path}. */
static int read_answer(struct script *script, const json_t *object, struct script_line *line,
                       struct err *err)
{
    static const char *const keys[] = {"file"};
    const json_t *answer = json_object_get(object, "answer");
    const char *file;
    if (json_is_string(answer)) {
        line->text = arena_strdup(&script->arena, json_string_value(answer));
        return 0;
    }
    if (!json_is_object(answer))
        return err_set(err, ERR_INPUT, "\"answer\" is neither a text nor {\"file\": path}");
    int result = json_check_keys(answer, keys, 1, err);
    if (result == 0)
        result = json_get_string(answer, "file", &file, err);
    if (result == 0)
        result = script_check_path(file, err);
    if (result == 0)
        line->file = arena_strdup(&script->arena, file);
    return result;
}

static int read_usage(const json_t *object, struct script_line *line, struct err *err)
{
    static const char *const keys[] = {"prompt_tokens", "completion_tokens", "cached_tokens"};
    int64_t *const counts[] = {&line->prompt_tokens, &line->completion_tokens,
                               &line->cached_tokens};
    json_t *usage = NULL;
    int result = json_find_object(object, "usage", &usage, err);
    if (result < 0 || !usage)
        return result;
    result = json_check_keys(usage, keys, COUNT(keys), err);
    for (size_t i = 0; i < COUNT(keys) && result == 0; i++)
        result = find_count(usage, keys[i], counts[i], err);
    return result;
}

static int read_texts(struct script *script, const json_t *object, struct script_line *line,
                      struct err *err)
{
    const char *problem, *reasoning = NULL, *finish = "stop";
    int result = json_get_string(object, "problem", &problem, err);
    if (result == 0)
        result = json_find_string(object, "reasoning", &reasoning, err);
    if (result == 0)
        result = json_find_string(object, "finish", &finish, err);
    if (result < 0)
        return result;
    if (!problem[0])
        return err_set(err, ERR_INPUT, "\"problem\" is empty; \"*\" stands for any");
    line->problem = strcmp(problem, "*") == 0 ? NULL : arena_strdup(&script->arena, problem);
    line->reasoning = reasoning ? arena_strdup(&script->arena, reasoning) : NULL;
    line->finish = arena_strdup(&script->arena, finish);
    return 0;
}

static int read_script_line(struct script *script, const json_t *object, struct script_line *line,
                            struct err *err)
{
    static const char *const keys[] = {"problem",   "turn",   "sample",   "answer",
                                       "reasoning", "finish", "delay_ms", "usage"};
    int result = json_check_keys(object, keys, COUNT(keys), err);
    if (result == 0)
        result = read_texts(script, object, line, err);
    if (result == 0)
        result = json_get_int(object, "turn", &line->turn, err);
    if (result == 0 && line->turn < 0)
        result = refuse_negative("turn", err);
    if (result == 0)
        result = find_count(object, "sample", &line->sample, err);
    if (result == 0)
        result = find_count(object, "delay_ms", &line->delay_ms, err);
    if (result == 0 && line->delay_ms > DELAY_MAX_MS)
        result = err_set(err, ERR_INPUT, "\"delay_ms\" is above %d", DELAY_MAX_MS);
    if (result == 0)
        result = read_answer(script, object, line, err);
    return result < 0 ? result : read_usage(object, line, err);
}

static bool is_blank(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!strchr(" \t\r", text[i]) || !text[i])
            return false;
    return true;
}

static int add_script_line(struct script *script, const char *name, size_t number, const char *text,
                           size_t bytes, struct err *err)
{
    json_t *object = NULL;
    struct script_line *line = &script->lines[script->count];
    int result = json_parse_mended(name, number, text, bytes, &object, err);
    if (result < 0)
        return result;
    *line = (struct script_line){.number = number,
                                 .sample = SCRIPT_ANY,
                                 .prompt_tokens = -1,
                                 .completion_tokens = -1,
                                 .cached_tokens = -1};
    result = json_is_object(object) ? read_script_line(script, object, line, err)
                                    : err_set(err, ERR_INPUT, "is not an object");
    json_decref(object);
    script->count++;
    return result < 0 ? err_prefix(err, "%.200s:%zu", name, number) : 0;
}

int script_parse(struct script *script, const char *name, const char *text, size_t bytes,
                 struct err *err)
{
    size_t most = 1, number = 0;
    const char *end = text + bytes;
    int result = 0;
    *script = (struct script){0};
    for (const char *at = text; at < end; at++)
        most += *at == '\n';
    if (most > LIMIT_SCRIPT_LINES)
        return err_set(err, ERR_LIMIT, "%.200s: more than %d lines", name, LIMIT_SCRIPT_LINES);
    script->lines = arena_alloc(&script->arena, most * sizeof *script->lines);
    while (text < end && result == 0) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = stop ? (size_t)(stop - text) : (size_t)(end - text);
        number++;
        if (!is_blank(text, length))
            result = add_script_line(script, name, number, text, length, err);
        text += length + 1;
    }
    if (result == 0 && script->count == 0)
        result = err_set(err, ERR_INPUT, "%.200s: the script is empty", name);
    if (result < 0)
        script_deinit(script);
    return result;
}

void script_deinit(struct script *script)
{
    arena_deinit(&script->arena);
    *script = (struct script){0};
}

/* Whether `one` is preferred to `other`; both match. */
static bool is_preferred(const struct script_line *one, const struct script_line *other)
{
    if (one->turn != other->turn)
        return one->turn > other->turn;
    if ((one->problem != NULL) != (other->problem != NULL))
        return one->problem != NULL;
    return one->sample != SCRIPT_ANY && other->sample == SCRIPT_ANY;
}

const struct script_line *script_find(const struct script *script, const char *problem,
                                      int64_t sample, int64_t turn)
{
    const struct script_line *best = NULL;
    for (size_t i = 0; i < script->count; i++) {
        const struct script_line *line = &script->lines[i];
        if (line->turn > turn || (line->sample != SCRIPT_ANY && line->sample != sample) ||
            (line->problem && strcmp(line->problem, problem) != 0))
            continue;
        if (!best || is_preferred(line, best))
            best = line;
    }
    return best;
}
