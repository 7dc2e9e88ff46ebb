/* The words of a text, as the pre-tokenizer's pattern cuts them. Bytes that are not UTF-8 end a
 * word and are none. */
#include "base/utf8.h"
#include "lm/tokenizer/learn_internal.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#define FIRST_SLOTS 1024

/* FNV-1a. */
static uint64_t hash_of(const char *bytes, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3;
    return hash ^ hash >> 32;
}

/* Where the string is, or belongs. */
static size_t slot_of(const struct learn_strings *strings, const char *bytes, size_t count)
{
    size_t mask = strings->slot_count - 1;
    for (size_t slot = (size_t)hash_of(bytes, count) & mask;; slot = (slot + 1) & mask) {
        if (strings->slots[slot] == 0)
            return slot;
        const struct learn_string *item = &strings->items[strings->slots[slot] - 1];
        if (item->count == count && memcmp(item->bytes, bytes, count) == 0)
            return slot;
    }
}

static void grow(struct learn_strings *strings)
{
    strings->slot_count = strings->slot_count ? 2 * strings->slot_count : FIRST_SLOTS;
    mem_free(strings->slots);
    strings->slots = mem_alloc(strings->slot_count * sizeof *strings->slots);
    strings->items = mem_resize(strings->items, strings->slot_count / 2 * sizeof *strings->items);
    for (size_t i = 0; i < strings->count; i++) {
        size_t slot = slot_of(strings, strings->items[i].bytes, strings->items[i].count);
        strings->slots[slot] = (uint32_t)i + 1;
    }
}

size_t learn_strings_add(struct learn_strings *strings, const char *bytes, size_t count)
{
    if (2 * (strings->count + 1) > strings->slot_count)
        grow(strings);
    size_t slot = slot_of(strings, bytes, count);
    if (strings->slots[slot] == 0) {
        strings->items[strings->count++] = (struct learn_string){arena_strndup(&strings->arena,
                                                                               bytes, count),
                                                                 count};
        strings->slots[slot] = (uint32_t)strings->count;
    }
    return strings->slots[slot] - 1;
}

void learn_strings_deinit(struct learn_strings *strings)
{
    mem_free(strings->items);
    mem_free(strings->slots);
    arena_deinit(&strings->arena);
    *strings = (struct learn_strings){0};
}

static void add_word(struct learn_words *words, const char *bytes, size_t count)
{
    size_t before = words->strings.count, capacity = words->strings.slot_count;
    size_t index = learn_strings_add(&words->strings, bytes, count);
    if (words->strings.slot_count != capacity)
        words->times = mem_resize(words->times,
                                  words->strings.slot_count / 2 * sizeof *words->times);
    words->times[index] = index < before ? words->times[index] + 1 : 1;
}

struct splitter {
    pcre2_code *code;
    pcre2_match_data *match;
};

/* Of bytes that are UTF-8. */
static int split(struct learn_words *words, const struct splitter *splitter, const char *text,
                 size_t count, struct err *err)
{
    const size_t *place = pcre2_get_ovector_pointer(splitter->match);
    for (size_t at = 0; at < count; at = place[1]) {
        int found = pcre2_match(splitter->code, (PCRE2_SPTR)text, count, at, PCRE2_NO_UTF_CHECK,
                                splitter->match, NULL);
        if (found == PCRE2_ERROR_NOMATCH)
            return 0;
        if (found < 0 || place[1] <= at)
            return err_set(err, ERR_INTERNAL, "the pattern of words fails at byte %zu (%d)", at,
                           found);
        add_word(words, text + place[0], place[1] - place[0]);
    }
    return 0;
}

static int split_valid(struct learn_words *words, const struct splitter *splitter, const char *text,
                       size_t count, struct err *err)
{
    int result = 0;
    size_t begin = 0;
    for (size_t at = 0; at <= count && result == 0;) {
        size_t length = at < count ? utf8_sequence(text + at, count - at) : 0;
        if (length == 0) {
            result = split(words, splitter, text + begin, at - begin, err);
            begin = at + 1;
            length = 1;
        }
        at += length;
    }
    return result;
}

int learn_words_add(struct learn_words *words, const char *text, size_t count, struct err *err)
{
    struct splitter splitter;
    int code, result;
    size_t place;
    splitter.code = pcre2_compile((PCRE2_SPTR)LEARN_PATTERN, PCRE2_ZERO_TERMINATED,
                                  PCRE2_UTF | PCRE2_UCP, &code, &place, NULL);
    if (!splitter.code)
        return err_set(err, ERR_INTERNAL, "the pattern of words is refused (%d, at %zu)", code,
                       place);
    /* Without it matching is slower, and the same. */
    (void)pcre2_jit_compile(splitter.code, PCRE2_JIT_COMPLETE);
    splitter.match = pcre2_match_data_create_from_pattern(splitter.code, NULL);
    result = splitter.match ? split_valid(words, &splitter, text, count, err)
                            : err_set(err, ERR_LIMIT, "no memory for the pattern of words");
    pcre2_match_data_free(splitter.match);
    pcre2_code_free(splitter.code);
    return result;
}

void learn_words_deinit(struct learn_words *words)
{
    learn_strings_deinit(&words->strings);
    mem_free(words->times);
    *words = (struct learn_words){0};
}
