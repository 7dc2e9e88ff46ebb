/* parse: which part of an answer is the candidate.
 *
 * An answer is text of a model: untrusted, any bytes; what is beyond LIMIT_ANSWER_BYTES is not
 * read. The rules, in order (docs/reference/answers.md says them to people):
 *   1. Thinking (<think>, <thinking>, <THOUGHT>, any of the three closers, any case) is taken out.
 *      With `thinking_open` the answer begins inside a block. Code counts only after the last
 *      closer; a block that never ends takes all of the rest.
 *   2. The last complete <KERNEL>..</KERNEL> that holds something; in it the fence by rule 3, else
 *      all of it.
 *   3. A fenced block: one with the entry point before others; among those, one whose label fits
 *      the language best; then one that has an end; then the last. A fence closes with at least as
 *      many of its character, so a longer one may hold shorter ones. One without an end makes
 *      `truncated`.
 *   4. An unfinished <KERNEL>: its text, and `truncated`.
 *   5. Bare code: from the first line that begins like code of that language, or behind a line by
 *      which Dr. Kernel marks it. Only where the entry point is in it.
 *
 * Linear in the length of the answer. Ownership: the strings are the result's (parse_deinit).
 * Threads: pure. Errors: none; an answer without code has code == NULL.
 */
#ifndef WARPGYM_GYM_ANSWER_PARSE_H
#define WARPGYM_GYM_ANSWER_PARSE_H

#include <stdbool.h>
#include <stddef.h>

/* X(symbol, name) */
#define PARSE_FOUND(X)                                                                             \
    X(PARSE_NONE, "none")                                                                          \
    X(PARSE_TAG, "kernel_tag")                                                                     \
    X(PARSE_FENCE, "fence")                                                                        \
    X(PARSE_BARE, "bare")

enum parse_found {
#define X(symbol, name) symbol,
    PARSE_FOUND(X)
#undef X
};

struct parse_options {
    /* language.h's name: "c", "cuda", "python", "triton", "torch-cuda". For others the name is the
     * label that fits, and any text the entry point. */
    const char *language;
    bool thinking_open; /* the prompt ended with an opened block */
};

struct parsed {
    char *thought; /* of all blocks, trimmed; "" where there is none. Never NULL */
    char *code;    /* NUL-terminated UTF-8 (what is not becomes U+FFFD), trimmed; NULL: none */
    size_t thought_chars, code_chars; /* Unicode characters */
    enum parse_found found;
    bool truncated; /* the block that it comes from has no end */
    /* There is code, and in it the entry point: `void solution(` (CUDA: or a __global__ kernel), a
     * class whose name ends in New, or `def forward`. By the text alone. */
    bool format_ok;
};

void parse_answer(const char *text, size_t count, const struct parse_options *options,
                  struct parsed *out);
void parse_deinit(struct parsed *parsed);
const char *parse_found_name(enum parse_found found);

#endif
