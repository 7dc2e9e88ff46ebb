/* lm tokenizer: learns a byte-level BPE tokenizer from files. */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lm/tokenizer/learn.h"

struct corpus {
    char **texts;
    size_t *counts;
    size_t count, bytes;
};

static int corpus_read(struct corpus *corpus, const struct cli_words *paths, struct err *err)
{
    corpus->texts = mem_alloc(paths->count * sizeof *corpus->texts);
    corpus->counts = mem_alloc(paths->count * sizeof *corpus->counts);
    for (size_t i = 0; i < paths->count; i++) {
        size_t left = LIMIT_CORPUS_BYTES - corpus->bytes;
        int result = file_read(paths->items[i], left, &corpus->texts[i], &corpus->counts[i], err);
        if (result == ERR_LIMIT)
            return err_set(err, ERR_LIMIT, "%s: all files together exceed %zu bytes",
                           paths->items[i], LIMIT_CORPUS_BYTES);
        if (result < 0)
            return result;
        corpus->bytes += corpus->counts[i];
        corpus->count++;
    }
    return 0;
}

static void corpus_deinit(struct corpus *corpus)
{
    for (size_t i = 0; i < corpus->count; i++)
        mem_free(corpus->texts[i]);
    mem_free(corpus->texts);
    mem_free(corpus->counts);
}

struct learning {
    int64_t vocab, least;
    const char *out;
    struct cli_words special;
};

static int tokenizer_run(struct cli_call *call, void *arguments, struct err *err)
{
    const struct learning *learning = arguments;
    const struct learn_options how = {.vocab = (size_t)learning->vocab,
                                      .least = (uint64_t)learning->least,
                                      .special = learning->special.items};
    struct corpus corpus = {0};
    int64_t began_ns = clock_now_ns();
    if (!learning->vocab || !learning->out || call->words.count == 0)
        return cli_usage(call, "%s",
                         !learning->vocab ? "--vocab is missing"
                         : !learning->out ? "--out is missing"
                                          : "name the files to learn from");
    int result = corpus_read(&corpus, &call->words, err);
    if (result == 0)
        result = tokenizer_learn(learning->out, (const char *const *)corpus.texts, corpus.counts,
                                 corpus.count, &how, err);
    if (result == 0)
        buf_printf(&call->out, "%s/tokenizer.json: learned from %.1f MB in %.1f s\n", learning->out,
                   (double)corpus.bytes * 1e-6, clock_ms_since(began_ns) * 1e-3);
    corpus_deinit(&corpus);
    return result;
}

int lm_tokenizer_main(struct cli_call *call)
{
    struct learning learning = {.least = 2};
    const struct cli_option options[] = {
        OPTION_INT(0, "vocab", &learning.vocab, 1, LIMIT_LM_LEARNED_VOCAB, "N",
                   "tokens in all: 256 bytes, special ones, and learned ones"),
        OPTION_STRING('o', "out", &learning.out, "DIR", "where tokenizer.json is written"),
        OPTION_INT(0, "least", &learning.least, 1, INT32_MAX, "N",
                   "minimum number of occurrences of a pair (2)"),
        OPTION_LIST(
            0, "special", &learning.special, "TOKEN",
            "special tokens instead of <|endoftext|>, <|im_start|>, <|im_end|>; may be repeated"),
        OPTION_END,
    };
    return cli_run(call, options, tokenizer_run, &learning);
}
