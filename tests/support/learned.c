#include "learned.h"

#include "lm/tokenizer/learn.h"
#include "scratch.h"
#include "test.h"

static const char corpus[] = "the question and the answer, the prompt and the completion: the user "
                             "asks, the assistant answers the question of the user\n";

struct tokenizer *learned;

void learned_write(const char *to)
{
    const char *texts[] = {corpus};
    const size_t counts[] = {sizeof corpus - 1};
    const struct learn_options options = {.vocab = LEARNED_VOCAB, .least = 2};
    struct err err;
    assert_ok(tokenizer_learn(to, texts, counts, 1, &options, &err), &err);
}

int learned_begin(void **state)
{
    struct err err;
    if (scratch_begin(state) < 0)
        return -1;
    learned_write(scratch_path(""));
    assert_ok(tokenizer_open(&learned, scratch_path(""), &err), &err);
    return 0;
}

int learned_end(void **state)
{
    tokenizer_close(learned);
    return 0;
}
