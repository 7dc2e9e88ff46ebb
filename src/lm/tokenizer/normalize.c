#include "lm/tokenizer/normalize.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

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
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
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
    for (size_t i = 0; i < sizeof inert / sizeof *inert; i++)
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

static bool apply(int options, const char *text, size_t count, struct buf *out)
{
    size_t at = 0, start, end;
    while (next_part(options, text, count, at, &start, &end)) {
        utf8proc_uint8_t *changed = NULL;
        utf8proc_ssize_t length = utf8proc_map((const utf8proc_uint8_t *)text + start,
                                               (utf8proc_ssize_t)(end - start), &changed,
                                               (utf8proc_option_t)options);
        if (length < 0)
            return false;
        buf_append(out, text + at, start - at);
        buf_append(out, changed, (size_t)length);
        free(changed);
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
