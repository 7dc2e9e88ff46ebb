#include "gym/answer/parse.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gym/answer/internal.h"

#include <string.h>

enum tag_kind { TAG_NONE, TAG_OPENS, TAG_CLOSES };

struct tag {
    const char *text;
    enum tag_kind kind;
};

/* An opener and a closer may be different words. */
static const struct tag thinking_tags[] = {
    {"<think>", TAG_OPENS},   {"<thinking>", TAG_OPENS},   {"<thought>", TAG_OPENS},
    {"</think>", TAG_CLOSES}, {"</thinking>", TAG_CLOSES}, {"</thought>", TAG_CLOSES},
    {NULL, TAG_NONE},
};
static const struct tag kernel_tags[] = {{"<kernel>", TAG_OPENS},
                                         {"</kernel>", TAG_CLOSES},
                                         {NULL, TAG_NONE}};

/* Dr. Kernel's: code follows such a line, up to the last one. */
static const char *const marker_lines[] = {"# kernel implementation",
                                           "# your implementation:", "# generated kernel:"};
#define MARKER_END "# end"

static struct span text_between(const char *from, const char *to)
{
    return (struct span){from, (size_t)(to - from)};
}

/* The first tag of `tags` in `text`: its text, and its kind. */
static struct span next_tag(struct span text, const struct tag *tags, enum tag_kind *kind)
{
    const char *end = text.at + text.count;
    const char *at = text.at;
    *kind = TAG_NONE;
    while (at < end && (at = memchr(at, '<', (size_t)(end - at)))) {
        for (const struct tag *tag = tags; tag->text; tag++)
            if (span_begins_any_case(text_between(at, end), tag->text)) {
                *kind = tag->kind;
                return (struct span){at, strlen(tag->text)};
            }
        at++;
    }
    return (struct span){end, 0};
}

static void add_thought(struct buf *thought, const char *from, const char *to)
{
    struct span text = span_trim(text_between(from, to));
    if (text.count > 0 && thought->len > 0)
        buf_puts(thought, "\n");
    buf_append(thought, text.at, text.count);
}

/* The text after the last closer, up to an unterminated block. A closer without an opener ends a
 * block that the prompt began. */
static struct span extract_thinking(struct span text, bool thinking_open, struct buf *thought)
{
    const char *end = text.at + text.count;
    const char *outside = text.at;                       /* after the last closer */
    const char *inside = thinking_open ? text.at : NULL; /* after the opener; NULL: none */
    const char *opener = text.at;
    enum tag_kind kind;
    struct span tag = next_tag(text, thinking_tags, &kind);
    for (; kind != TAG_NONE;
         tag = next_tag(text_between(tag.at + tag.count, end), thinking_tags, &kind)) {
        if (kind == TAG_CLOSES) {
            add_thought(thought, inside ? inside : outside, tag.at);
            outside = tag.at + tag.count;
            inside = NULL;
        } else if (!inside) {
            opener = tag.at;
            inside = tag.at + tag.count;
        }
    }
    if (!inside)
        return text_between(outside, end);
    add_thought(thought, inside, end);
    return text_between(outside, opener);
}

/* Whether the tag is alone at one end of its line, unlike `launch<kernel>(x)`. */
static bool stands_alone(struct span text, struct span tag)
{
    const char *end = text.at + text.count;
    const char *from = tag.at;
    const char *to = tag.at + tag.count;
    while (from > text.at && (from[-1] == ' ' || from[-1] == '\t'))
        from--;
    while (to < end && (*to == ' ' || *to == '\t' || *to == '\r'))
        to++;
    return from == text.at || from[-1] == '\n' || to == end || *to == '\n';
}

/* The last complete block that is not empty, else an unterminated one. */
static bool find_kernel(struct span text, struct span *inside, bool *complete)
{
    const char *end = text.at + text.count;
    const char *opener = NULL; /* after the tag that the next closer belongs to */
    bool placed = false;       /* that tag stands alone */
    bool found = false;
    enum tag_kind kind;
    struct span tag = next_tag(text, kernel_tags, &kind);
    for (; kind != TAG_NONE;
         tag = next_tag(text_between(tag.at + tag.count, end), kernel_tags, &kind)) {
        bool here = kind == TAG_OPENS && stands_alone(text, tag);
        if (kind == TAG_OPENS && (here || !placed)) {
            opener = tag.at + tag.count;
            placed = here;
        } else if (kind == TAG_CLOSES && opener) {
            if (span_trim(text_between(opener, tag.at)).count > 0) {
                *inside = text_between(opener, tag.at);
                found = true;
            }
            opener = NULL;
            placed = false;
        }
    }
    *complete = found;
    if (!found && placed)
        *inside = text_between(opener, end);
    return found || placed;
}

static bool is_marker(struct span line)
{
    for (size_t i = 0; i < COUNT(marker_lines); i++)
        if (span_begins_any_case(line, marker_lines[i]))
            return true;
    return false;
}

/* After a marker line, or from the first line that looks like code, whichever comes first: inside
 * code a marker is a comment. */
static bool find_bare(struct span text, const struct answer_language *language, struct span *out)
{
    const char *from = NULL;
    bool marked = false;
    struct span line;
    if (!dialect_has_entry(language, text))
        return false;
    while (span_line(&text, &line)) {
        struct span trimmed = span_trim(line);
        if (!from && is_marker(trimmed)) {
            from = line.at + line.count;
            marked = true;
        } else if (!from && dialect_begins(language, line)) {
            from = line.at;
        } else if (marked && trimmed.count == strlen(MARKER_END) &&
                   span_begins_any_case(trimmed, MARKER_END)) {
            *out = text_between(from, line.at);
            return true;
        }
    }
    if (from)
        *out = text_between(from, text.at);
    return from != NULL;
}

static bool find_code(struct span text, const struct answer_language *language, struct parsed *out,
                      struct span *code)
{
    struct fenced fenced = {0};
    struct span inside = {0};
    bool complete = false;
    bool tagged = find_kernel(text, &inside, &complete);
    bool within = tagged && complete;
    if (fence_choose(within ? inside : text, language, &fenced)) {
        *code = fenced.body;
        out->found = within ? PARSE_TAG : PARSE_FENCE;
        out->truncated = !within && !fenced.complete;
    } else if (tagged) {
        *code = inside;
        out->found = PARSE_TAG;
        out->truncated = !complete;
    } else if (find_bare(text, language, code)) {
        out->found = PARSE_BARE;
    }
    return out->found != PARSE_NONE;
}

static size_t indentation(struct span line)
{
    size_t count = 0;
    while (count < line.count && (line.at[count] == ' ' || line.at[count] == '\t'))
        count++;
    return count;
}

static size_t same_bytes(struct span one, struct span other)
{
    size_t count = 0;
    while (count < one.count && count < other.count && one.at[count] == other.at[count])
        count++;
    return count;
}

/* The common indentation of all non-empty lines: that of a list around a fence. */
static size_t common_indentation(struct span code)
{
    struct span shared = {0};
    struct span line;
    bool first = true;
    while (span_line(&code, &line)) {
        if (span_trim(line).count == 0)
            continue;
        struct span here = {line.at, indentation(line)};
        shared.count = first ? here.count : same_bytes(shared, here);
        shared.at = first ? here.at : shared.at;
        first = false;
    }
    return shared.count;
}

/* The number of bytes of `text` that need no change. */
static size_t plain_run(struct span text)
{
    size_t count = 0;
    while (count < text.count && text.at[count] != '\0' && text.at[count] != '\r' &&
           (unsigned char)text.at[count] < 0x80)
        count++;
    return count;
}

static bool is_line_end(struct span text)
{
    return text.count > 1 && text.at[0] == '\r' && text.at[1] == '\n';
}

/* Well-formed UTF-8 without NULs, CR LF as LF. The caller's. */
static char *clean_text(struct span text, size_t *chars)
{
    struct buf out;
    buf_init(&out, 3 * text.count + 1);
    for (*chars = 0; text.count > 0;) {
        size_t run = plain_run(text);
        size_t length = run ? run : utf8_sequence(text.at, text.count);
        bool dropped = is_line_end(text);
        if (length == 0 || text.at[0] == '\0')
            buf_puts(&out, UTF8_REPLACEMENT);
        else if (!dropped)
            buf_append(&out, text.at, length);
        *chars += run ? run : !dropped;
        text.at += length ? length : 1;
        text.count -= length ? length : 1;
    }
    return buf_take(&out);
}

/* Without blank lines around it, and without its common indentation. NULL: empty. */
static char *clean_code(struct span code, size_t *chars)
{
    struct span lines = code;
    struct span line;
    struct buf out;
    size_t common = common_indentation(code);
    buf_init(&out, code.count + 1);
    while (span_line(&lines, &line)) {
        size_t drop = indentation(line);
        drop = drop < common ? drop : common;
        buf_append(&out, line.at + drop, line.count - drop);
        buf_puts(&out, "\n");
    }
    struct span trimmed = span_trim((struct span){out.data, out.len});
    char *text = trimmed.count > 0 ? clean_text(trimmed, chars) : NULL;
    buf_deinit(&out);
    return text;
}

size_t parse_answer_bytes(const char *text, size_t count)
{
    return utf8_cut(text, count, LIMIT_ANSWER_BYTES);
}

void parse_answer(const char *text, size_t count, const struct parse_options *options,
                  struct parsed *out)
{
    struct span answer = {text ? text : "", text ? parse_answer_bytes(text, count) : 0};
    struct span code = {0};
    struct answer_language language = {
        .name = options->language,
        .row = options->language ? language_named(options->language) : NULL,
    };
    struct buf thought;
    *out = (struct parsed){0};
    buf_init(&thought, 2 * LIMIT_ANSWER_BYTES);
    struct span rest = extract_thinking(answer, options->thinking_open, &thought);
    out->thought = clean_text((struct span){thought.data, thought.len}, &out->thought_chars);
    buf_deinit(&thought);
    if (find_code(rest, &language, out, &code))
        out->code = clean_code(code, &out->code_chars);
    if (!out->code) {
        out->found = PARSE_NONE;
        out->truncated = false;
        return;
    }
    struct span entry = {out->code, strlen(out->code)};
    out->format_ok = dialect_has_entry(&language, entry);
}

bool parse_is_source(const char *text, size_t count, const char *name)
{
    static const char *const begins[] = {"```", "~~~", "<"};
    struct answer_language language = {name, name ? language_named(name) : NULL};
    struct span rest = span_trim((struct span){text, count}), line = rest;
    struct parsed parsed;
    if (span_line(&rest, &line) && dialect_begins(&language, line))
        return true;
    for (size_t i = 0; i < COUNT(begins); i++)
        if (span_begins(line, begins[i]))
            return false;
    parse_answer(text, count, &(struct parse_options){.language = name}, &parsed);
    bool block = parsed.found == PARSE_TAG || parsed.found == PARSE_FENCE;
    bool source = !block || !parsed.format_ok;
    parse_deinit(&parsed);
    return source;
}

void parse_deinit(struct parsed *parsed)
{
    mem_free(parsed->thought);
    mem_free(parsed->code);
    *parsed = (struct parsed){0};
}
