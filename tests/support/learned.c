#include "learned.h"

#include "base/file.h"
#include "base/mem.h"
#include "lm/tokenizer/learn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VOCAB 320

static const char corpus[] = "the question and the answer, the prompt and the completion: the user "
                             "asks, the assistant answers the question of the user\n";

void learned_open(struct learned_tokenizer *learned)
{
    const char *texts[] = {corpus};
    const size_t counts[] = {sizeof corpus - 1};
    const struct learn_options options = {.vocab = VOCAB, .least = 2};
    struct err err = {0};
    snprintf(learned->directory, sizeof learned->directory, "/tmp/warpgym-learned-XXXXXX");
    assert_non_null(mkdtemp(learned->directory));
    if (tokenizer_learn(learned->directory, texts, counts, 1, &options, &err) < 0 ||
        tokenizer_open(&learned->tokenizer, learned->directory, &err) < 0)
        fail_msg("%s", err.text);
}

void learned_close(struct learned_tokenizer *learned)
{
    tokenizer_close(learned->tokenizer);
    file_remove_tree(learned->directory);
}

char *learned_write(const struct learned_tokenizer *learned, const char *name, const char *text)
{
    char *path = mem_printf("%s/%s", learned->directory, name);
    struct err err = {0};
    if (file_write_atomic(path, text, strlen(text), 0600, &err) < 0)
        fail_msg("%s", err.text);
    return path;
}
