/* table: aligned columns, and colour, for people.
 *
 *   struct table *table = table_new("problem|>speedup");
 *   table_cell(table, STYLE_NONE, "softmax");
 *   table_cell(table, STYLE_GOOD, "%.2fx", 4.5);
 *   table_render(table, style_wanted(STDOUT_FILENO), &out);
 *
 * Cells fill rows from left to right. Control characters in a cell become '?', so that untrusted
 * text cannot control the terminal; widths count code points of UTF-8. One owner, one thread. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum style { STYLE_NONE, STYLE_GOOD, STYLE_BAD, STYLE_WARN, STYLE_FAINT, STYLE_STRONG };
enum table_align { TABLE_LEFT, TABLE_RIGHT };

struct table;

/* Titles of columns, separated by '|'; '>' before one aligns it to the right. "": none yet. */
struct table *table_new(const char *titles);
void table_free(struct table *table);
/* One more; all columns come before the first cell. */
void table_column(struct table *table, const char *title, enum table_align align);
void table_cell(struct table *table, enum style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Cuts cells of the last column, down to `least` code points, where `width` ends. */
void table_fit(struct table *table, size_t width, size_t least);
/* Titles (if any column has one) and rows; every line ends with a newline and without spaces. */
void table_render(const struct table *table, bool colour, struct buf *out);

/* A terminal that is not "dumb", and NO_COLOR is unset or empty (no-color.org). */
bool style_wanted(int fd);
/* Appends `text`, styled if `colour`. */
void style_puts(struct buf *out, bool colour, enum style style, const char *text);
/* Columns of the terminal of fd; 0 if it is not a terminal. */
int style_width(int fd);
