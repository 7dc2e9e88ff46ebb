#include "gym/episode/trajectory.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/lines.h"
#include "base/mem.h"

#include <stdio.h>

enum kind { KIND_text, KIND_whole, KIND_number, KIND_flag, KIND_list, KIND_object };

struct field {
    const char *key;
    enum kind kind;
    size_t offset;
};

#define ROW(kind, member, key) {key, KIND_##kind, offsetof(struct trajectory, member)},
static const struct field episode_fields[] = {TRAJECTORY_FIELDS(ROW)};
#undef ROW
#define ROW(kind, member, key) {key, KIND_##kind, offsetof(struct trajectory_turn, member)},
static const struct field turn_fields[] = {TRAJECTORY_TURN_FIELDS(ROW)};
#undef ROW

static int read_field(const json_t *object, const struct field *field, void *record,
                      struct err *err)
{
    void *at = (char *)record + field->offset;
    switch (field->kind) {
    case KIND_text:
        *(const char **)at = "";
        return json_find_string(object, field->key, at, err);
    case KIND_whole:
        return json_find_int(object, field->key, at, err);
    case KIND_number:
        return json_find_double(object, field->key, at, err);
    case KIND_flag:
        return json_find_bool(object, field->key, at, err);
    case KIND_list:
        return json_find_array(object, field->key, at, err);
    case KIND_object:
        return json_find_object(object, field->key, at, err);
    }
    return 0;
}

static int read_fields(const json_t *object, const struct field *fields, size_t count, void *record,
                       struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++)
        result = read_field(object, &fields[i], record, err);
    return result;
}

static int check_schema(const json_t *json, struct err *err)
{
    int64_t schema = TRAJECTORY_SCHEMA;
    int result = json_find_int(json, "schema", &schema, err);
    if (result == 0 && schema != TRAJECTORY_SCHEMA)
        return err_set(err, ERR_UNSUPPORTED,
                       "a trajectory of schema %lld; this warpgym reads schema %d",
                       (long long)schema, TRAJECTORY_SCHEMA);
    return result;
}

static int read_turns(struct trajectory *trajectory, struct err *err)
{
    json_t *list;
    int result = json_get_array(trajectory->json, "turns", &list, err);
    if (result < 0)
        return result;
    size_t count = json_array_size(list);
    if (count > LIMIT_TURNS)
        return err_set(err, ERR_LIMIT, "'turns' has %zu elements, %d are the limit", count,
                       LIMIT_TURNS);
    trajectory->turns = mem_alloc((count + 1) * sizeof *trajectory->turns);
    trajectory->turn_count = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *turn = json_array_get(list, i);
        if (!json_is_object(turn))
            return err_set(err, ERR_INPUT, "turns[%zu] must be an object", i);
        result = read_fields(turn, turn_fields, COUNT(turn_fields), &trajectory->turns[i], err);
        if (result < 0)
            return err_prefix(err, "turns[%zu]", i);
    }
    return 0;
}

static int read_episode(struct trajectory *trajectory, struct err *err)
{
    const json_t *json = trajectory->json;
    if (!json_is_object(json))
        return err_set(err, ERR_INPUT,
                       "must be an object, as docs/reference/trajectories.md has it");
    int result = check_schema(json, err);
    if (result == 0)
        result = read_fields(json, episode_fields, COUNT(episode_fields), trajectory, err);
    if (result == 0 && !*trajectory->problem)
        result = err_set(err, ERR_INPUT, "'problem' is missing: that is no trajectory");
    return result < 0 ? result : read_turns(trajectory, err);
}

int trajectory_take(struct trajectory *trajectory, json_t *json, const char *name, size_t line,
                    struct err *err)
{
    *trajectory = (struct trajectory){.json = json};
    int result = read_episode(trajectory, err);
    if (result < 0) {
        trajectory_deinit(trajectory);
        err_prefix(err, "%s:%zu", name, line);
    }
    return result;
}

int trajectory_parse(struct trajectory *trajectory, const char *name, size_t line, const char *text,
                     size_t count, struct err *err)
{
    json_t *json;
    *trajectory = (struct trajectory){0};
    int result = json_parse_line(name, line, text, count, &json, err);
    return result < 0 ? result : trajectory_take(trajectory, json, name, line, err);
}

void trajectory_deinit(struct trajectory *trajectory)
{
    json_decref(trajectory->json);
    mem_free(trajectory->turns);
    *trajectory = (struct trajectory){0};
}

bool trajectory_verdict(const json_t *record, struct verdict *verdict)
{
    struct err ignored;
    return verdict_read(json_object_get(record, "verdict"), verdict, &ignored) == 0;
}

void trajectory_why(const json_t *record, char *why, size_t why_bytes)
{
    struct verdict verdict;
    bool said = trajectory_verdict(record, &verdict) && verdict.error_message;
    snprintf(why, why_bytes, "%s", said ? verdict.error_message : json_text_at(record, "status"));
    verdict_deinit(&verdict);
}

int trajectory_open(struct lines **out, const char *path, struct err *err)
{
    bool directory = file_is_directory(path);
    char *file = mem_printf("%s%s", path, directory ? "/" TRAJECTORY_FILE : "");
    int result = lines_open(out, file, LIMIT_TRAJECTORY_BYTES, err);
    if (result == ERR_MISSING)
        err_set(err, ERR_MISSING,
                directory ? "%s: holds no " TRAJECTORY_FILE : "%s: no such file or directory",
                path);
    mem_free(file);
    return result;
}

int trajectory_next_line(struct lines *lines, json_t **json, bool *cut, struct err *err)
{
    const char *text;
    size_t count;
    int result = lines_next(lines, &text, &count, err);
    *cut = false;
    if (result <= 0)
        return result;
    result = json_parse_line(lines_path(lines), lines_number(lines), text, count, json, err);
    *cut = result < 0 && !lines_is_whole(lines);
    if (*cut)
        return 0;
    return result < 0 ? result : 1;
}

int trajectory_next(struct lines *lines, struct trajectory *trajectory, bool *cut, struct err *err)
{
    json_t *json;
    struct trajectory next;
    int result = trajectory_next_line(lines, &json, cut, err);
    if (result <= 0)
        return result;
    result = trajectory_take(&next, json, lines_path(lines), lines_number(lines), err);
    if (result < 0)
        return result;
    *trajectory = next;
    return 1;
}
