/* lm tokenizer: learns a byte-level BPE tokenizer from files. */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lm/tokenizer/learn.h"

#include <inttypes.h>
#include <stdio.h>

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

static int learn_from_files(const struct cli_words *paths, const char *out,
                            const struct learn_options *options)
{
    struct corpus corpus = {0};
    struct err err;
    int64_t began_ns = clock_now_ns();
    int status = EXIT_PASSED;
    int result = corpus_read(&corpus, paths, &err);
    if (result == 0)
        result = tokenizer_learn(out, (const char *const *)corpus.texts, corpus.counts,
                                 corpus.count, options, &err);
    if (result < 0)
        status = cli_fail_err(&err);
    else
        printf("%s/tokenizer.json: learned from %.1f MB in %.1f s\n", out,
               (double)corpus.bytes * 1e-6, clock_ms_since(began_ns) * 1e-3);
    corpus_deinit(&corpus);
    return status;
}

int lm_tokenizer_main(int argc, char **argv)
{
    struct cli_words paths = {0}, special = {0};
    int64_t vocab = 0, least = 2;
    const char *out = NULL;
    const struct cli_option options[] = {
        OPTION_INT(0, "vocab", &vocab, 1, LIMIT_LM_LEARNED_VOCAB, "N",
                   "tokens in all: 256 bytes, special ones, and learned ones"),
        OPTION_STRING('o', "out", &out, "DIR", "where tokenizer.json is written"),
        OPTION_INT(0, "least", &least, 1, INT32_MAX, "N",
                   "minimum number of occurrences of a pair (2)"),
        OPTION_LIST(
            0, "special", &special, "TOKEN",
            "special tokens instead of <|endoftext|>, <|im_start|>, <|im_end|>; may be repeated"),
        OPTION_END,
    };
    int status;
    if (!cli_parse(lm_tokenizer_main, options, argc, argv, &paths, &status))
        return status;
    const struct learn_options how = {.vocab = (size_t)vocab,
                                      .least = (uint64_t)least,
                                      .special = special.items};
    if (!vocab || !out || paths.count == 0)
        status = cli_usage(lm_tokenizer_main, "%s",
                           !vocab ? "--vocab is missing"
                           : !out ? "--out is missing"
                                  : "name the files to learn from");
    else
        status = learn_from_files(&paths, out, &how);
    return cli_end(options, &paths, status);
}
