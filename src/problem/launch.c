#include "problem/launch.h"

#include "base/array.h"
#include "base/suggest.h"
#include "problem/launch_type.h"

#include <string.h>

static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

struct reader {
    struct arena *arena;
    const struct signature *signature;
    const char *sizes[LIMIT_SIZES];
    uint32_t size_count;
    struct launch *launch;
    struct err *err;
};

static size_t word_length(const char *at)
{
    return *at >= '0' && *at <= '9' ? 0 : strspn(at, name_bytes);
}

static bool word_is(const char *at, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(at, word, length) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(const char **at)
{
    while (is_blank(**at))
        (*at)++;
}

uint32_t launch_sizes(const struct signature *signature, uint32_t places[LIMIT_SIZES])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < signature->count && count < LIMIT_SIZES; i++)
        if (!signature->parameters[i].pointer &&
            strcmp(signature->parameters[i].type, "size_t") == 0)
            places[count++] = i;
    return count;
}

static int parse_expression(struct reader *reader, const char *text, const char *what,
                            const struct expression **expression)
{
    struct err inner;
    uint32_t column;
    if (expression_parse_placed(reader->arena, text, reader->sizes, reader->size_count, expression,
                                &column, &inner) == 0)
        return 0;
    return err_set(reader->err, ERR_INPUT, "%s: '%.100s': %s", what, text, inner.text);
}

/* Whether a key and its '=' follow, not a comparison. */
static bool key_follows(const char *at)
{
    skip_blanks(&at);
    size_t length = word_length(at);
    at += length;
    skip_blanks(&at);
    return length > 0 && at[0] == '=' && at[1] != '=';
}

/* The end of a value: where the line ends, or a blank before the next key; NULL where parentheses
 * do not match. */
static const char *value_end(const char *at)
{
    int open = 0;
    for (; *at && !(open == 0 && is_blank(*at) && key_follows(at)); at++) {
        open += (*at == '(') - (*at == ')');
        if (open < 0)
            return NULL;
    }
    return open == 0 ? at : NULL;
}

/* Whether the first parenthesis is closed by the last character: "(a)*(b)" is no list. */
static bool is_list(const char *text)
{
    int open = 0;
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        open += (text[i] == '(') - (text[i] == ')');
        if (open == 0)
            return i > 0 && i + 1 == length;
    }
    return false;
}

/* Takes "(a, b)" apart in place; what is no list is one item. Returns how many, or more than `most`
 * where there are. */
static uint32_t split_list(char *text, char **items, uint32_t most)
{
    uint32_t count = 0;
    int open = 0;
    bool list = is_list(text);
    items[count++] = text;
    if (!list)
        return count;
    text[strlen(text) - 1] = '\0';
    items[0] = ++text;
    for (; *text; text++) {
        open += (*text == '(') - (*text == ')');
        if (*text != ',' || open > 0)
            continue;
        *text = '\0';
        if (count < most)
            items[count] = text + 1;
        count++;
    }
    return count;
}

static char *trimmed_line(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1]))
        text[--length] = '\0';
    while (is_blank(*text))
        text++;
    return text;
}

/* `int(rows)`: the type, and its expression in *inside; NULL: no such thing. */
static const struct launch_type *find_type(char *text, char **inside)
{
    size_t length = word_length(text);
    size_t end = strlen(text);
    char *open = text + length;
    for (uint32_t i = 0; i < launch_type_count; i++) {
        if (!word_is(text, length, launch_types[i].name))
            continue;
        while (is_blank(*open))
            open++;
        if (*open != '(' || text[end - 1] != ')')
            return NULL;
        text[end - 1] = '\0';
        *inside = open + 1;
        return &launch_types[i];
    }
    return NULL;
}

static bool find_name(const struct reader *reader, const char *word, struct launch_argument *found)
{
    for (uint32_t i = 0; i < reader->signature->count; i++)
        if (strcmp(reader->signature->parameters[i].name, word) == 0) {
            *found = (struct launch_argument){.source = LAUNCH_PARAMETER, .index = i};
            return true;
        }
    for (uint32_t i = 0; i < reader->launch->scratch_count; i++)
        if (strcmp(reader->launch->scratches[i].name, word) == 0) {
            *found = (struct launch_argument){.source = LAUNCH_SCRATCH, .index = i};
            return true;
        }
    return false;
}

static int parse_argument(struct reader *reader, char *text, struct launch_argument *argument)
{
    char *inside = text;
    if (word_length(text) == strlen(text) && find_name(reader, text, argument))
        return 0;
    const struct launch_type *type = find_type(text, &inside);
    *argument = (struct launch_argument){.source = LAUNCH_VALUE};
    if (!type)
        type = &launch_types[0]; /* size_t */
    argument->type = (uint32_t)(type - launch_types);
    argument->bytes = type->bytes;
    return parse_expression(reader, trimmed_line(inside), "args", &argument->value);
}

static int parse_arguments(struct reader *reader, char *text, struct launch_call *call)
{
    char *items[LAUNCH_ARGUMENTS];
    uint32_t count = split_list(text, items, LAUNCH_ARGUMENTS);
    if (count > LAUNCH_ARGUMENTS)
        return err_set(reader->err, ERR_INPUT, "args: more than %d", LAUNCH_ARGUMENTS);
    call->argument_count = 0;
    if (count == 1 && *trimmed_line(items[0]) == '\0')
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        int result = parse_argument(reader, trimmed_line(items[i]), &call->arguments[i]);
        if (result < 0)
            return result;
    }
    call->argument_count = count;
    return 0;
}

static int parse_extent(struct reader *reader, char *text, const char *what,
                        const struct expression *extent[3])
{
    char *items[3];
    uint32_t count = split_list(text, items, 3);
    if (count > 3)
        return err_set(reader->err, ERR_INPUT, "%s: at most three numbers", what);
    for (uint32_t i = 0; i < count; i++) {
        int result = parse_expression(reader, trimmed_line(items[i]), what, &extent[i]);
        if (result < 0)
            return result;
    }
    return 0;
}

static int parse_value(struct reader *reader, struct launch_call *call, const char *key, char *text)
{
    if (strcmp(key, "grid") == 0)
        return parse_extent(reader, text, key, call->grid);
    if (strcmp(key, "block") == 0)
        return parse_extent(reader, text, key, call->block);
    if (strcmp(key, "args") == 0)
        return parse_arguments(reader, text, call);
    return parse_expression(reader, text, key, &call->shared);
}

/* One `key=value` of a line; each may stand there once. */
static int take_pair(struct reader *reader, const char **at, const char *const *keys,
                     uint32_t key_count, uint32_t *seen, const char **key, char **value)
{
    size_t length = word_length(*at);
    *key = arena_strndup(reader->arena, *at, length);
    *value = arena_strdup(reader->arena, "");
    if (!key_follows(*at))
        return err_set(reader->err, ERR_INPUT, "expected key=value, not '%.40s'", *at);
    uint32_t place = 0;
    while (place < key_count && strcmp(keys[place], *key) != 0)
        place++;
    if (place == key_count)
        return err_unknown(reader->err, "key", *key, keys, key_count);
    if (*seen >> place & 1)
        return err_set(reader->err, ERR_INPUT, "'%s' stands there twice", *key);
    *seen |= 1U << place;
    const char *start = strchr(*at, '=') + 1;
    const char *end = value_end(start);
    if (!end)
        return err_set(reader->err, ERR_INPUT, "%s: the parentheses do not match", *key);
    *value = trimmed_line(arena_strndup(reader->arena, start, (size_t)(end - start)));
    if (**value == '\0')
        return err_set(reader->err, ERR_INPUT, "%s: there is nothing behind the '='", *key);
    *at = end;
    skip_blanks(at);
    return 0;
}

static int take_name(struct reader *reader, const char **at, const char *what, const char **name)
{
    skip_blanks(at);
    size_t length = word_length(*at);
    if (length == 0 || length >= LIMIT_NAME_BYTES || ((*at)[length] && !is_blank((*at)[length])))
        return err_set(reader->err, ERR_INPUT, "expected the name of %s, not '%.40s'", what, *at);
    *name = arena_strndup(reader->arena, *at, length);
    *at += length;
    skip_blanks(at);
    return 0;
}

static int read_launch(struct reader *reader, const char *at, uint32_t line)
{
    static const char *const keys[] = {"grid", "block", "shared", "args"};
    uint32_t seen = 0;
    if (reader->launch->call_count == LAUNCH_CALLS)
        return err_set(reader->err, ERR_INPUT, "more than %d launch lines", LAUNCH_CALLS);
    struct launch_call *call = &reader->launch->calls[reader->launch->call_count];
    call->line = line;
    call->argument_count = reader->signature->count;
    for (uint32_t i = 0; i < reader->signature->count; i++)
        call->arguments[i] = (struct launch_argument){.source = LAUNCH_PARAMETER, .index = i};
    int result = take_name(reader, &at, "a kernel", &call->kernel);
    while (result == 0 && *at) {
        const char *key;
        char *value;
        result = take_pair(reader, &at, keys, COUNT(keys), &seen, &key, &value);
        if (result == 0)
            result = parse_value(reader, call, key, value);
    }
    for (uint32_t i = 0; i < 2 && result == 0; i++)
        if (!(seen >> i & 1))
            result = err_set(reader->err, ERR_INPUT, "'%s=' is missing", keys[i]);
    reader->launch->call_count++;
    return result;
}

static int read_scratch(struct reader *reader, const char *at, uint32_t line)
{
    static const char *const keys[] = {"bytes"};
    struct launch *launch = reader->launch;
    struct launch_argument ignored;
    uint32_t seen = 0;
    const char *key;
    char *value;
    if (launch->scratch_count == LAUNCH_SCRATCHES)
        return err_set(reader->err, ERR_INPUT, "more than %d scratch lines", LAUNCH_SCRATCHES);
    if (launch->call_count > 0)
        return err_set(reader->err, ERR_INPUT, "scratch lines come before launch lines");
    struct launch_scratch *scratch = &launch->scratches[launch->scratch_count];
    scratch->line = line;
    int result = take_name(reader, &at, "a scratch buffer", &scratch->name);
    if (result == 0 &&
        (find_name(reader, scratch->name, &ignored) || expression_reserves(scratch->name)))
        result = err_set(reader->err, ERR_INPUT, "'%.60s' means something else already",
                         scratch->name);
    if (result == 0)
        result = take_pair(reader, &at, keys, 1, &seen, &key, &value);
    if (result == 0 && *at)
        result = err_set(reader->err, ERR_INPUT, "expected the end, not '%.40s'", at);
    if (result == 0)
        result = parse_expression(reader, value, "bytes", &scratch->bytes);
    launch->scratch_count++;
    return result;
}

static const struct {
    const char *word;
    int (*read)(struct reader *reader, const char *at, uint32_t line);
} words[] = {{"launch:", read_launch}, {"scratch:", read_scratch}};

/* Which of `words` a line of a source begins with, behind "//"; its rest is *rest. */
static int find_word(const char *at, const char **rest)
{
    skip_blanks(&at);
    if (at[0] != '/' || at[1] != '/')
        return -1;
    at += 2;
    skip_blanks(&at);
    for (uint32_t i = 0; i < COUNT(words); i++)
        if (strncmp(at, words[i].word, strlen(words[i].word)) == 0) {
            *rest = at + strlen(words[i].word);
            return (int)i;
        }
    return -1;
}

static const char *next_line(const char *at)
{
    at += strcspn(at, "\n");
    return *at ? at + 1 : at;
}

static int read_line(struct reader *reader, int word, const char *rest, uint32_t line)
{
    size_t length = strcspn(rest, "\n");
    while (length > 0 && is_blank(rest[length - 1]))
        length--;
    if (length > LAUNCH_LINE_BYTES)
        return err_set(reader->err, ERR_INPUT, "longer than %d characters", LAUNCH_LINE_BYTES);
    return words[word].read(reader, arena_strndup(reader->arena, rest, length), line);
}

int launch_parse(struct arena *arena, const struct signature *signature, const char *source,
                 const char *fallback, struct launch *launch, uint32_t *line, struct err *err)
{
    struct reader reader = {.arena = arena, .signature = signature, .launch = launch, .err = err};
    uint32_t places[LIMIT_SIZES];
    reader.size_count = launch_sizes(signature, places);
    for (uint32_t i = 0; i < reader.size_count; i++)
        reader.sizes[i] = signature->parameters[places[i]].name;
    memset(launch, 0, sizeof *launch);
    *line = 0;
    for (const char *at = source; *at; at = next_line(at)) {
        const char *rest;
        int word = find_word(at, &rest);
        *line += 1;
        int result = word < 0 ? 0 : read_line(&reader, word, rest, *line);
        if (result < 0)
            return result;
    }
    *line = 0;
    if (launch->call_count > 0)
        return 0;
    if (!fallback)
        return err_set(err, ERR_INPUT, "there is no launch line");
    return read_launch(&reader, arena_printf(arena, "solution %s", fallback), 0);
}

/* Behind a comment, a string or a character constant that begins at `at`; `at` where none does. */
static const char *behind_text(const char *at)
{
    if (at[0] == '/' && at[1] == '/')
        return at + strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end ? end + 2 : at + strlen(at);
    }
    if (*at != '"' && *at != '\'')
        return at;
    const char quote = *at++;
    while (*at && *at != quote && *at != '\n')
        at += at[0] == '\\' && at[1] ? 2 : 1;
    return *at == quote ? at + 1 : at;
}

/* Which functions `solution` are declared: a bit for a kernel, a bit for one of the host. */
enum { KERNEL = 1, HOST = 2 };

static int solution_kinds(const char *at)
{
    bool global = false; /* since the last declaration ended */
    int found = 0;
    while (*at) {
        const char *next = behind_text(at);
        if (next != at) {
            at = next;
            continue;
        }
        size_t length = strspn(at, name_bytes);
        const char *behind = at + length;
        while (*behind == ' ' || *behind == '\t' || *behind == '\n' || *behind == '\r')
            behind++;
        if (word_is(at, length, "__global__"))
            global = true;
        else if (word_is(at, length, "solution") && *behind == '(')
            found |= global ? KERNEL : HOST;
        else if (*at == ';' || *at == '{' || *at == '}' || *at == '#')
            global = false;
        at += length ? length : 1;
    }
    return found;
}

static bool has_launch_line(const char *source)
{
    for (const char *at = source; *at; at = next_line(at)) {
        const char *rest;
        if (find_word(at, &rest) == 0)
            return true;
    }
    return false;
}

bool launch_wanted(const char *source, const char *fallback)
{
    int found = solution_kinds(source);
    return !(found & HOST) && (has_launch_line(source) || (fallback && found & KERNEL));
}
