/* parse: extracts the candidate from an answer.
 *
 * An answer is text of a model: untrusted, any bytes; the part beyond LIMIT_ANSWER_BYTES is
 * ignored. The rules, in order (docs/reference/answers.md explains them):
 *   1. Thinking (<think>, <thinking>, <THOUGHT>, any of the three closers, any case) is removed.
 *      With `thinking_open` the answer begins inside a block. Code counts only after the last
 *      closer; an unterminated block takes the whole rest.
 *   2. The last complete <KERNEL>..</KERNEL> that is not empty; in it the fence by rule 3, else
 *      all of it.
 *   3. A fenced block: one with the entry point before others; among those, one whose label fits
 *      the language best; then a terminated one; then the last. A fence closes with at least as
 *      many of its character, so a longer one may hold shorter ones. An unterminated one sets
 *      `truncated`.
 *   4. An unterminated <KERNEL>: its text, and `truncated`.
 *   5. Bare code: from the first line that looks like code of that language, or after a line that
 *      Dr. Kernel uses as a marker. Only if the entry point is in it.
 *
 * Linear in the length of the answer. Ownership: the strings are the result's (parse_deinit).
 * Threads: pure. Errors: none; an answer without code has code == NULL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum parse_found { PARSE_NONE, PARSE_TAG, PARSE_FENCE, PARSE_BARE };

struct parse_options {
    /* A name of language.h. For others the name is the fitting label, and any text has the entry
     * point. */
    const char *language;
    bool thinking_open; /* the prompt ended with an opened block */
};

struct parsed {
    char *thought; /* of all blocks, trimmed; "" if none. Never NULL */
    char *code;    /* NUL-terminated UTF-8 (invalid bytes become U+FFFD), trimmed; NULL: none */
    size_t thought_chars, code_chars; /* Unicode characters */
    enum parse_found found;
    bool truncated; /* its block is unterminated */
    bool too_long;  /* there was code, but no source may have as much: episode/record.h */
    /* The code has the entry point: `void solution(` (CUDA: or a __global__ kernel), a class whose
     * name ends in New, or `def forward`. Judged by the text alone. */
    bool format_ok;
};

/* Bytes of an answer that are read: LIMIT_ANSWER_BYTES at most, without a part of a character. */
size_t parse_answer_bytes(const char *text, size_t count);
void parse_answer(const char *text, size_t count, const struct parse_options *options,
                  struct parsed *out);
/* Whether a text is a source itself, not an answer with one in it: its first line looks like code,
 * or it neither begins with a fence or a tag nor has a block with the entry point. */
bool parse_is_source(const char *text, size_t count, const char *language);
void parse_deinit(struct parsed *parsed);
