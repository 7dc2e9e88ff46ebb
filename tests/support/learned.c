#include "learned.h"

#include "base/file.h"
#include "base/mem.h"
#include "lm/tokenizer/learn.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#define VOCAB 320

static const char corpus[] = "the question and the answer, the prompt and the completion: the user "
                             "asks, the assistant answers the question of the user\n";

void learned_open(struct learned_tokenizer *learned)
{
    const char *texts[] = {corpus};
    const size_t counts[] = {sizeof corpus - 1};
    const struct learn_options options = {.vocab = VOCAB, .least = 2};
    struct err err = {0};
    learned->directory = support_directory();
    assert_ok(tokenizer_learn(learned->directory, texts, counts, 1, &options, &err), &err);
    assert_ok(tokenizer_open(&learned->tokenizer, learned->directory, &err), &err);
}

void learned_close(struct learned_tokenizer *learned)
{
    tokenizer_close(learned->tokenizer);
}

char *learned_write(const struct learned_tokenizer *learned, const char *name, const char *text)
{
    char *path = mem_printf("%s/%s", learned->directory, name);
    struct err err = {0};
    assert_ok(file_write_atomic(path, text, strlen(text), 0600, &err), &err);
    return path;
}
