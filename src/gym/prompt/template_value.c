#include "gym/prompt/internal.h"

#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/suggest.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECIMALS_MAX 15
#define INDENT_MAX 32
#define FENCE_MIN 3
#define NUMBER_DIGITS 18
#define NAMES_MAX 256 /* names searched for the nearest one */

bool template_more(struct template_cursor *cursor)
{
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\t'))
        cursor->at++;
    return cursor->at < cursor->end;
}

bool template_takes(struct template_cursor *cursor, const char *mark)
{
    size_t length = strlen(mark);
    if (!template_more(cursor) || (size_t)(cursor->end - cursor->at) < length ||
        memcmp(cursor->at, mark, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

static bool is_name_start(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* The part of a name before the next dot; *rest is after the dot, or `end`. */
static size_t next_segment(const char *at, const char *end, const char **rest)
{
    size_t length = 0;
    while (at + length < end && at[length] != '.')
        length++;
    *rest = at + length + (at + length < end);
    return length;
}

static json_t *find_member(const json_t *object, const char *name, size_t length)
{
    char key[TEMPLATE_TEXT];
    snprintf(key, sizeof key, "%.*s", (int)length, name);
    return json_object_get(object, key);
}

/* A key of an object or an index of a list, borrowed; NULL: none. */
static json_t *resolve_segment(const json_t *value, const char *name, size_t length)
{
    if (json_is_object(value))
        return find_member(value, name, length);
    if (!json_is_array(value) || length == 0 || length > 9)
        return NULL;
    size_t index = 0;
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)name[i]))
            return NULL;
        index = index * 10 + (size_t)(name[i] - '0');
    }
    return json_array_get(value, index);
}

static bool is_word(const char *word, const char *name, size_t length)
{
    return strlen(word) == length && memcmp(word, name, length) == 0;
}

/* The value of a name's first part: from the innermost loop that has it, or from the root. A new
 * reference; NULL: none. */
static json_t *first_step(const struct template_walk *walk, const char *name, size_t length)
{
    for (const struct template_scope *scope = walk->scope; scope; scope = scope->outer) {
        if (is_word("this", name, length))
            return json_incref((json_t *)scope->element);
        if (is_word("index", name, length))
            return json_integer((json_int_t)scope->index);
        if (is_word("number", name, length))
            return json_integer((json_int_t)scope->index + 1);
        json_t *value = json_is_object(scope->element) ? find_member(scope->element, name, length)
                                                       : NULL;
        if (value)
            return json_incref(value);
    }
    return json_incref(json_is_object(walk->values) ? find_member(walk->values, name, length)
                                                    : NULL);
}

static json_t *resolve(const struct template_walk *walk, const char *start, const char *end)
{
    const char *rest;
    size_t length = next_segment(start, end, &rest);
    json_t *value = first_step(walk, start, length);
    while (value && rest < end) {
        const char *name = rest;
        length = next_segment(name, end, &rest);
        json_t *inner = json_incref(resolve_segment(value, name, length));
        json_decref(value);
        value = inner;
    }
    if (json_is_null(value)) {
        json_decref(value);
        value = NULL;
    }
    return value;
}

/* The valid keys at that point; returns how many. */
static size_t list_keys(const json_t *object, const char **names, size_t count)
{
    const char *key;
    json_t *ignored;
    json_object_foreach((json_t *)object, key, ignored) if (count < NAMES_MAX) names[count++] = key;
    return count;
}

int template_missing(struct template_walk *walk, const char *start, const char *end)
{
    const char *names[NAMES_MAX];
    char name[TEMPLATE_TEXT];
    size_t count = list_keys(walk->values, names, 0);
    while (start < end && !is_name(*start))
        start++;
    size_t length = 0;
    while (start + length < end && (is_name(start[length]) || start[length] == '.'))
        length++;
    snprintf(name, sizeof name, "%.*s", (int)length, start);
    for (const struct template_scope *scope = walk->scope; scope; scope = scope->outer)
        count = list_keys(scope->element, names, count);
    char first[TEMPLATE_TEXT];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(name, "."), name);
    json_t *there = first_step(walk, first, strlen(first));
    struct err unknown;
    err_unknown(&unknown, "name", first, names, count);
    int result = !there && suggest_name(first, names, count)
                     ? template_fail(walk, start, ERR_INPUT, "%s", unknown.text)
                     : template_fail(walk, start, ERR_INPUT,
                                     "'%s' is missing or null here: ask with {{#if %s}}, or "
                                     "give a |default:\"…\"",
                                     name, name);
    json_decref(there);
    return result;
}

static int read_quoted(struct template_cursor *cursor, bool active, json_t **value)
{
    const char *start = cursor->at++;
    char text[TEMPLATE_TEXT];
    size_t used = 0;
    for (; cursor->at < cursor->end && *cursor->at != '"'; cursor->at++) {
        char c = *cursor->at;
        if (c == '\\' && cursor->at + 1 < cursor->end) {
            c = *++cursor->at;
            if (!strchr("nt\\\"", c))
                return template_fail(cursor->walk, cursor->at - 1, ERR_INPUT,
                                     "behind a backslash comes n, t, \\ or \"");
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
        if (used == sizeof text)
            return template_fail(cursor->walk, start, ERR_INPUT,
                                 "a quoted text has at most %d bytes", TEMPLATE_TEXT);
        text[used++] = c;
    }
    if (cursor->at == cursor->end)
        return template_fail(cursor->walk, start, ERR_INPUT, "the text has no closing quote");
    cursor->at++;
    if (active)
        *value = json_text_bytes(text, used);
    return 0;
}

static int read_number(struct template_cursor *cursor, bool active, json_t **value)
{
    const char *start = cursor->at;
    int64_t number = 0;
    bool negative = *cursor->at == '-';
    cursor->at += negative;
    const char *digits = cursor->at;
    for (; cursor->at < cursor->end && isdigit((unsigned char)*cursor->at); cursor->at++)
        if (cursor->at - digits < NUMBER_DIGITS)
            number = number * 10 + (*cursor->at - '0');
    if (cursor->at == digits || cursor->at - digits > NUMBER_DIGITS ||
        (cursor->at < cursor->end && is_name(*cursor->at)))
        return template_fail(cursor->walk, start, ERR_INPUT, "this is no whole number");
    if (active)
        *value = json_integer(negative ? -number : number);
    return 0;
}

static int read_name(struct template_cursor *cursor, bool active, json_t **value)
{
    const char *start = cursor->at;
    size_t segments = 1;
    while (cursor->at < cursor->end && is_name(*cursor->at)) {
        while (cursor->at < cursor->end && is_name(*cursor->at))
            cursor->at++;
        if (cursor->at + 1 < cursor->end && *cursor->at == '.' && is_name(cursor->at[1])) {
            cursor->at++;
            segments++;
        }
    }
    if (segments > TEMPLATE_SEGMENTS || cursor->at - start >= TEMPLATE_TEXT)
        return template_fail(cursor->walk, start, ERR_INPUT, "this name is too long");
    if (active)
        *value = resolve(cursor->walk, start, cursor->at);
    return 0;
}

static int read_operand(struct template_cursor *cursor, bool active, json_t **value)
{
    *value = NULL;
    if (!template_more(cursor))
        return template_fail(cursor->walk, cursor->at, ERR_INPUT,
                             "a name, a number or a \"text\" is missing here");
    if (*cursor->at == '"')
        return read_quoted(cursor, active, value);
    if (isdigit((unsigned char)*cursor->at) || *cursor->at == '-')
        return read_number(cursor, active, value);
    if (is_name_start(*cursor->at))
        return read_name(cursor, active, value);
    return template_fail(cursor->walk, cursor->at, ERR_INPUT,
                         "a name, a number or a \"text\" is wanted here, not '%c'",
                         isprint((unsigned char)*cursor->at) ? *cursor->at : '?');
}

enum filter_argument { NO_ARGUMENT, A_VALUE, A_NUMBER, MAYBE_TEXT, MAYBE_NUMBER };

/* A filter's input text and output. */
struct filtering {
    const char *text;
    size_t count;
    const json_t *value;
    const char *word; /* the argument, "" without one */
    int64_t number;   /* likewise, 0 */
    struct buf *out;
};

/* The type that a filter needs, if the value has another. NULL: fine. */
typedef const char *(*filter_function)(struct filtering *filtering);

static const char *filter_upper(struct filtering *filtering)
{
    for (size_t i = 0; i < filtering->count; i++)
        buf_append(filtering->out, &(char){(char)toupper((unsigned char)filtering->text[i])}, 1);
    return NULL;
}

static const char *filter_lower(struct filtering *filtering)
{
    for (size_t i = 0; i < filtering->count; i++)
        buf_append(filtering->out, &(char){(char)tolower((unsigned char)filtering->text[i])}, 1);
    return NULL;
}

static const char *filter_trim(struct filtering *filtering)
{
    const char *at = filtering->text, *end = at + filtering->count;
    while (at < end && isspace((unsigned char)*at))
        at++;
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    buf_append(filtering->out, at, (size_t)(end - at));
    return NULL;
}

static const char *filter_cut(struct filtering *filtering)
{
    if (filtering->number < 0)
        return "no negative number";
    size_t kept = utf8_cut(filtering->text, filtering->count, (size_t)filtering->number);
    if (kept == filtering->count) {
        buf_append(filtering->out, filtering->text, filtering->count);
        return NULL;
    }
    buf_append(filtering->out, filtering->text, kept);
    buf_printf(filtering->out, "%s... (%zu more bytes, left out)",
               kept > 0 && filtering->text[kept - 1] != '\n' ? "\n" : "", filtering->count - kept);
    return NULL;
}

static const char *filter_fixed(struct filtering *filtering)
{
    if (!json_is_number(filtering->value))
        return "a number";
    if (filtering->number < 0 || filtering->number > DECIMALS_MAX)
        return "0 to 15 decimals";
    buf_printf(filtering->out, "%.*f", (int)filtering->number, json_number_value(filtering->value));
    return NULL;
}

static const char *filter_json(struct filtering *filtering)
{
    if (filtering->number < 0 || filtering->number > INDENT_MAX)
        return "an indentation from 0 to 32";
    size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(15) |
                   JSON_INDENT((size_t)filtering->number);
    char *text = json_dumps(filtering->value, flags);
    buf_puts(filtering->out, text ? text : "null");
    free(text);
    return NULL;
}

static const char *filter_indent(struct filtering *filtering)
{
    if (filtering->number < 0 || filtering->number > INDENT_MAX)
        return "an indentation from 0 to 32";
    const char *at = filtering->text, *end = at + filtering->count;
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        const char *next = line ? line + 1 : end;
        if (*at != '\n')
            buf_printf(filtering->out, "%*s", (int)filtering->number, "");
        buf_append(filtering->out, at, (size_t)(next - at));
        at = next;
    }
    return NULL;
}

/* CommonMark 4.5: a fence closes with at least as many marks as it opened with. */
static const char *filter_fence(struct filtering *filtering)
{
    size_t longest = 0, run = 0;
    char mark = '`';
    for (size_t i = 0; i < filtering->count; i++) {
        run = filtering->text[i] == mark ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    size_t marks = longest >= FENCE_MIN ? longest + 1 : FENCE_MIN;
    for (size_t i = 0; i < marks; i++)
        buf_append(filtering->out, &mark, 1);
    buf_printf(filtering->out, "%s\n", filtering->word);
    buf_append(filtering->out, filtering->text, filtering->count);
    if (filtering->count > 0 && filtering->text[filtering->count - 1] != '\n')
        buf_puts(filtering->out, "\n");
    for (size_t i = 0; i < marks; i++)
        buf_append(filtering->out, &mark, 1);
    return NULL;
}

struct filter {
    const char *name;
    enum filter_argument argument;
    filter_function apply; /* NULL: default, the only one that accepts a missing value */
};

static const struct filter filters[] = {
    {"default", A_VALUE, NULL},           {"upper", NO_ARGUMENT, filter_upper},
    {"lower", NO_ARGUMENT, filter_lower}, {"trim", NO_ARGUMENT, filter_trim},
    {"cut", A_NUMBER, filter_cut},        {"fixed", A_NUMBER, filter_fixed},
    {"json", MAYBE_NUMBER, filter_json},  {"indent", A_NUMBER, filter_indent},
    {"fence", MAYBE_TEXT, filter_fence},
};
#define FILTERS COUNT(filters)

static int find_filter(struct template_cursor *cursor, const struct filter **filter)
{
    const char *names[FILTERS];
    char name[32];
    (void)template_more(cursor);
    const char *start = cursor->at;
    while (cursor->at < cursor->end && is_name(*cursor->at))
        cursor->at++;
    snprintf(name, sizeof name, "%.*s", (int)(cursor->at - start), start);
    for (size_t i = 0; i < FILTERS; i++) {
        names[i] = filters[i].name;
        *filter = &filters[i];
        if (strcmp(name, filters[i].name) == 0)
            return 0;
    }
    struct err unknown;
    err_unknown(&unknown, "filter", name, names, FILTERS);
    return template_fail(cursor->walk, start, ERR_INPUT, "%s", unknown.text);
}

/* After a filter's name. */
static int read_argument(struct template_cursor *cursor, const struct filter *filter, bool active,
                         json_t **argument)
{
    *argument = NULL;
    bool needed = filter->argument == A_VALUE || filter->argument == A_NUMBER;
    const char *start = cursor->at;
    if (!template_takes(cursor, ":")) {
        if (!needed)
            return 0;
        return template_fail(cursor->walk, start, ERR_INPUT, "%s wants a %s behind it: %s:%s",
                             filter->name, filter->argument == A_VALUE ? "text" : "number",
                             filter->name, filter->argument == A_VALUE ? "\"…\"" : "2");
    }
    if (filter->argument == NO_ARGUMENT)
        return template_fail(cursor->walk, start, ERR_INPUT, "%s takes no argument", filter->name);
    (void)template_more(cursor);
    start = cursor->at;
    bool number = filter->argument == A_NUMBER || filter->argument == MAYBE_NUMBER;
    int result = read_operand(cursor, active, argument);
    bool literal = start < cursor->end && !is_name_start(*start);
    bool wrong = literal ? (*start != '"') != number
                         : *argument && json_is_integer(*argument) != number;
    if (result < 0 || !wrong || filter->argument == A_VALUE)
        return result;
    json_decref(*argument);
    *argument = NULL;
    return template_fail(cursor->walk, start, ERR_INPUT, "%s wants a %s here", filter->name,
                         number ? "number" : "text");
}

static int apply_filter(struct template_walk *walk, const char *at, const struct filter *filter,
                        const json_t *argument, json_t **value)
{
    struct buf text, out;
    buf_init(&text, LIMIT_PROMPT_BYTES);
    buf_init(&out, LIMIT_PROMPT_BYTES);
    struct filtering filtering = {
        .value = *value,
        .out = &out,
        .word = json_string_length(argument) > 0 ? json_string_value(argument) : "",
        .number = json_integer_value(argument),
    };
    const char *wants = NULL;
    if (!template_print(*value, &text) && filter->apply != filter_json)
        wants = "a text, not a list or an object";
    filtering.text = text.data;
    filtering.count = text.len;
    if (!wants)
        wants = filter->apply(&filtering);
    int result = 0;
    if (wants)
        result = template_fail(walk, at, ERR_INPUT, "%s wants %s", filter->name, wants);
    else if (out.cut || text.cut)
        result = template_fail(walk, at, ERR_LIMIT, "the text becomes longer than %zu bytes here",
                               LIMIT_PROMPT_BYTES);
    json_decref(*value);
    *value = result == 0 ? json_text_bytes(out.data, out.len) : NULL;
    buf_deinit(&text);
    buf_deinit(&out);
    return result;
}

/* One filter after its bar. */
static int filter_value(struct template_cursor *cursor, bool active, const char *start,
                        json_t **value)
{
    const struct filter *filter;
    json_t *argument = NULL;
    const char *at = cursor->at;
    int result = find_filter(cursor, &filter);
    if (result == 0)
        result = read_argument(cursor, filter, active, &argument);
    if (result == 0 && active && !filter->apply && !*value) {
        *value = json_incref(argument);
    } else if (result == 0 && active && filter->apply) {
        if (!*value)
            result = template_missing(cursor->walk, start, at);
        else
            result = apply_filter(cursor->walk, at, filter, argument, value);
    }
    json_decref(argument);
    return result;
}

int template_value(struct template_cursor *cursor, bool active, bool filtered, json_t **value)
{
    (void)template_more(cursor);
    const char *start = cursor->at;
    int result = read_operand(cursor, active, value);
    for (int count = 0; result == 0 && filtered && template_takes(cursor, "|"); count++) {
        if (count == TEMPLATE_FILTERS)
            result = template_fail(cursor->walk, cursor->at, ERR_INPUT,
                                   "a value goes through %d filters at most", TEMPLATE_FILTERS);
        else
            result = filter_value(cursor, active, start, value);
    }
    if (result < 0) {
        json_decref(*value);
        *value = NULL;
    }
    return result;
}

bool template_print(const json_t *value, struct buf *out)
{
    if (json_is_array(value) || json_is_object(value))
        return false;
    if (json_is_string(value)) {
        buf_append(out, json_string_value(value), json_string_length(value));
        return true;
    }
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    buf_puts(out, text ? text : "null");
    free(text);
    return true;
}
