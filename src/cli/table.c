#include "cli/table.h"

#include "base/mem.h"
#include "base/printable.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define GAP 2

struct column {
    char *title;
    enum table_align align;
    size_t width;
};

struct cell {
    char *text; /* without control characters */
    size_t width;
    enum style style;
};

struct table {
    struct column *columns;
    size_t column_count;
    struct cell *cells;
    size_t cell_count, cell_capacity;
};

void table_free(struct table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->column_count; i++)
        mem_free(table->columns[i].title);
    for (size_t i = 0; i < table->cell_count; i++)
        mem_free(table->cells[i].text);
    mem_free(table->columns);
    mem_free(table->cells);
    mem_free(table);
}

void table_column(struct table *table, const char *title, enum table_align align)
{
    table->columns = mem_resize(table->columns, (table->column_count + 1) * sizeof *table->columns);
    struct column *column = &table->columns[table->column_count++];
    *column = (struct column){.title = mem_strdup(title), .align = align};
    column->width = printable_text(column->title, false);
}

struct table *table_new(const char *titles)
{
    struct table *table = mem_alloc(sizeof *table);
    char *copy = mem_strdup(titles), *rest = copy;
    for (char *title; *titles && (title = strsep(&rest, "|"));) {
        bool right = *title == '>';
        table_column(table, title + right, right ? TABLE_RIGHT : TABLE_LEFT);
    }
    mem_free(copy);
    return table;
}

void table_cell(struct table *table, enum style style, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        text = mem_strdup("?");
    if (table->cell_count == table->cell_capacity) {
        table->cell_capacity = table->cell_capacity ? 2 * table->cell_capacity : 32;
        table->cells = mem_resize(table->cells, table->cell_capacity * sizeof *table->cells);
    }
    struct cell *cell = &table->cells[table->cell_count];
    *cell = (struct cell){.text = text, .width = printable_text(text, false), .style = style};
    struct column *column = &table->columns[table->cell_count % table->column_count];
    column->width = cell->width > column->width ? cell->width : column->width;
    table->cell_count++;
}

/* To `most` code points, the last of which says that something is missing. */
static void cut_cell(struct cell *cell, size_t most)
{
    static const char dots[] = "…";
    size_t at = 0;
    for (size_t left = most - 1; left > 0; left--)
        at += utf8_sequence(cell->text + at, strlen(cell->text + at));
    char *cut = mem_alloc(at + sizeof dots);
    memcpy(cut, cell->text, at);
    memcpy(cut + at, dots, sizeof dots);
    mem_free(cell->text);
    cell->text = cut;
    cell->width = most;
}

void table_fit(struct table *table, size_t width, size_t least)
{
    size_t used = 0;
    struct column *last = &table->columns[table->column_count - 1];
    for (struct column *column = table->columns; column < last; column++)
        used += column->width + GAP;
    size_t most = width > used + least ? width - used : least;
    for (size_t i = table->column_count - 1; i < table->cell_count; i += table->column_count)
        if (table->cells[i].width > most)
            cut_cell(&table->cells[i], most);
    last->width = last->width < most ? last->width : most;
}

/* One cell; spaces are held in *pending until something follows, so that none end a line. */
static void render_cell(const struct column *column, const struct cell *cell, bool colour,
                        size_t *pending, struct buf *out)
{
    size_t padding = column->width - cell->width;
    if (column->align == TABLE_RIGHT)
        *pending += padding;
    if (cell->width > 0) {
        buf_printf(out, "%*s", (int)*pending, "");
        *pending = 0;
        style_puts(out, colour, cell->style, cell->text);
    }
    if (column->align == TABLE_LEFT)
        *pending += padding;
    *pending += GAP;
}

void table_render(const struct table *table, bool colour, struct buf *out)
{
    bool titled = false;
    size_t pending = 0;
    for (size_t i = 0; i < table->column_count; i++)
        titled = titled || table->columns[i].title[0] != '\0';
    for (size_t i = 0; titled && i < table->column_count; i++) {
        const struct column *column = &table->columns[i];
        struct cell cell = {.text = column->title, .style = STYLE_STRONG};
        for (const char *at = column->title; *at; at++)
            cell.width += (*at & 0xC0) != 0x80;
        render_cell(column, &cell, colour, &pending, out);
    }
    if (titled)
        buf_puts(out, "\n");
    pending = 0;
    for (size_t i = 0; table->column_count > 0 && i < table->cell_count; i++) {
        size_t place = i % table->column_count;
        render_cell(&table->columns[place], &table->cells[i], colour, &pending, out);
        if (place + 1 == table->column_count || i + 1 == table->cell_count) {
            buf_puts(out, "\n");
            pending = 0;
        }
    }
}

bool style_wanted(int fd)
{
    const char *refused = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    if (refused && *refused)
        return false;
    return isatty(fd) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

void style_puts(struct buf *out, bool colour, enum style style, const char *text)
{
    static const char *const codes[] = {"", "32", "31", "33", "2", "1"};
    if (colour && style != STYLE_NONE)
        buf_printf(out, "\033[%sm%s\033[0m", codes[style], text);
    else
        buf_puts(out, text);
}

int style_width(int fd)
{
    struct winsize size;
    if (!isatty(fd))
        return 0;
    if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}
