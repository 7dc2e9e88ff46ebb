#include "base/word_table.h"

#include "base/suggest.h"

#include <string.h>

#define WORDS_MOST 64 /* that an error chooses a hint from */

const char *word_at(const struct word_table *table, size_t index)
{
    if (!table)
        return NULL;
    return *(const char *const *)((const char *)table->first + index * table->stride);
}

int word_find(const struct word_table *table, const char *what, const char *word, int *index,
              struct err *err)
{
    const char *words[WORDS_MOST], *one;
    size_t count = 0;
    for (size_t i = 0; (one = word_at(table, i)); i++) {
        if (strcmp(one, word) == 0) {
            *index = (int)i;
            return 0;
        }
        if (count < WORDS_MOST)
            words[count++] = one;
    }
    return err_unknown(err, what, word, words, count);
}

void word_list(const struct word_table *table, struct buf *out)
{
    const char *word;
    for (size_t i = 0; (word = word_at(table, i)); i++)
        buf_printf(out, "%s%s", i ? ", " : "", word);
}
