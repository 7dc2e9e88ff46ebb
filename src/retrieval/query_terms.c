#include "retrieval/query_terms.h"

#include "base/mem.h"
#include "retrieval/analyzer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_WEIGHT 3.0
#define SLOTS (2 * QUERY_TERMS_DISTINCT) /* a power of two */

struct term {
    char text[WORD_BYTES];
    double times, weight;
    uint64_t examples;
};

struct bag {
    struct term *terms;
    size_t count;
    uint16_t slots[SLOTS]; /* index into `terms` + 1; 0: free */
    double weight;         /* of the words being added */
    bool anywhere;
};

static uint32_t hash_text(const char *text)
{
    uint32_t hash = 0x811C9DC5u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x01000193u;
    return hash;
}

static int add_term(void *context, const struct analyzer_word *word)
{
    struct bag *bag = context;
    if (word->text[0] >= '0' && word->text[0] <= '9' && !bag->anywhere)
        return 0; /* numbers are sizes of this problem, which say little about others */
    uint32_t slot = hash_text(word->text) % SLOTS;
    while (bag->slots[slot] && strcmp(bag->terms[bag->slots[slot] - 1].text, word->text) != 0)
        slot = (slot + 1) % SLOTS;
    if (!bag->slots[slot]) {
        if (bag->count == QUERY_TERMS_DISTINCT)
            return 0;
        memcpy(bag->terms[bag->count].text, word->text, word->length + 1);
        bag->slots[slot] = (uint16_t)++bag->count;
    }
    bag->terms[bag->slots[slot] - 1].times += bag->weight;
    return 0;
}

static int weigh_term(struct index_db *db, sqlite3_stmt *find,
                      const struct query_terms_input *question, struct term *term, struct err *err)
{
    sqlite3_bind_text(find, 1, term->text, -1, SQLITE_STATIC);
    int result = index_db_step(db, find, err);
    int64_t examples = result > 0 ? sqlite3_column_int64(find, question->anywhere ? 1 : 0) : 0;
    sqlite3_reset(find);
    if (result < 0)
        return result;
    term->examples = examples > 0 ? (uint64_t)examples : 0;
    double with = (double)term->examples, all = (double)question->examples;
    term->weight = term->examples == 0
                       ? 0
                       : log(1 + (all - with + 0.5) / (with + 0.5)) * (1 + log(term->times));
    return 0;
}

static int compare_weight(const void *left, const void *right)
{
    const struct term *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return strcmp(a->text, b->text);
}

static void write_expression(struct bag *bag, bool anywhere, struct buf *expression)
{
    uint64_t examples = 0;
    size_t taken = 0;
    for (size_t i = 0; i < bag->count && taken < QUERY_TERMS_MAX; i++) {
        const struct term *term = &bag->terms[i];
        if (term->examples == 0 || (taken > 0 && examples + term->examples > QUERY_TERMS_EXAMPLES))
            continue;
        examples += term->examples;
        if (taken == 0)
            buf_puts(expression, anywhere ? "(" : "{name reference} : (");
        buf_printf(expression, "%s\"%s\"", taken ? " OR " : "", term->text);
        if (term->times >= TITLE_WEIGHT)
            buf_printf(expression, " OR \"%s\"", term->text);
        taken++;
    }
    buf_puts(expression, taken ? ")" : "");
}

int query_terms_choose(struct index_db *db, sqlite3_stmt *find,
                       const struct query_terms_input *question, struct buf *expression,
                       struct err *err)
{
    struct bag *bag = mem_alloc(sizeof *bag);
    int result = 0;
    bag->terms = mem_alloc(QUERY_TERMS_DISTINCT * sizeof *bag->terms);
    bag->anywhere = question->anywhere;
    bag->weight = TITLE_WEIGHT;
    if (question->title)
        analyzer_each(question->title, strlen(question->title), add_term, bag);
    bag->weight = 1;
    analyzer_each(question->text, strlen(question->text), add_term, bag);
    for (size_t i = 0; i < bag->count && result == 0; i++)
        result = weigh_term(db, find, question, &bag->terms[i], err);
    if (result == 0) {
        qsort(bag->terms, bag->count, sizeof *bag->terms, compare_weight);
        write_expression(bag, question->anywhere, expression);
    }
    mem_free(bag->terms);
    mem_free(bag);
    return result;
}
