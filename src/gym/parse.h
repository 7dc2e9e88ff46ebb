/* parse: which part of an answer is the candidate.
 *
 * An answer is text of a model: untrusted, any bytes, up to LIMIT_ANSWER_BYTES. The rules, in
 * order (docs/prompts.md says them to people):
 *   1. Thinking (<think>, <thinking>, <THOUGHT>, any of the three closers, any case) is taken out.
 *      With `thinking_open` the answer begins inside a block. Code counts only after the last
 *      closer; a block that never ends takes all of the rest.
 *   2. The last complete <KERNEL>..</KERNEL>; in it the last fence, else all of it.
 *   3. The last complete fenced block whose label fits the language; else the last fenced block.
 *      A fence closes with at least as many of its character, so a longer one may hold shorter ones.
 *   4. An unfinished <KERNEL> or fence at the end: its text, and `truncated`.
 *   5. Bare code: from the first line that begins like code of that language.
 *
 * Linear in the length of the answer. Ownership: the strings are the result's (parse_deinit).
 * Threads: pure. Errors: none; an answer without code has code == NULL.
 */
#ifndef WARPGYM_GYM_PARSE_H
#define WARPGYM_GYM_PARSE_H

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
    const char *language; /* language.h's name: "c", "cuda", "python", "triton", "torch-cuda" */
    bool thinking_open;   /* the prompt ended with an opened block */
};

struct parsed {
    char *thought; /* of all blocks, trimmed; "" where there is none. Never NULL */
    char *code;    /* NUL-terminated UTF-8 (what is not becomes U+FFFD), trimmed; NULL: none */
    size_t thought_chars, code_chars; /* Unicode characters */
    enum parse_found found;
    bool truncated; /* the block that it comes from has no end */
    bool
        format_ok; /* there is code and it has the entry point: `solution` (or a __global__ kernel),
                       `class ...New`, `def forward`; as the reference page, section 3 */
};

void parse_answer(const char *text, size_t count, const struct parse_options *options,
                  struct parsed *out);
void parse_deinit(struct parsed *parsed);
const char *parse_found_name(enum parse_found found);

#endif
