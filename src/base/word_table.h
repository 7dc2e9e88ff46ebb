/* word_table: the words of an enum, written once.
 *
 * A list of symbols and words makes the enum and the names of its values:
 *
 *   #define COLORS(X) X(COLOR_RED, "red") X(COLOR_BLUE, "blue")
 *   enum color { WORD_SYMBOLS(COLORS) };
 *   extern const char *const color_names[];
 *   const char *const color_names[] = {WORD_NAMES(COLORS)};
 *
 * Where words are a member of the rows of a table, the table itself is the list, and a row's index
 * is the value. Either way NULL ends them. Threads: pure.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define WORD_SYMBOL(symbol, word) symbol,
#define WORD_NAME(symbol, word) [symbol] = word,
#define WORD_SYMBOLS(LIST) LIST(WORD_SYMBOL)
#define WORD_NAMES(LIST) LIST(WORD_NAME) NULL

/* Words at equal distances. */
struct word_table {
    const char *const *first;
    size_t stride;
};

/* Initialisers: of an array of words, of a member of an array of rows. */
#define WORD_TABLE(names)                                                                          \
    {                                                                                              \
        (names), sizeof(const char *)                                                              \
    }
#define WORD_TABLE_OF(rows, member)                                                                \
    {                                                                                              \
        &(rows)[0].member, sizeof *(rows)                                                          \
    }
/* Pointers to such a table; the last one is of a list of symbols. */
#define WORDS(names) (&(const struct word_table)WORD_TABLE(names))
#define WORDS_OF(rows, member) (&(const struct word_table)WORD_TABLE_OF(rows, member))
#define WORDS_IN(LIST) WORDS(((const char *const[]){WORD_NAMES(LIST)}))

/* NULL: `index` is behind the last, or `table` is NULL. */
const char *word_at(const struct word_table *table, size_t index);
/* The index of a word, or ERR_INPUT: "unknown WHAT 'WORD'; did you mean …". */
NODISCARD int word_find(const struct word_table *table, const char *what, const char *word,
                        int *index, struct err *err);
/* "red, blue". */
void word_list(const struct word_table *table, struct buf *out);
