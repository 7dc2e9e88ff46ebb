/* Any bytes are a corpus, and each merge makes one new token of two that are there. */
#include "lm/tokenizer/learn_internal.h"

#include <stdlib.h>
#include <string.h>

#define MERGES 24

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static void check_merges(const struct learned *learned)
{
    const struct learn_string *tokens = learned->tokens.items;
    check(learned->tokens.count == LEARN_BYTES + learned->merge_count);
    check(learned->merge_count <= MERGES);
    for (size_t i = 0; i < learned->merge_count; i++) {
        const struct learn_merge *merge = &learned->merges[i];
        const struct learn_string *made = &tokens[LEARN_BYTES + i];
        check(merge->left < LEARN_BYTES + i && merge->right < LEARN_BYTES + i);
        const struct learn_string *left = &tokens[merge->left], *right = &tokens[merge->right];
        check(made->count == left->count + right->count);
        check(memcmp(made->bytes, left->bytes, left->count) == 0);
        check(memcmp(made->bytes + left->count, right->bytes, right->count) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct learn_words words;
    struct learned learned = {0};
    struct err err;
    char *text = mem_copy(data, size);
    check(learn_words_init(&words, &err) == 0);
    check(learn_words_add(&words, text, size, &err) == 0);
    learn_merges(&learned, &words, LEARN_BYTES + MERGES, 2);
    check_merges(&learned);
    learned_deinit(&learned);
    learn_words_deinit(&words);
    mem_free(text);
    return 0;
}
