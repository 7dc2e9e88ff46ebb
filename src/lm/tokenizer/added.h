/* added: tokens that are cut out of a text before anything else happens to it.
 *
 * At each place the longest one counts (leftmost, longest), as far as its rules allow: a whole
 * word, blanks to its left or right that it swallows. All of them lie in a tree of bytes.
 *
 * Ownership: the texts stay their owner's. Threads: read-only once filled.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct added_token {
    const char *text; /* as it is looked for */
    size_t count;
    int32_t id;
    bool special, single_word, lstrip, rstrip;
};

struct added_node;

struct added {
    struct added_token *tokens;
    size_t count, capacity;
    struct added_node *nodes; /* [0] is none */
    size_t node_count, node_capacity;
    uint32_t first[256]; /* nodes of the first byte */
};

void added_init(struct added *added);
void added_deinit(struct added *added);
/* The later of two with one text counts. */
void added_put(struct added *added, const struct added_token *token);

struct added_match {
    size_t start, end;
    int32_t id;
};
/* The next one from `from` on; special tokens only with `special`. */
bool added_find(const struct added *added, const char *text, size_t count, size_t from,
                bool special, struct added_match *match);
