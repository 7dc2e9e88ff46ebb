#include "base/file.h"
#include "base/limits.h"
#include "lm/tokenizer/byte_unicode.h"
#include "lm/tokenizer/learn_internal.h"

#include <string.h>

static const char *const standard_special[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>", NULL};

unsigned char learn_byte(unsigned id)
{
    uint32_t letter = 0;
    while (byte_unicode_byte(letter) < 0 || id-- > 0)
        letter++;
    return (unsigned char)byte_unicode_byte(letter);
}

static int check(const struct learn_options *options, const char *const *special, struct err *err)
{
    size_t count = 0;
    for (; special[count]; count++)
        for (size_t i = 0; i < count; i++)
            if (strcmp(special[i], special[count]) == 0 || !special[count][0])
                return err_set(err, ERR_INPUT, "special token '%.60s' is there twice, or empty",
                               special[count]);
    if (options->vocab < LEARN_BYTES + count || options->vocab > LIMIT_LM_LEARNED_VOCAB)
        return err_set(err, ERR_INPUT,
                       "a vocabulary of %zu: %d bytes and %zu special tokens are the least, %d the "
                       "most",
                       options->vocab, LEARN_BYTES, count, LIMIT_LM_LEARNED_VOCAB);
    return (int)count;
}

/* A special token that is an ordinary one, too, would have two ids. */
static int check_special(struct learned *learned, const char *const *special, struct err *err)
{
    for (; *special; special++) {
        size_t before = learned->tokens.count;
        if (learn_strings_add(&learned->tokens, *special, strlen(*special)) < before)
            return err_set(err, ERR_INPUT,
                           "special token '%.60s' is a word of the text: give it marks that text "
                           "does not have, as in <|%.60s|>",
                           *special, *special);
    }
    return 0;
}

static int split_all(struct learn_words *words, const char *const *texts, const size_t *counts,
                     size_t count, struct err *err)
{
    int result = learn_words_init(words, err);
    for (size_t i = 0; i < count && result == 0; i++)
        result = learn_words_add(words, texts[i], counts[i], err);
    if (result == 0 && words->strings.count == 0)
        result = err_set(err, ERR_INPUT, "there is no text to learn from");
    return result;
}

int tokenizer_learn(const char *directory, const char *const *texts, const size_t *counts,
                    size_t count, const struct learn_options *options, struct err *err)
{
    const char *const *special = options->special ? options->special : standard_special;
    struct learn_words words = {0};
    struct learned learned = {0};
    int special_count = check(options, special, err);
    if (special_count < 0)
        return special_count;
    int result = split_all(&words, texts, counts, count, err);
    if (result == 0) {
        learn_merges(&learned, &words, options->vocab - (size_t)special_count, options->least);
        result = check_special(&learned, special, err);
    }
    if (result == 0)
        result = file_make_directories(directory, 0777, err);
    if (result == 0)
        result = learn_write(directory, &learned, special, err);
    learn_words_deinit(&words);
    learned_deinit(&learned);
    return result;
}
