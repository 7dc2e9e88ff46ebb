#include "gym/feedback/internal.h"

#include "base/array.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DOTS "..."
#define LEFT_OUT_BYTES 48 /* of the line with the number of omitted ones */
#define QUOTES 8          /* of source lines in an excerpt */
#define CHARACTER_BYTES 4 /* of one, at most */
#define NUMBER_DIGITS 8   /* of a line's number */

struct text {
    const char *at;
    size_t count;
};

/* Tags that mean something to a parser of answers or to a model's template, with or without a
 * slash. */
static const char *const words[] = {
    "think",     "thinking",      "thought",       "kernel",      "s",    "bos",       "eos",
    "pad",       "unk",           "sys",           "system",      "user", "assistant", "human",
    "tool_call", "tool_response", "start_of_turn", "end_of_turn",
};

/* Invisible and reordering characters: U+200B to U+200F, U+202A to U+202E, U+2060 to U+206F,
 * U+FEFF, and the tags from U+E0000 that spell ASCII invisibly. */
static bool is_hidden(const char *at, size_t length)
{
    const unsigned char *byte = (const unsigned char *)at;
    if (length == 3 && byte[0] == 0xE2 && byte[1] == 0x80)
        return (byte[2] >= 0x8B && byte[2] <= 0x8F) || (byte[2] >= 0xA8 && byte[2] <= 0xAE);
    if (length == 3 && byte[0] == 0xE2 && byte[1] == 0x81)
        return byte[2] >= 0xA0 && byte[2] <= 0xAF;
    if (length == 3)
        return byte[0] == 0xEF && byte[1] == 0xBB && byte[2] == 0xBF;
    return length == 4 && byte[0] == 0xF3 && byte[1] == 0xA0;
}

/* The bytes of the first character; 0: it is not to be shown. */
static size_t shown(struct text text)
{
    unsigned char first = (unsigned char)*text.at;
    if (first < 0x80)
        return first >= ' ' && first != 0x7F;
    size_t length = utf8_sequence(text.at, text.count);
    bool control = length == 2 && first == 0xC2 && (unsigned char)text.at[1] < 0xA0;
    return control || is_hidden(text.at, length) ? 0 : length;
}

static bool begins_with(struct text text, const char *prefix)
{
    size_t length = strlen(prefix);
    return text.count >= length && strncasecmp(text.at, prefix, length) == 0;
}

#define WIDE_BAR "\xEF\xBD\x9C" /* U+FF5C, as some templates have it */

/* Whether the mark at the front begins a word that must be broken up. */
static bool is_marker(struct text text)
{
    char mark = *text.at;
    struct text rest = {text.at + 1, text.count - 1};
    if (mark == '|')
        return begins_with(rest, ">");
    if (mark == '[')
        return begins_with(rest, "INST]") || begins_with(rest, "/INST]");
    if (mark != '<')
        return false;
    if (begins_with(rest, "|") || begins_with(rest, WIDE_BAR))
        return true;
    if (begins_with(rest, "/"))
        rest = (struct text){rest.at + 1, rest.count - 1};
    for (size_t i = 0; i < COUNT(words); i++)
        if (begins_with(rest, words[i]) && rest.count > strlen(words[i]) &&
            rest.at[strlen(words[i])] == '>')
            return true;
    return false;
}

static bool in_path(char byte)
{
    return isalnum((unsigned char)byte) || (unsigned char)byte >= 0x80 ||
           (byte && strchr("_-.~+/", byte));
}

/* `text` begins with a slash that does not continue a path: the length of the directories of an
 * absolute path; 0: not a path. A path has at least two parts: `a /b` divides. Two slashes begin a
 * comment, or a host. */
static size_t path_head(struct text text)
{
    size_t end = 0;
    size_t slashes = 0;
    while (end < text.count && in_path(text.at[end]))
        end++;
    while (slashes < end && text.at[slashes] == '/')
        slashes++;
    while (end > slashes && text.at[end - 1] == '/')
        end--;
    size_t last = end;
    while (last > slashes && text.at[last - 1] != '/')
        last--;
    return slashes != 2 && last > slashes ? last : 0;
}

static void put_character(struct buf *out, struct text *text)
{
    char first = *text->at;
    size_t length = shown(*text);
    if (isspace((unsigned char)first))
        buf_puts(out, " ");
    else if (length == 0)
        buf_puts(out, "?");
    else
        buf_append(out, text->at, length);
    if (is_marker(*text))
        buf_puts(out, " ");
    size_t taken = utf8_sequence(text->at, text->count);
    taken = taken > 0 ? taken : 1;
    *text = (struct text){text->at + taken, text->count - taken};
}

/* Cuts the text from `start` to `max_bytes`, at a character. */
static void cut_text(struct buf *out, size_t start, size_t max_bytes)
{
    size_t length = max_bytes > strlen(DOTS) ? max_bytes - strlen(DOTS) : 0;
    if (out->len - start <= max_bytes)
        return;
    out->len = start + utf8_cut(out->data + start, out->len - start, length);
    out->data[out->len] = '\0';
    buf_puts(out, DOTS);
}

/* Appends `text` with its absolute paths cut, until `out` is full. */
static void put_cut_paths(struct buf *out, struct text text)
{
    bool inside = false; /* inside a word */
    while (text.count > 0 && !out->cut) {
        size_t head = *text.at == '/' && !inside ? path_head(text) : 0;
        text = (struct text){text.at + head, text.count - head};
        inside = in_path(*text.at);
        buf_append(out, text.at, 1);
        text = (struct text){text.at + 1, text.count - 1};
    }
}

/* Paths first: the rest of one may form a marker with the text before it. */
void feedback_line(struct buf *out, const char *text, size_t count, size_t max_bytes,
                   enum feedback_paths paths)
{
    size_t start = out->len;
    struct buf kept;
    buf_init(&kept, CHARACTER_BYTES * (max_bytes + 2));
    if (paths == PATHS_CUT)
        put_cut_paths(&kept, (struct text){text, count});
    else
        buf_append(&kept, text, count);
    struct text rest = {kept.data, kept.len};
    while (rest.count > 0 && out->len - start <= max_bytes && !out->cut)
        put_character(out, &rest);
    cut_text(out, start, max_bytes);
    buf_deinit(&kept);
}

static bool next_line(struct text *text, struct text *line)
{
    if (text->count == 0)
        return false;
    const char *end = memchr(text->at, '\n', text->count);
    line->at = text->at;
    line->count = end ? (size_t)(end - text->at) : text->count;
    size_t taken = line->count + (end ? 1 : 0);
    *text = (struct text){text->at + taken, text->count - taken};
    return true;
}

/* Appends a line if there is room for it and for a line about omitted ones. */
static bool put_source_line(struct buf *out, struct text line, const char *before,
                            enum feedback_paths paths)
{
    size_t start = out->len;
    buf_puts(out, before);
    feedback_line(out, line.at, line.count, FEEDBACK_LINE_BYTES, paths);
    while (out->len > start && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    buf_puts(out, "\n");
    if (out->len + LEFT_OUT_BYTES <= out->max_bytes)
        return true;
    out->len = start;
    out->data[start] = '\0';
    out->cut = false;
    return false;
}

static size_t count_lines(struct text text)
{
    struct text line;
    size_t count = 0;
    while (next_line(&text, &line))
        count++;
    return count;
}

/* Without the last line feed. */
static char *finish_excerpt(struct buf *out)
{
    while (out->len > 0 && out->data[out->len - 1] == '\n')
        out->data[--out->len] = '\0';
    return buf_take(out);
}

char *feedback_lines(const char *text, size_t max_bytes)
{
    struct text rest = {text, strlen(text)};
    struct text line;
    struct buf out;
    buf_init(&out, max_bytes);
    while (next_line(&rest, &line))
        if (!put_source_line(&out, line, "", PATHS_CUT)) {
            buf_printf(&out, "... (%zu more lines)\n", 1 + count_lines(rest));
            break;
        }
    return finish_excerpt(&out);
}

/* The number at the front, 0 if there is none. */
static size_t number_at(struct text text)
{
    size_t value = 0;
    size_t i = 0;
    for (; i < text.count && i < NUMBER_DIGITS && isdigit((unsigned char)text.at[i]); i++)
        value = value * 10 + (size_t)(text.at[i] - '0');
    return i < NUMBER_DIGITS ? value : 0;
}

/* The number after a file's name: `:12`, `(12)`, `", line 12`; 0: none. */
static size_t line_number_after(struct text rest)
{
    static const char *const links[] = {":", "(", "\", line "};
    for (size_t i = 0; i < COUNT(links); i++) {
        size_t length = strlen(links[i]);
        if (begins_with(rest, links[i]))
            return number_at((struct text){rest.at + length, rest.count - length});
    }
    return 0;
}

/* The line of file `name` that a text is about; a name that ends in a dot has any extension. */
static size_t line_number_in(struct text line, const char *name)
{
    const char *end = line.at + line.count;
    const char *at = line.at;
    size_t length = strlen(name);
    for (; at < end && (at = memchr(at, *name, (size_t)(end - at))); at++) {
        bool whole = at == line.at || !in_path(at[-1]) || at[-1] == '/';
        if (!whole || (size_t)(end - at) < length || memcmp(at, name, length) != 0)
            continue;
        const char *behind = at + length;
        while (name[length - 1] == '.' && behind < end && isalnum((unsigned char)*behind))
            behind++;
        size_t number = line_number_after((struct text){behind, (size_t)(end - behind)});
        if (number > 0)
            return number;
    }
    return 0;
}

/* Tools use the candidate's own file name, or a plain one. */
static size_t line_number_of(struct text line, const char *name)
{
    size_t number = name && *name ? line_number_in(line, name) : 0;
    return number > 0 ? number : line_number_in(line, "candidate.");
}

static bool line_of(const char *source, size_t number, struct text *line)
{
    struct text rest = {source, strlen(source)};
    *line = (struct text){source, 0};
    for (size_t i = 0; i < number; i++)
        if (!next_line(&rest, line))
            return false;
    while (line->count > 0 && isspace((unsigned char)line->at[line->count - 1]))
        line->count--;
    return line->count > 0;
}

/* Whether `text` has the line's text: compilers cut long lines, so its beginning suffices. */
static bool contains_line(struct text text, struct text line)
{
    while (line.count > 0 && isspace((unsigned char)*line.at))
        line = (struct text){line.at + 1, line.count - 1};
    size_t enough = line.count < FEEDBACK_LINE_BYTES / 4 ? line.count : FEEDBACK_LINE_BYTES / 4;
    return memmem(text.at, text.count, line.at, enough) != NULL;
}

char *feedback_excerpt(const char *text, const char *source, const char *name, size_t max_bytes)
{
    struct text rest = {text, strlen(text)};
    struct text line;
    struct buf out;
    size_t lines = source ? count_lines((struct text){source, strlen(source)}) : 0;
    size_t quotes = 0;
    buf_init(&out, max_bytes);
    while (next_line(&rest, &line)) {
        struct text quoted;
        struct text following = rest;
        struct text next = {0};
        char before[32];
        if (!put_source_line(&out, line, "", PATHS_CUT)) {
            buf_printf(&out, "... (%zu more lines)\n", 1 + count_lines(rest));
            break;
        }
        size_t number = quotes < QUOTES && lines > 0 ? line_number_of(line, name) : 0;
        struct text so_far = {out.data, out.len};
        if (number == 0 || number > lines || !line_of(source, number, &quoted) ||
            contains_line(so_far, quoted) ||
            (next_line(&following, &next) && contains_line(next, quoted)))
            continue;
        snprintf(before, sizeof before, "%5zu | ", number);
        quotes += put_source_line(&out, quoted, before, PATHS_KEEP);
    }
    return finish_excerpt(&out);
}
