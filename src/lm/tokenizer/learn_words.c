/* The words of a text, as the pre-tokenizer's pattern cuts them. Bytes that are not UTF-8 end a
 * word and are none. */
#include "base/utf8.h"
#include "lm/tokenizer/learn_internal.h"

#include <string.h>

size_t learn_strings_add(struct learn_strings *strings, const char *bytes, size_t count)
{
    int32_t known = names_find(&strings->index, bytes, count);
    if (known >= 0)
        return (size_t)known;
    if (strings->count == strings->capacity) {
        strings->capacity = strings->capacity ? 2 * strings->capacity : 1024;
        strings->items = mem_resize(strings->items, strings->capacity * sizeof *strings->items);
    }
    const char *copy = arena_strndup(&strings->arena, bytes, count);
    names_put(&strings->index, copy, count, (int32_t)strings->count);
    strings->items[strings->count] = (struct learn_string){copy, count};
    return strings->count++;
}

void learn_strings_deinit(struct learn_strings *strings)
{
    mem_free(strings->items);
    names_deinit(&strings->index);
    arena_deinit(&strings->arena);
    *strings = (struct learn_strings){0};
}

int learn_words_init(struct learn_words *words, struct err *err)
{
    *words = (struct learn_words){.search = pattern_search_new()};
    return pattern_compile(&words->pattern, LEARN_PATTERN, strlen(LEARN_PATTERN), false, err);
}

static void add_word(struct learn_words *words, const char *bytes, size_t count)
{
    size_t before = words->strings.count, capacity = words->strings.capacity;
    size_t index = learn_strings_add(&words->strings, bytes, count);
    if (words->strings.capacity != capacity)
        words->times = mem_resize(words->times, words->strings.capacity * sizeof *words->times);
    words->times[index] = index < before ? words->times[index] + 1 : 1;
}

/* Of bytes that are UTF-8. */
static int split(struct learn_words *words, const char *text, size_t count, struct err *err)
{
    size_t at = 0, start;
    int found;
    while ((found = pattern_find(words->pattern, words->search, text, count, at, &start, &at,
                                 err)) > 0)
        add_word(words, text + start, at - start);
    return found;
}

int learn_words_add(struct learn_words *words, const char *text, size_t count, struct err *err)
{
    int result = 0;
    size_t begin = 0;
    for (size_t at = 0; at <= count && result == 0;) {
        size_t length = at < count ? utf8_sequence(text + at, count - at) : 0;
        if (length == 0) {
            result = split(words, text + begin, at - begin, err);
            begin = at + 1;
            length = 1;
        }
        at += length;
    }
    return result;
}

void learn_words_deinit(struct learn_words *words)
{
    learn_strings_deinit(&words->strings);
    mem_free(words->times);
    pattern_free(words->pattern);
    pattern_search_free(words->search);
    *words = (struct learn_words){0};
}
