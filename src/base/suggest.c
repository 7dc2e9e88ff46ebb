#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 128 /* longer ones are compared with nothing */
#define LIST_MAX_BYTES 200 /* of all names in an error */

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Rows of the usual table, of which a swap needs three. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][NAME_MAX_BYTES + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t changed = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, changed);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smallest(row[j], before[j - 2] + 1, row[j]);
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b_length];
}

const char *suggest_name(const char *what, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t length = strlen(what);
    if (length == 0 || length > NAME_MAX_BYTES)
        return NULL;
    size_t allowed = length < 3 ? 1 : length / 3;
    for (size_t i = 0; i < count; i++) {
        size_t other = names[i] ? strlen(names[i]) : 0;
        size_t difference = other > length ? other - length : length - other;
        if (other == 0 || other > NAME_MAX_BYTES || difference > allowed)
            continue;
        size_t away = distance(what, length, names[i], other);
        /* Every letter changed is another name, however short. */
        if (away > allowed || away >= length)
            continue;
        best = names[i];
        if (away == 0)
            return best;
        allowed = away - 1;
    }
    return best;
}

#define MORE ", …"

/* "a, b, c"; "a, b, …" if that is too long. */
static void list_names(char list[LIST_MAX_BYTES], const char *const *names, size_t count)
{
    size_t used = 0;
    list[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *between = used ? ", " : "";
        if (!names[i])
            continue;
        if (used + strlen(between) + strlen(names[i]) + sizeof MORE > LIST_MAX_BYTES) {
            if (used)
                memcpy(list + used, MORE, sizeof MORE);
            return;
        }
        used += (size_t)snprintf(list + used, LIST_MAX_BYTES - used, "%s%s", between, names[i]);
    }
}

int err_unknown(struct err *err, const char *what, const char *name, const char *const *names,
                size_t count)
{
    char list[LIST_MAX_BYTES];
    const char *near = suggest_name(name, names, count);
    if (near)
        return err_set(err, ERR_INPUT, "unknown %s '%.100s'; did you mean '%s'?", what, name, near);
    list_names(list, names, count);
    return err_set(err, ERR_INPUT, "unknown %s '%.100s'%s%s", what, name,
                   *list ? "; choose one of " : "", list);
}
