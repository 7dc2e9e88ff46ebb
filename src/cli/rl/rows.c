#include "cli/rl/rows.h"

#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/lines.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define COLUMN_BYTES ((size_t)1 << 30) /* of one column of all rows */

/* ID: a number, or a text that gets one. */
enum column_kind {
    COLUMN_ID,
    COLUMN_INTEGER,
    COLUMN_NUMBER,
    COLUMN_FLAG,
    COLUMN_FLOATS,
    COLUMN_FLAGS
};

static const struct column {
    const char *name;
    enum column_kind kind;
    size_t offset; /* of the pointer in struct warpgym_rl_rows */
} columns[ROWS_COLUMNS] = {
#define COLUMN(name, kind)                                                                         \
    {                                                                                              \
#name, kind, offsetof(struct warpgym_rl_rows, name)                                        \
    }
    COLUMN(prompt, COLUMN_ID),        COLUMN(rollout, COLUMN_ID),
    COLUMN(turn, COLUMN_INTEGER),     COLUMN(reward, COLUMN_NUMBER),
    COLUMN(correct, COLUMN_FLAG),     COLUMN(speedup, COLUMN_NUMBER),
    COLUMN(coverage, COLUMN_NUMBER),  COLUMN(baseline, COLUMN_NUMBER),
    COLUMN(mask, COLUMN_FLAGS),       COLUMN(trained, COLUMN_FLOATS),
    COLUMN(sampled, COLUMN_FLOATS),   COLUMN(base, COLUMN_FLOATS),
    COLUMN(collision, COLUMN_FLOATS), COLUMN(value, COLUMN_FLOATS),
    COLUMN(top, COLUMN_FLOATS),
#undef COLUMN
};

void rows_open(struct rows_reader *reader, const char *reward, const char *coverage)
{
    *reader = (struct rows_reader){.reward = reward,
                                   .coverage = coverage,
                                   .named = json_array(),
                                   .names = {{.texts = json_object()}, {.texts = json_object()}}};
    for (size_t i = 0; i < ROWS_COLUMNS; i++)
        buf_init(&reader->columns[i], COLUMN_BYTES);
    buf_init(&reader->offset, COLUMN_BYTES);
    buf_append(&reader->offset, &(int64_t){0}, sizeof(int64_t));
}

void rows_close(struct rows_reader *reader)
{
    for (size_t i = 0; i < ROWS_COLUMNS; i++)
        buf_deinit(&reader->columns[i]);
    buf_deinit(&reader->offset);
    json_decref(reader->named);
    for (size_t i = 0; i < COUNT(reader->names); i++)
        json_decref(reader->names[i].texts);
}

static int refuse(const struct column *column, const char *wanted, struct err *err)
{
    return err_set(err, ERR_INPUT, "'%s' must be %s", column->name, wanted);
}

static int read_integer(const struct column *column, const json_t *value, int64_t *number,
                        struct err *err)
{
    if (!json_is_integer(value))
        return refuse(column, "a whole number", err);
    *number = json_integer_value(value);
    return 0;
}

/* Texts are numbered as they appear. */
static int read_id(struct rows_names *names, const struct column *column, const json_t *value,
                   int64_t *id, struct err *err)
{
    const char *text = json_string_value(value);
    if (!text && !json_is_integer(value))
        return refuse(column, "a whole number or a text", err);
    if (names->numbers ? text != NULL : !text && json_object_size(names->texts) > 0)
        return refuse(column, "a number in all rows, or a text in all rows", err);
    names->numbers = !text;
    if (!text)
        return read_integer(column, value, id, err);
    const json_t *known = json_object_get(names->texts, text);
    *id = known ? json_integer_value(known) : (int64_t)json_object_size(names->texts);
    if (!known)
        json_put(names->texts, text, json_integer(*id));
    return 0;
}

static int read_number(const struct column *column, const json_t *value, double *number,
                       struct err *err)
{
    if (!json_is_number(value) && !json_is_null(value))
        return refuse(column, "a number, or null for what is not known", err);
    *number = json_is_null(value) ? NAN : json_number_value(value);
    return 0;
}

static int read_flag(const struct column *column, const json_t *value, uint8_t *flag,
                     struct err *err)
{
    bool number = json_is_integer(value) &&
                  (json_integer_value(value) == 0 || json_integer_value(value) == 1);
    if (!json_is_boolean(value) && !number)
        return refuse(column, "true or false", err);
    *flag = json_is_true(value) || (number && json_integer_value(value) == 1);
    return 0;
}

static int read_tokens(const struct column *column, const json_t *list, struct buf *out,
                       struct err *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        double number = 0;
        uint8_t flag = 0;
        int result = column->kind == COLUMN_FLAGS ? read_flag(column, one, &flag, err)
                                                  : read_number(column, one, &number, err);
        if (result < 0)
            return err_set(err, ERR_INPUT, "value %zu of '%s' must be %s", i, column->name,
                           column->kind == COLUMN_FLAGS ? "true or false" : "a number");
        if (column->kind == COLUMN_FLAGS)
            buf_append(out, &flag, sizeof flag);
        else
            buf_append(out, &(float){(float)number}, sizeof(float));
    }
    return 0;
}

/* Adds a value; *tokens is how many tokens the row has, -1 while that is not known. */
static int read_column(struct rows_reader *reader, size_t c, const json_t *value, int64_t *tokens,
                       struct err *err)
{
    const struct column *column = &columns[c];
    struct buf *out = &reader->columns[c];
    int64_t id, count = (int64_t)json_array_size(value);
    double number;
    uint8_t flag;
    int result = 0;
    switch (column->kind) {
    case COLUMN_ID:
        result = read_id(&reader->names[c], column, value, &id, err);
        buf_append(out, &id, result == 0 ? sizeof id : 0);
        break;
    case COLUMN_INTEGER:
        result = read_integer(column, value, &id, err);
        buf_append(out, &id, result == 0 ? sizeof id : 0);
        break;
    case COLUMN_NUMBER:
        result = read_number(column, value, &number, err);
        buf_append(out, &number, result == 0 ? sizeof number : 0);
        break;
    case COLUMN_FLAG:
        result = read_flag(column, value, &flag, err);
        buf_append(out, &flag, result == 0 ? sizeof flag : 0);
        break;
    default:
        if (!json_is_array(value))
            return refuse(column, "a list, with a value for each token", err);
        if (*tokens >= 0 && count != *tokens)
            return err_set(err, ERR_INPUT, "'%s' has %lld values, and the row %lld tokens",
                           column->name, (long long)count, (long long)*tokens);
        *tokens = count;
        result = read_tokens(column, value, out, err);
    }
    if (result == 0 && out->cut)
        return err_set(err, ERR_LIMIT, "all '%s' together have more than %zu MiB", column->name,
                       COLUMN_BYTES >> 20);
    return result;
}

/* The reward of a row that has none, by the preset. */
static int pay(const struct rows_reader *reader, json_t *row, struct err *err)
{
    const json_t *facts = json_object_get(row, "facts"), *verdict = json_object_get(row, "verdict");
    struct warpgym_rl_reward reward;
    struct warpgym_rl_error error;
    json_t *subject = facts ? json_deep_copy(facts) : json_object();
    if (!facts && !verdict) {
        json_decref(subject);
        return err_set(err, ERR_INPUT,
                       "a row has a 'reward' (null: it could not be judged), or "
                       "a 'verdict' or 'facts' to be paid for");
    }
    if (!facts)
        json_put(subject, "verdict", json_deep_copy(verdict));
    char *text = json_line_text(subject, LIMIT_TRAJECTORY_BYTES, err);
    json_decref(subject);
    if (!text)
        return ERR_LIMIT;
    int status = warpgym_rl_reward(reader->reward, reader->coverage, text, &reward, &error);
    mem_free(text);
    if (status < 0)
        return err_set(err, ERR_INPUT, "%s", error.text);
    json_put(row, "reward", json_number(reward.total));
    return 0;
}

static int check_names(const json_t *row, struct err *err)
{
    const char *names[ROWS_COLUMNS + 2] = {"verdict", "facts"};
    for (size_t i = 0; i < ROWS_COLUMNS; i++)
        names[i + 2] = columns[i].name;
    return json_check_keys(row, names, COUNT(names), err);
}

static int read_row(struct rows_reader *reader, json_t *row, struct err *err)
{
    size_t count = json_array_size(reader->named);
    int64_t tokens = -1, before = ((const int64_t *)(const void *)reader->offset.data)[count];
    int result = check_names(row, err);
    if (result == 0 && !json_object_get(row, "prompt"))
        result = err_set(err, ERR_INPUT, "a row has a 'prompt'; rows of one are compared");
    if (result == 0 && !json_object_get(row, "reward"))
        result = pay(reader, row, err);
    for (size_t c = 0; c < ROWS_COLUMNS && result == 0; c++) {
        const json_t *value = json_object_get(row, columns[c].name);
        if (count > 0 && reader->given[c] != (value != NULL))
            return err_set(err, ERR_INPUT,
                           "'%s' is %s, and %s in the rows before; a column stands "
                           "in every row or in none",
                           columns[c].name, value ? "here" : "missing", value ? "not" : "there");
        reader->given[c] = value != NULL;
        if (value)
            result = read_column(reader, c, value, &tokens, err);
    }
    if (result < 0)
        return result;
    before += tokens > 0 ? tokens : 0;
    buf_append(&reader->offset, &before, sizeof before);
    json_t *named = json_object();
    for (size_t c = 0; c < 3; c++)
        if (reader->given[c])
            json_put(named, columns[c].name, json_incref(json_object_get(row, columns[c].name)));
    json_array_append_new(reader->named, named);
    return 0;
}

/* A turn of a trajectory; `number` is the trajectory's. */
static json_t *row_of_turn(const json_t *trajectory, const json_t *turn, size_t number)
{
    const json_t *parts = json_object_get(turn, "reward_parts");
    double speedup = json_number_value(json_object_get(turn, "speedup"));
    double coverage = json_number_value(json_object_get(parts, "coverage"));
    bool judged = !json_is_true(json_object_get(turn, "excluded"));
    json_t *row = json_object();
    json_put(row, "prompt", json_text(json_text_at(trajectory, "problem")));
    json_put(row, "rollout", json_integer((json_int_t)number));
    json_put(row, "turn", json_integer(json_integer_value(json_object_get(turn, "turn"))));
    json_put(row, "reward",
             judged ? json_number(json_number_value(json_object_get(turn, "reward")))
                    : json_null());
    json_put(row, "correct", json_boolean(json_is_true(json_object_get(turn, "correct"))));
    json_put(row, "speedup", speedup > 0 ? json_number(speedup) : json_null());
    json_put(row, "coverage", coverage > 0 ? json_number(coverage) : json_null());
    return row;
}

static int read_line(struct rows_reader *reader, json_t *line, struct err *err)
{
    const json_t *turns = json_object_get(line, "turns");
    int result = 0;
    if (!json_is_object(line))
        return err_set(err, ERR_INPUT, "a line is an object, {\"prompt\": …, \"reward\": …}");
    if (!json_is_array(turns))
        return read_row(reader, line, err);
    if (!json_is_string(json_object_get(line, "problem")))
        return err_set(err, ERR_INPUT, "a trajectory names its 'problem'");
    size_t number = reader->trajectories++;
    for (size_t t = 0; t < json_array_size(turns) && result == 0; t++) {
        const json_t *turn = json_array_get(turns, t);
        json_t *row = row_of_turn(line, turn, number);
        result = json_is_number(json_object_get(turn, "reward"))
                     ? read_row(reader, row, err)
                     : err_set(err, ERR_INPUT, "a turn is an object with a reward");
        json_decref(row);
        if (result < 0)
            err_prefix(err, "turn %zu", t);
    }
    return result;
}

int rows_read(struct rows_reader *reader, const char *path, struct err *err)
{
    struct lines *lines;
    const char *text;
    size_t count;
    int result = 0;
    if (strcmp(path, "-") == 0)
        lines = lines_open_fd(dup(STDIN_FILENO), "standard input", LIMIT_TRAJECTORY_BYTES);
    else
        result = lines_open(&lines, path, LIMIT_TRAJECTORY_BYTES, err);
    if (result < 0)
        return result;
    while ((result = lines_next(lines, &text, &count, err)) > 0) {
        json_t *line = NULL;
        result = json_parse_line(lines_path(lines), lines_number(lines), text, count, &line, err);
        if (result == 0 && (result = read_line(reader, line, err)) < 0)
            err_prefix(err, "%s:%zu", lines_path(lines), lines_number(lines));
        json_decref(line);
        if (result < 0)
            break;
    }
    lines_close(lines);
    return result;
}

int rows_finish(struct rows_reader *reader, struct err *err)
{
    size_t count = json_array_size(reader->named);
    const int64_t *offset = (const int64_t *)(const void *)reader->offset.data;
    if (count == 0)
        return err_set(err, ERR_INPUT, "there is no row; write one JSON object on each line");
    reader->rows = (struct warpgym_rl_rows){.rows = count, .tokens = (size_t)offset[count]};
    reader->rows.offset = reader->rows.tokens > 0 ? offset : NULL;
    for (size_t c = 0; c < ROWS_COLUMNS; c++) {
        const void *data = reader->columns[c].data;
        bool of_tokens = columns[c].kind == COLUMN_FLOATS || columns[c].kind == COLUMN_FLAGS;
        if (reader->given[c] && (!of_tokens || reader->rows.tokens > 0))
            memcpy((char *)&reader->rows + columns[c].offset, &data, sizeof data);
    }
    return 0;
}
