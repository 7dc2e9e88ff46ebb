#include "gym/prompt/template.h"

#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "gym/prompt/internal.h"

#include <stdio.h>
#include <string.h>

enum tag_kind {
    TAG_NONE, /* the text ends */
    TAG_VALUE,
    TAG_COMMENT,
    TAG_INCLUDE,
    TAG_IF,
    TAG_EACH,
    TAG_ELSE,
    TAG_END_IF,
    TAG_END_EACH,
};

struct tag {
    enum tag_kind kind;
    const char *start, *end;   /* with the braces */
    const char *inside, *past; /* between the braces, after the kind's own mark */
    const char *from;          /* the end of the text before it */
    const char *next;          /* the beginning of the text after it */
    bool alone;                /* it is alone on its line */
};

/* Kinds by their mark; words (followed by a blank) before signs. */
static const struct {
    const char *mark;
    enum tag_kind kind;
    bool word;
} marks[] = {
    {"#if", TAG_IF, true},         {"#each", TAG_EACH, true}, {"/if", TAG_END_IF, true},
    {"/each", TAG_END_EACH, true}, {"else", TAG_ELSE, true},  {">", TAG_INCLUDE, false},
};

static const char *const kind_names[] = {
    [TAG_NONE] = "",     [TAG_VALUE] = "value", [TAG_COMMENT] = "!",
    [TAG_INCLUDE] = ">", [TAG_IF] = "#if",      [TAG_EACH] = "#each",
    [TAG_ELSE] = "else", [TAG_END_IF] = "/if",  [TAG_END_EACH] = "/each",
};

int template_fail(struct template_walk *walk, const char *at, int code, const char *format, ...)
{
    char what[ERR_TEXT_MAX];
    size_t line = 1, column = 1;
    for (const char *c = walk->text; c < at; c++) {
        bool breaks = *c == '\n';
        bool counts = ((unsigned char)*c & 0xC0) != 0x80; /* UTF-8: once for each character */
        line += breaks;
        column = breaks ? 1 : column + counts;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return err_set(walk->err, code, "%s:%zu:%zu: %s", walk->name, line, column, what);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static int emit_text(struct template_walk *walk, const char *from, const char *to)
{
    if (to > from)
        buf_append(walk->out, from, (size_t)(to - from));
    if (!walk->out->cut)
        return 0;
    return template_fail(walk, from, ERR_LIMIT, "the text becomes longer than %zu bytes here",
                         walk->out->max_bytes);
}

/* The braces that end a tag; quoted ones don't. */
static const char *tag_end(const char *at, const char *end)
{
    bool quoted = false;
    for (; at + 1 < end && *at != '\n'; at++) {
        if (quoted && *at == '\\')
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted && at[0] == '}' && at[1] == '}')
            return at;
    }
    return NULL;
}

/* Comments may span lines and hold anything. */
static const char *comment_end(const char *at, const char *end)
{
    return memmem(at, (size_t)(end - at), "}}", 2);
}

static void tag_classify(struct tag *tag)
{
    const char *at = tag->inside;
    tag->kind = TAG_VALUE;
    while (at < tag->past && is_blank(*at))
        at++;
    for (size_t i = 0; i < COUNT(marks); i++) {
        size_t length = strlen(marks[i].mark);
        if ((size_t)(tag->past - at) < length || memcmp(at, marks[i].mark, length) != 0)
            continue;
        bool ends_block = at + length == tag->past || is_blank(at[length]);
        if (!ends_block && marks[i].word)
            continue;
        tag->kind = marks[i].kind;
        tag->inside = at + length;
        return;
    }
}

/* A tag alone on its line removes the line. */
static void tag_place(const struct template_walk *walk, struct tag *tag)
{
    const char *before = tag->start, *behind = tag->end;
    const char *end = walk->text + walk->count;
    while (before > walk->text && is_blank(before[-1]))
        before--;
    while (behind < end && (is_blank(*behind) || (*behind == '\r' && behind + 1 < end)))
        behind++;
    bool alone = (before == walk->text || before[-1] == '\n') && (behind == end || *behind == '\n');
    tag->from = tag->start;
    tag->next = tag->end;
    if (!alone || tag->kind == TAG_VALUE)
        return;
    tag->alone = true;
    tag->from = before;
    tag->next = behind + (behind < end);
}

/* The next tag, or TAG_NONE with all of the rest before it. */
static int tag_find(struct template_walk *walk, struct tag *tag)
{
    const char *at = walk->text + walk->at, *end = walk->text + walk->count;
    const char *open = memmem(at, (size_t)(end - at), "{{", 2);
    *tag = (struct tag){.kind = TAG_NONE, .start = end, .end = end, .from = end, .next = end};
    if (open) {
        bool comment = open + 2 < end && open[2] == '!';
        const char *close = comment ? comment_end(open, end) : tag_end(open + 2, end);
        if (!close)
            return template_fail(walk, open, ERR_INPUT,
                                 comment ? "this comment has no }} behind it"
                                         : "this tag has no }} on its line");
        *tag = (struct tag){.start = open, .end = close + 2, .inside = open + 2, .past = close};
        if (comment)
            tag->kind = TAG_COMMENT;
        else
            tag_classify(tag);
        tag_place(walk, tag);
    }
    *walk->work += (size_t)(tag->next - at) + 1;
    if (*walk->work > LIMIT_TEMPLATE_WORK_BYTES)
        return template_fail(walk, tag->start, ERR_LIMIT,
                             "its loops go through more than %zu bytes of template",
                             LIMIT_TEMPLATE_WORK_BYTES);
    return 0;
}

static struct template_cursor cursor_of(struct template_walk *walk, const struct tag *tag)
{
    return (struct template_cursor){.walk = walk, .at = tag->inside, .end = tag->past};
}

static int expect_end(struct template_cursor *cursor)
{
    if (!template_more(cursor))
        return 0;
    return template_fail(cursor->walk, cursor->at, ERR_INPUT, "'%.*s' does not belong here",
                         (int)(cursor->end - cursor->at > 40 ? 40 : cursor->end - cursor->at),
                         cursor->at);
}

static int put_value(struct template_walk *walk, const struct tag *tag, bool active)
{
    struct template_cursor cursor = cursor_of(walk, tag);
    json_t *value = NULL;
    int result = template_value(&cursor, active, true, &value);
    if (result == 0)
        result = expect_end(&cursor);
    if (result == 0 && active && !value)
        result = template_missing(walk, tag->inside, tag->past);
    if (result == 0 && value && !template_print(value, walk->out))
        result = template_fail(walk, tag->start, ERR_INPUT,
                               "this is %s: go through it with {{#each}}, or print it with |json",
                               json_is_array(value) ? "a list" : "an object");
    json_decref(value);
    return result < 0 || !active ? result : emit_text(walk, tag->start, tag->start);
}

static int walk_all(struct template_walk *walk, bool active);

static int include_template(struct template_walk *walk, const struct tag *tag, bool active)
{
    char name[LIMIT_NAME_BYTES];
    struct template_cursor cursor = cursor_of(walk, tag);
    (void)!template_more(&cursor);
    size_t length = (size_t)(cursor.end - cursor.at);
    while (length > 0 && is_blank(cursor.at[length - 1]))
        length--;
    if (length == 0 || length >= sizeof name)
        return template_fail(walk, tag->start, ERR_INPUT,
                             "name a template behind the >: {{>parts/task}}");
    if (!active)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)length, cursor.at);
    if (walk->depth + 1 >= TEMPLATE_DEPTH)
        return template_fail(walk, tag->start, ERR_INPUT,
                             "templates include each other more than %d deep", TEMPLATE_DEPTH);
    const char *called = name;
    struct err why = {0};
    const char *text = walk->source ? walk->source->find(walk->source->context, &called, &why)
                                    : NULL;
    if (!text)
        return template_fail(walk, cursor.at, ERR_MISSING, "%s",
                             why.text[0] ? why.text : "nothing can be included here");
    struct template_walk inner = *walk;
    inner.name = called;
    inner.text = text;
    inner.count = strlen(text);
    inner.at = inner.nesting = 0;
    inner.depth++;
    if (!tag->alone && inner.count > 0 && text[inner.count - 1] == '\n')
        inner.count--;
    return walk_all(&inner, true);
}

static int walk_until(struct template_walk *walk, bool active, const struct tag *opener,
                      bool may_else, struct tag *last);

static bool is_true(const json_t *value)
{
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_OBJECT:
        return json_object_size(value) > 0;
    case JSON_ARRAY:
        return json_array_size(value) > 0;
    case JSON_STRING:
        return json_string_length(value) > 0;
    case JSON_INTEGER:
    case JSON_REAL:
        return json_number_value(value) != 0;
    default:
        return json_is_true(value);
    }
}

/* Compared as printed; a missing value equals nothing. */
static bool are_same(const json_t *one, const json_t *other)
{
    struct buf texts[2];
    const json_t *values[2] = {one, other};
    bool printed = one && other;
    for (int i = 0; i < 2; i++) {
        buf_init(&texts[i], LIMIT_PROMPT_BYTES);
        printed = printed && template_print(values[i], &texts[i]);
    }
    bool same = printed && texts[0].len == texts[1].len &&
                memcmp(texts[0].data, texts[1].data, texts[0].len) == 0;
    buf_deinit(&texts[0]);
    buf_deinit(&texts[1]);
    return same;
}

static int read_condition(struct template_walk *walk, const struct tag *tag, bool active,
                          bool *holds)
{
    struct template_cursor cursor = cursor_of(walk, tag);
    json_t *left = NULL, *right = NULL;
    bool unlike = false;
    bool not = template_takes(&cursor, "!");
    int result = template_value(&cursor, active, false, &left);
    bool compares = result == 0 && !not &&(template_takes(&cursor, "==") ||
                                           (unlike = template_takes(&cursor, "!=")));
    if (compares)
        result = template_value(&cursor, active, false, &right);
    if (result == 0)
        result = expect_end(&cursor);
    *holds = compares ? are_same(left, right) != unlike : is_true(left) != not ;
    json_decref(left);
    json_decref(right);
    return result;
}

static int walk_if(struct template_walk *walk, const struct tag *tag, bool active)
{
    bool holds = false;
    struct tag last;
    int result = read_condition(walk, tag, active, &holds);
    if (result == 0)
        result = walk_until(walk, active && holds, tag, true, &last);
    if (result == 0 && last.kind == TAG_ELSE)
        result = walk_until(walk, active && !holds, tag, false, &last);
    return result;
}

static int walk_list(struct template_walk *walk, const struct tag *tag, const json_t *list)
{
    size_t start = walk->at, count = json_array_size(list);
    struct template_scope scope = {.outer = walk->scope};
    struct tag last;
    int result = count > 0 ? 0 : walk_until(walk, false, tag, false, &last);
    for (; result == 0 && scope.index < count; scope.index++) {
        scope.element = json_array_get(list, scope.index);
        walk->at = start;
        walk->scope = &scope;
        result = walk_until(walk, true, tag, false, &last);
        walk->scope = scope.outer;
    }
    return result;
}

static int walk_each(struct template_walk *walk, const struct tag *tag, bool active)
{
    struct template_cursor cursor = cursor_of(walk, tag);
    json_t *list = NULL;
    int result = template_value(&cursor, active, false, &list);
    if (result == 0)
        result = expect_end(&cursor);
    if (result == 0 && list && !json_is_array(list))
        result = template_fail(walk, tag->start, ERR_INPUT, "{{#each}} wants a list");
    if (result == 0)
        result = walk_list(walk, tag, list);
    json_decref(list);
    return result;
}

static int walk_block(struct template_walk *walk, const struct tag *tag, bool active)
{
    if (walk->nesting >= TEMPLATE_NESTING)
        return template_fail(walk, tag->start, ERR_INPUT, "blocks are nested more than %d deep",
                             TEMPLATE_NESTING);
    walk->nesting++;
    int result = tag->kind == TAG_IF ? walk_if(walk, tag, active) : walk_each(walk, tag, active);
    walk->nesting--;
    return result;
}

/* Whether this tag ends a block, or the text, correctly. */
static int ends_block(struct template_walk *walk, const struct tag *tag, const struct tag *opener,
                      bool may_else, bool *over)
{
    enum tag_kind wanted = !opener ? TAG_NONE : opener->kind == TAG_IF ? TAG_END_IF : TAG_END_EACH;
    *over = tag->kind == wanted || (tag->kind == TAG_ELSE && may_else);
    if (tag->kind == TAG_NONE && !*over)
        return template_fail(walk, opener->start, ERR_INPUT, "{{%s}} without its {{%s}}",
                             kind_names[opener->kind], kind_names[wanted]);
    if (tag->kind >= TAG_ELSE && !*over)
        return template_fail(walk, tag->start, ERR_INPUT, "there is no open block that {{%s}} %s",
                             kind_names[tag->kind],
                             tag->kind == TAG_ELSE ? "could belong to" : "could end");
    if (!*over || tag->kind == TAG_NONE)
        return 0;
    struct template_cursor cursor = cursor_of(walk, tag);
    return expect_end(&cursor);
}

/* Continues to the tag that ends the block of `opener` (NULL: to the end of the text): *last. */
static int walk_until(struct template_walk *walk, bool active, const struct tag *opener,
                      bool may_else, struct tag *last)
{
    for (;;) {
        const char *start = walk->text + walk->at;
        bool over = false;
        int result = tag_find(walk, last);
        if (result == 0 && active)
            result = emit_text(walk, start, last->from);
        if (result == 0)
            result = ends_block(walk, last, opener, may_else, &over);
        if (result < 0)
            return result;
        walk->at = (size_t)(last->next - walk->text);
        if (over)
            return 0;
        if (last->kind == TAG_IF || last->kind == TAG_EACH)
            result = walk_block(walk, last, active);
        else if (last->kind == TAG_INCLUDE)
            result = include_template(walk, last, active);
        else if (last->kind == TAG_VALUE)
            result = put_value(walk, last, active);
        if (result < 0)
            return result;
    }
}

static int walk_all(struct template_walk *walk, bool active)
{
    struct tag last;
    return walk_until(walk, active, NULL, false, &last);
}

int template_render(const char *name, const char *text, const json_t *values,
                    const struct template_source *source, struct buf *out, struct err *err)
{
    size_t work = 0;
    struct template_walk walk = {.name = name,
                                 .text = text,
                                 .count = strlen(text),
                                 .values = values,
                                 .source = source,
                                 .out = out,
                                 .work = &work,
                                 .err = err};
    return walk_all(&walk, true);
}

int template_check(const char *name, const char *text, struct err *err)
{
    size_t work = 0;
    struct template_walk walk = {
        .name = name, .text = text, .count = strlen(text), .work = &work, .err = err};
    return walk_all(&walk, false);
}
