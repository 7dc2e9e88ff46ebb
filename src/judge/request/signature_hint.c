#include "judge/request/signature_hint.h"

#include "base/array.h"
#include "base/limits.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define ENTRY "solution"

enum kind { KIND_UNKNOWN, KIND_REAL, KIND_INTEGER };

struct parameter_type {
    const char *text; /* not terminated */
    size_t length;
    enum kind kind;
    size_t bytes;
    bool pointer;
};

struct parameters {
    struct parameter_type items[LIMIT_ARGUMENTS + 1];
    size_t count; /* more than LIMIT_ARGUMENTS are LIMIT_ARGUMENTS + 1 */
};

/* The widest word of a type decides: unsigned char, long int. */
static const struct {
    const char *word;
    enum kind kind;
    size_t bytes;
} types[] = {
    {"float", KIND_REAL, 4},       {"double", KIND_REAL, 8},     {"char", KIND_INTEGER, 1},
    {"int8_t", KIND_INTEGER, 1},   {"uint8_t", KIND_INTEGER, 1}, {"bool", KIND_INTEGER, 1},
    {"short", KIND_INTEGER, 2},    {"int16_t", KIND_INTEGER, 2}, {"uint16_t", KIND_INTEGER, 2},
    {"long", KIND_INTEGER, 8},     {"int64_t", KIND_INTEGER, 8}, {"uint64_t", KIND_INTEGER, 8},
    {"size_t", KIND_INTEGER, 8},   {"int32_t", KIND_INTEGER, 4}, {"uint32_t", KIND_INTEGER, 4},
    {"unsigned", KIND_INTEGER, 4}, {"int", KIND_INTEGER, 4},
};

static bool is_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* Where a whole word stands in `text`; NULL: nowhere. */
static const char *find_word(const char *text, size_t length, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = text; (at = memmem(at, length - (size_t)(at - text), word, size)); at++) {
        bool begins = at == text || !is_word(at[-1]);
        if (begins && (at + size == text + length || !is_word(at[size])))
            return at;
    }
    return NULL;
}

static void find_type(struct parameter_type *type)
{
    type->pointer = memchr(type->text, '*', type->length) || memchr(type->text, '[', type->length);
    for (size_t i = 0; i < COUNT(types); i++)
        if (find_word(type->text, type->length, types[i].word)) {
            type->kind = types[i].kind;
            type->bytes = types[i].bytes;
            return;
        }
}

static void add_parameter(struct parameters *list, const char *text, const char *end)
{
    while (text < end && isspace((unsigned char)*text))
        text++;
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    struct parameter_type type = {.text = text, .length = (size_t)(end - text)};
    bool none = type.length == 0 || (type.length == 4 && memcmp(text, "void", 4) == 0);
    if (none || list->count == COUNT(list->items))
        return;
    find_type(&type);
    list->items[list->count++] = type;
}

/* From behind the '('. Returns what follows the ')'; NULL: it has none. */
static const char *read_parameters(const char *at, struct parameters *list)
{
    int depth = 0;
    *list = (struct parameters){0};
    for (const char *from = at; *at; at++) {
        bool last = *at == ')' && depth == 0;
        if (last || (*at == ',' && depth == 0)) {
            add_parameter(list, from, at);
            from = at + 1;
        }
        if (last)
            return at + 1;
        depth += *at == '(' || *at == '[' || *at == '<';
        depth -= *at == ')' || *at == ']' || *at == '>';
    }
    return NULL;
}

/* Comments become blanks. */
static char *without_comments(struct arena *arena, const char *source)
{
    char *text = arena_strdup(arena, source);
    for (char *at = text; *at;) {
        const char *end = at + 1;
        bool line = at[0] == '/' && at[1] == '/', block = at[0] == '/' && at[1] == '*';
        if (line)
            end = at + strcspn(at, "\n");
        if (block) {
            end = strstr(at + 2, "*/");
            end = end ? end + 2 : at + strlen(at);
        }
        if (line || block)
            memset(at, ' ', (size_t)(end - at));
        at += end - at;
    }
    return text;
}

static bool differs(const struct parameter_type *a, const struct parameter_type *b)
{
    if (a->pointer != b->pointer)
        return true;
    if (a->kind == KIND_UNKNOWN || b->kind == KIND_UNKNOWN)
        return false;
    bool sized = a->pointer || a->kind == KIND_REAL;
    return a->kind != b->kind || (sized && a->bytes != b->bytes);
}

static const char *compare(struct arena *arena, const char *signature,
                           const struct parameters *wanted, const struct parameters *given)
{
    if (given->count != wanted->count)
        return arena_printf(arena, "its `" ENTRY "` takes %zu argument%s instead of %zu: %s",
                            given->count, given->count == 1 ? "" : "s", wanted->count, signature);
    for (size_t i = 0; i < given->count; i++)
        if (differs(&wanted->items[i], &given->items[i]))
            return arena_printf(arena,
                                "argument %zu of its `" ENTRY "` is `%.*s` instead of `%.*s`: %s",
                                i + 1, (int)given->items[i].length, given->items[i].text,
                                (int)wanted->items[i].length, wanted->items[i].text, signature);
    return NULL;
}

const char *signature_hint(struct arena *arena, const char *signature, const char *source)
{
    struct parameters wanted, given;
    const char *hint = NULL, *at = strchr(signature, '(');
    if (!at || !read_parameters(at + 1, &wanted))
        return NULL;
    at = without_comments(arena, source);
    while ((at = find_word(at, strlen(at), ENTRY))) {
        at += strlen(ENTRY);
        const char *open = at + strspn(at, " \t\r\n");
        const char *behind = *open == '(' ? read_parameters(open + 1, &given) : NULL;
        if (!behind || behind[strspn(behind, " \t\r\n")] != '{')
            continue;
        const char *one = compare(arena, signature, &wanted, &given);
        if (!one)
            return NULL; /* of several, under #if, one fits */
        hint = hint ? hint : one;
    }
    return hint;
}
