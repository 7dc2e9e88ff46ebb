#include "lm/tokenizer/added.h"

#include "base/mem.h"

#include <utf8proc.h>

struct added_node {
    uint32_t child, sibling;
    uint32_t token; /* its place + 1; 0: none ends here */
    uint8_t byte;
};

void added_init(struct added *added)
{
    *added = (struct added){.node_count = 1, .node_capacity = 64};
    added->nodes = mem_alloc(added->node_capacity * sizeof *added->nodes);
}

void added_deinit(struct added *added)
{
    mem_free(added->tokens);
    mem_free(added->nodes);
    *added = (struct added){0};
}

static uint32_t sibling_of(const struct added *added, uint32_t node, uint8_t byte)
{
    while (node != 0 && added->nodes[node].byte != byte)
        node = added->nodes[node].sibling;
    return node;
}

static uint32_t new_node(struct added *added, uint32_t sibling, uint8_t byte)
{
    if (added->node_count == added->node_capacity) {
        added->node_capacity *= 2;
        added->nodes = mem_resize(added->nodes, added->node_capacity * sizeof *added->nodes);
    }
    added->nodes[added->node_count] = (struct added_node){.sibling = sibling, .byte = byte};
    return (uint32_t)added->node_count++;
}

void added_put(struct added *added, const struct added_token *token)
{
    if (token->count == 0)
        return;
    if (added->count == added->capacity) {
        added->capacity = added->capacity ? 2 * added->capacity : 16;
        added->tokens = mem_resize(added->tokens, added->capacity * sizeof *added->tokens);
    }
    added->tokens[added->count++] = *token;
    uint32_t node = 0;
    for (size_t i = 0; i < token->count; i++) {
        uint8_t byte = (uint8_t)token->text[i];
        uint32_t siblings = i == 0 ? added->first[byte] : added->nodes[node].child;
        uint32_t next = sibling_of(added, siblings, byte);
        if (next == 0) {
            next = new_node(added, i == 0 ? 0 : siblings, byte);
            if (i == 0)
                added->first[byte] = next;
            else
                added->nodes[node].child = next;
        }
        node = next;
    }
    added->nodes[node].token = (uint32_t)added->count;
}

static bool is_space(int32_t c)
{
    return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

/* \w of Unicode's annex 18. */
static bool is_word(int32_t c)
{
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
        return true;
    default:
        return c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9);
    }
}

/* The character at `at` and its end; the text is valid UTF-8. */
static int32_t character_at(const char *text, size_t count, size_t at, size_t *end)
{
    int32_t character = -1;
    utf8proc_ssize_t length = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                               (utf8proc_ssize_t)(count - at), &character);
    *end = at + (length > 0 ? (size_t)length : 1);
    return character;
}

static int32_t character_before(const char *text, size_t at, size_t *start)
{
    size_t end;
    do {
        at--;
    } while (at > 0 && ((uint8_t)text[at] & 0xC0) == 0x80);
    *start = at;
    return character_at(text, at + 4, at, &end);
}

static bool stands_alone(const char *text, size_t count, size_t start, size_t end)
{
    size_t other;
    return (start == 0 || !is_word(character_before(text, start, &other))) &&
           (end == count || !is_word(character_at(text, count, end, &other)));
}

static const struct added_token *longest_at(const struct added *added, const char *text,
                                            size_t count, size_t at)
{
    uint32_t longest = 0;
    uint32_t node = added->first[(uint8_t)text[at]];
    while (node != 0) {
        if (added->nodes[node].token)
            longest = added->nodes[node].token;
        if (++at == count)
            break;
        node = sibling_of(added, added->nodes[node].child, (uint8_t)text[at]);
    }
    return longest ? &added->tokens[longest - 1] : NULL;
}

bool added_find(const struct added *added, const char *text, size_t count, size_t from,
                bool special, struct added_match *match)
{
    if (added->count == 0)
        return false;
    for (size_t at = from; at < count; at++) {
        const struct added_token *token = NULL;
        if (added->first[(uint8_t)text[at]])
            token = longest_at(added, text, count, at);
        if (!token)
            continue;
        size_t start = at, end = at + token->count, other;
        /* What is passed over is passed over whole: no token is looked for inside of it. */
        at = end - 1;
        if (token->special && !special)
            continue;
        if (token->single_word && !stands_alone(text, count, start, end))
            continue;
        while (token->lstrip && start > from && is_space(character_before(text, start, &other)))
            start = other;
        while (token->rstrip && end < count && is_space(character_at(text, count, end, &other)))
            end = other;
        *match = (struct added_match){start, end, token->id};
        return true;
    }
    return false;
}
