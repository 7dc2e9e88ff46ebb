/* CommonMark's fences, and the variants that models write: indented in lists, nested with the same
 * length, after a sentence, closed after the last line of code. */
#include "gym/answer/internal.h"

#include <ctype.h>
#include <string.h>

#define FENCE_DEPTH 8        /* open at once; deeper ones are text */
#define FENCE_MARKS 3        /* that make a fence, at least */
#define FENCE_INDENT 3       /* that a closing one may differ by */
#define FENCE_TAB 4          /* columns */
#define FENCE_LABEL_BYTES 24 /* of a word that can be a label */

struct fence {
    char mark;
    size_t length, indent;
    enum dialect_rank rank;
    const char *body;
};

struct fences {
    const struct answer_language *language;
    struct fence open[FENCE_DEPTH];
    size_t depth;
    struct fenced best;
    int best_score; /* -1: there is none */
};

static size_t fence_run(struct span text, char mark)
{
    size_t count = 0;
    while (count < text.count && text.at[count] == mark)
        count++;
    return count;
}

/* Whether `line` is a fence; *info is the text after its marks, trimmed. */
static bool read_fence(struct span line, struct fence *fence, struct span *info)
{
    size_t at = 0;
    *fence = (struct fence){0};
    for (; at < line.count && (line.at[at] == ' ' || line.at[at] == '\t'); at++)
        fence->indent += line.at[at] == '\t' ? FENCE_TAB : 1;
    if (at == line.count || (line.at[at] != '`' && line.at[at] != '~'))
        return false;
    fence->mark = line.at[at];
    fence->length = fence_run((struct span){line.at + at, line.count - at}, fence->mark);
    at += fence->length;
    *info = span_trim((struct span){line.at + at, line.count - at});
    if (fence->mark == '`' && memchr(info->at, '`', info->count))
        return false; /* inline code */
    return fence->length >= FENCE_MARKS;
}

static bool is_label_byte(char byte)
{
    return isalnum((unsigned char)byte) || (byte && strchr("+#_.-", byte));
}

/* The first word after a fence: `{.python}` and `python:name.py` are labels, too. */
static struct span label_of(struct span info)
{
    while (info.count > 0 && (*info.at == '{' || *info.at == '.')) {
        info.at++;
        info.count--;
    }
    size_t count = 0;
    while (count < info.count && is_label_byte(info.at[count]))
        count++;
    return (struct span){info.at, count};
}

static bool is_label(struct span info)
{
    return info.count <= FENCE_LABEL_BYTES && label_of(info).count == info.count;
}

static size_t indent_distance(size_t one, size_t other)
{
    return one > other ? one - other : other - one;
}

/* The open fence that this one closes: the innermost of the same length and indentation, else the
 * innermost that it may close; `depth` if there is none. */
static size_t closed_by(const struct fences *fences, const struct fence *fence)
{
    size_t loose = fences->depth;
    for (size_t i = fences->depth; i-- > 0;) {
        const struct fence *open = &fences->open[i];
        if (open->mark != fence->mark || open->length > fence->length)
            continue;
        if (open->length == fence->length &&
            indent_distance(open->indent, fence->indent) <= FENCE_INDENT)
            return i;
        if (loose == fences->depth && fence->indent <= open->indent + FENCE_INDENT)
            loose = i;
    }
    return loose;
}

static void consider_block(struct fences *fences, const struct fence *fence, const char *end,
                           bool complete)
{
    struct span body = {fence->body, (size_t)(end - fence->body)};
    if (span_trim(body).count == 0)
        return;
    bool entry = dialect_has_entry(fences->language, body);
    int score = (entry ? 8 : 0) + (int)fence->rank * 2 + (complete ? 1 : 0);
    if (score < fences->best_score)
        return;
    fences->best_score = score;
    fences->best = (struct fenced){body, complete};
}

static void push_fence(struct fences *fences, struct fence *fence, struct span label,
                       const char *body)
{
    if (fences->depth == FENCE_DEPTH)
        return;
    fence->rank = dialect_rank(fences->language, label);
    fence->body = body;
    fences->open[fences->depth++] = *fence;
}

/* `Here it is: ```c`: a label of the language at the end of a line without another mark. */
static void take_text_block(struct fences *fences, struct span line, const char *next)
{
    struct span text = span_trim(line);
    const char *mark = fences->depth == 0 ? memchr(text.at, '`', text.count) : NULL;
    if (!mark)
        return;
    struct span rest = {mark, text.count - (size_t)(mark - text.at)};
    struct fence fence = {.mark = '`', .length = fence_run(rest, '`')};
    struct span label = {mark + fence.length, rest.count - fence.length};
    if (fence.length >= FENCE_MARKS && is_label(label) &&
        dialect_rank(fences->language, label) == RANK_OWN)
        push_fence(fences, &fence, label, next);
}

static void take_fence_line(struct fences *fences, struct span line, const char *next)
{
    struct fence fence;
    struct span info;
    if (!read_fence(line, &fence, &info)) {
        take_text_block(fences, line, next);
        return;
    }
    bool bare = info.count == 0 || *info.at == '<'; /* a tag, or a model's end marker */
    size_t closes = bare ? closed_by(fences, &fence) : fences->depth;
    if (closes < fences->depth) {
        consider_block(fences, &fences->open[closes], line.at, true);
        fences->depth = closes;
    } else if (fences->depth == 0 || info.count == 0 || is_label(info)) {
        push_fence(fences, &fence, bare ? (struct span){info.at, 0} : label_of(info), next);
    }
}

/* How many marks end `text` after its last line of code; a line of marks alone is handled
 * elsewhere. */
static size_t closing_marks(struct span text, char mark)
{
    size_t at = text.count;
    while (at > 0 && text.at[at - 1] == mark)
        at--;
    size_t count = text.count - at;
    while (at > 0 && (text.at[at - 1] == ' ' || text.at[at - 1] == '\t'))
        at--;
    return at > 0 && text.at[at - 1] != '\n' ? count : 0;
}

/* The fences that are open at the end, innermost last, so that it wins ties. */
static void take_open_fences(struct fences *fences, const char *end)
{
    for (size_t i = 0; i < fences->depth; i++) {
        const struct fence *fence = &fences->open[i];
        const char *to = end;
        while (to > fence->body && span_is_space(to[-1]))
            to--;
        size_t marks = closing_marks((struct span){fence->body, (size_t)(to - fence->body)},
                                     fence->mark);
        bool closed = marks >= fence->length;
        consider_block(fences, fence, closed ? to - marks : to, closed);
    }
}

bool fence_choose(struct span text, const struct answer_language *language, struct fenced *out)
{
    struct fences fences = {.language = language, .best_score = -1};
    const char *end = text.at + text.count;
    struct span line;
    while (span_line(&text, &line))
        take_fence_line(&fences, line, text.count > 0 ? text.at : end);
    take_open_fences(&fences, end);
    *out = fences.best;
    return fences.best_score >= 0;
}
