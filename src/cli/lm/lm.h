/* lm: shared by the commands of `warpgym lm` that sample: opens a model with its adapter
 * and tokenizer, options of sampling, and text that arrives token by token. */
#pragma once

#include "base/limits.h"
#include "cli/cli.h"
#include "lm/sample/sampler.h"
#include "lm/weights/config.h"

/* The model, and the backend that computes. */
struct lm_where {
    const char *directory, *adapter, *backend;
    int64_t threads, context;
};
#define LM_WHERE_DEFAULTS                                                                          \
    {                                                                                              \
        .backend = "cpu"                                                                           \
    }
#define LM_WHERE_OPTIONS(w)                                                                        \
    OPTION_GROUP("Model"),                                                                         \
        OPTION_STRING(0, "adapter", &(w)->adapter, "DIR", "a LoRA adapter to put on it"),          \
        OPTION_INT(0, "context", &(w)->context, 0, LIMIT_LM_POSITIONS, "TOKENS",                   \
                   "longest sequence, prompt and answer (as the model says)"),                     \
        OPTION_STRING(0, "backend", &(w)->backend, "NAME", "cpu or reference (cpu)"),              \
        OPTION_INT(0, "threads", &(w)->threads, 0, 1024, "N",                                      \
                   "of the backend (one for each core)")

struct lm_context {
    struct lm_backend *backend;
    struct lm_model *model;
    struct tokenizer *tokenizer; /* NULL: none in the directory */
    struct lm_sampler *sampler;  /* after lm_context_sampler */
};
/* Call lm_context_close after an error, too. */
NODISCARD int lm_context_open(struct lm_context *context, const struct lm_where *where,
                              bool wants_tokenizer, struct err *err);
/* For `sequences` concurrent ones of up to `tokens` positions each, within a bound of memory. */
NODISCARD int lm_context_sampler(struct lm_context *context, size_t sequences, size_t tokens,
                                 struct err *err);
void lm_context_close(struct lm_context *context);

/* Sampling parameters. */
struct lm_manner {
    double temperature, top_p, min_p;
    /* max_tokens -1: the caller's default; seed -1: a new one each time */
    int64_t top_k, max_tokens, seed;
    struct cli_words stops;
};
#define LM_MANNER_OPTIONS(m)                                                                       \
    OPTION_GROUP("Sampling"),                                                                      \
        OPTION_FLOAT('t', "temperature", &(m)->temperature, 0, LIMIT_LM_TEMPERATURE, "T",          \
                     "0 takes the most probable token"),                                           \
        OPTION_FLOAT(0, "top-p", &(m)->top_p, 0, 1, "P",                                           \
                     "the most probable tokens that have P together"),                             \
        OPTION_INT(0, "top-k", &(m)->top_k, 0, LIMIT_LM_VOCAB, "K", "the K most probable (all)"),  \
        OPTION_FLOAT(0, "min-p", &(m)->min_p, 0, 1, "P",                                           \
                     "tokens with at least P times the highest probability (all)"),                \
        OPTION_INT(0, "max-tokens", &(m)->max_tokens, 0, LIMIT_LM_POSITIONS, "N",                  \
                   "of an answer; 0: to the end of the context"),                                  \
        OPTION_INT(0, "seed", &(m)->seed, -1, INT64_C(1) << 53, "N",                               \
                   "the same gives the same answer (a new one each time)"),                        \
        OPTION_LIST(0, "stop", &(m)->stops, "TEXT",                                                \
                    "the answer ends before this; may be repeated")
/* Draws the seed if none is given. Strings stay the options'. */
struct lm_sampling lm_manner_sampling(struct lm_manner *manner);

/* A sample's text, decoded as its tokens arrive. */
struct lm_text {
    const struct tokenizer *tokenizer;
    struct tokenizer_stream stream;
    size_t tokens; /* of the sample that are in `text` */
    struct buf text;
    size_t counted, printed; /* bytes: final (no stop string begins there); printed */
    bool cut;                /* it exceeds the limit */
};
void lm_text_init(struct lm_text *text, const struct tokenizer *tokenizer);
void lm_text_deinit(struct lm_text *text);
/* `stops`: there are stop strings, so that sample->text_end decides which text counts. */
void lm_text_add(struct lm_text *text, const struct lm_sample *sample, bool stops);
/* Prints the new text to standard output; safe for a terminal. */
void lm_text_print(struct lm_text *text);

const char *lm_finish_name(enum lm_finish finish);
/* The error of a sample that ended as LM_FAILED. */
int lm_fail_numbers(void);

/* The config of a fresh model, from a config.json or a directory with one. */
NODISCARD int lm_config_file(const char *path, struct lm_config *config, struct err *err);
