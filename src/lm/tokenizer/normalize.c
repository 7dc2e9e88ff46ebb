#include "lm/tokenizer/normalize.h"

#include "base/array.h"
#include "base/mem.h"

#include <string.h>
#include <utf8proc.h>

#define CLASSES 256       /* of marks; 0: a character that is none */
#define DECOMPOSED_MAX 32 /* characters that one becomes; 18 are the most that there are */

static const struct form {
    const char *name;
    int options;
} forms[] = {
    {"NFC", UTF8PROC_STABLE | UTF8PROC_COMPOSE},
    {"NFD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
    {"NFKC", UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
    {"NFKD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT},
};

/* Blocks of starters whose NFC quick check is Yes (Unicode annex 15): most of what is written. */
static const struct {
    int32_t first, last;
} inert[] = {{0, 0x2FF},       {0x388, 0x482},     {0x48A, 0x590},    {0x2010, 0x20CF},
             {0x2190, 0x2328}, {0x232B, 0x2ADB},   {0x2E80, 0x2FFF},  {0x3000, 0x3029},
             {0x3030, 0x3098}, {0x309B, 0xA66E},   {0xAC00, 0xD7A3},  {0xFE00, 0xFE0F},
             {0xFF00, 0xFFEF}, {0x1F000, 0x1FBFF}, {0x20000, 0x2A6DF}};

static const struct form *form_of(const char *name)
{
    for (size_t i = 0; i < COUNT(forms); i++)
        if (strcmp(forms[i].name, name) == 0)
            return &forms[i];
    return NULL;
}

bool normalizer_add(struct normalizer *normalizer, const char *form)
{
    const struct form *found = form_of(form);
    if (!found || normalizer->count == NORMALIZE_FORMS)
        return false;
    normalizer->options[normalizer->count++] = found->options;
    return true;
}

static bool is_inert(int options, int32_t character)
{
    if (character < 0x80)
        return true;
    if (options != forms[0].options)
        return false;
    for (size_t i = 0; i < COUNT(inert); i++)
        if (character >= inert[i].first && character <= inert[i].last)
            return true;
    return false;
}

bool normalizer_inert(const char *form, int32_t character)
{
    const struct form *found = form_of(form);
    return found && is_inert(found->options, character);
}

/* The next characters that may change, from the inert one before them up to the inert one behind.
 * false: there are none. */
static bool next_part(int options, const char *text, size_t count, size_t from, size_t *start,
                      size_t *end)
{
    size_t before = from, at = from;
    bool found = false;
    while (at < count) {
        if ((signed char)text[at] >= 0) {
            if (found)
                break;
            before = at++;
            continue;
        }
        int32_t character = -1;
        utf8proc_ssize_t length = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                                   (utf8proc_ssize_t)(count - at), &character);
        if (is_inert(options, character)) {
            if (found)
                break;
            before = at;
        } else {
            found = true;
        }
        at += length > 0 ? (size_t)length : 1;
    }
    *start = before;
    *end = at;
    return found;
}

/* Characters on their way from one form to another. */
struct characters {
    int32_t *all;
    size_t count, capacity;
};

static int class_of(int32_t character)
{
    return utf8proc_get_property(character)->combining_class;
}

/* By class, and else as they are: a sort by counting. */
static void order_run(int32_t *run, size_t count)
{
    size_t places[CLASSES + 1] = {0}, done = 1;
    while (done < count && class_of(run[done - 1]) <= class_of(run[done]))
        done++;
    if (done >= count)
        return;
    int32_t *ordered = mem_alloc(count * sizeof *ordered);
    for (size_t i = 0; i < count; i++)
        places[class_of(run[i]) + 1]++;
    for (size_t i = 0; i < CLASSES; i++)
        places[i + 1] += places[i];
    for (size_t i = 0; i < count; i++)
        ordered[places[class_of(run[i])]++] = run[i];
    memcpy(run, ordered, count * sizeof *run);
    mem_free(ordered);
}

/* Marks on one character come in the order of their classes (Unicode, definition D109). What
 * libutf8proc would do by swapping neighbours takes the square of their number: minutes for a
 * hundred kilobytes of accents. */
static void order_marks(struct characters *characters)
{
    size_t first = 0;
    for (size_t i = 0; i <= characters->count; i++)
        if (i == characters->count || class_of(characters->all[i]) == 0) {
            order_run(characters->all + first, i - first);
            first = i + 1;
        }
}

static bool decompose(int options, const char *text, size_t count, struct characters *out)
{
    int bound = 0;
    for (size_t at = 0; at < count;) {
        int32_t character = -1;
        utf8proc_ssize_t length = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                                   (utf8proc_ssize_t)(count - at), &character);
        if (length <= 0)
            return false;
        if (out->capacity - out->count < DECOMPOSED_MAX + 1) { /* and a NUL in the end */
            out->capacity = 2 * out->capacity + count + DECOMPOSED_MAX + 1;
            out->all = mem_resize(out->all, out->capacity * sizeof *out->all);
        }
        utf8proc_ssize_t made = utf8proc_decompose_char(character, out->all + out->count,
                                                        DECOMPOSED_MAX, (utf8proc_option_t)options,
                                                        &bound);
        if (made < 0 || made > DECOMPOSED_MAX)
            return false;
        out->count += (size_t)made;
        at += (size_t)length;
    }
    return true;
}

static bool change(int options, const char *text, size_t count, struct buf *out)
{
    struct characters characters = {0};
    bool changed = decompose(options, text, count, &characters);
    if (changed) {
        order_marks(&characters);
        utf8proc_ssize_t length = utf8proc_reencode(characters.all,
                                                    (utf8proc_ssize_t)characters.count,
                                                    (utf8proc_option_t)options);
        changed = length >= 0;
        buf_append(out, characters.all, changed ? (size_t)length : 0);
    }
    mem_free(characters.all);
    return changed;
}

static bool apply(int options, const char *text, size_t count, struct buf *out)
{
    size_t at = 0, start, end;
    while (next_part(options, text, count, at, &start, &end)) {
        buf_append(out, text + at, start - at);
        if (!change(options, text + start, end - start, out))
            return false;
        at = end;
    }
    buf_append(out, text + at, count - at);
    return !out->cut;
}

const char *normalizer_apply(const struct normalizer *normalizer, const char *text, size_t *count,
                             struct buf buffers[2])
{
    for (size_t i = 0; i < normalizer->count; i++) {
        size_t start, end;
        struct buf *out = text == buffers[0].data ? &buffers[1] : &buffers[0];
        if (!next_part(normalizer->options[i], text, *count, 0, &start, &end))
            continue;
        buf_reset(out);
        if (!apply(normalizer->options[i], text, *count, out))
            return NULL;
        text = out->data;
        *count = out->len;
    }
    return text;
}
