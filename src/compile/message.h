/* message: one line of a compiler's output, taken apart. Private to compile/.
 *
 * Three notations meet here: `file:line:column: error: text` (gcc, clang), `file:line: Error: text`
 * (GNU as) and `file(line): error: text` (nvcc). Nothing is copied: a struct message points into
 * its line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MESSAGE_LINE_BYTES 400 /* of one cleaned line, with its NUL */

enum severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_NOTE, SEVERITY_COUNT };

struct message {
    const char *file;
    size_t file_length;
    long line;   /* 0: none */
    long column; /* 0: none */
    enum severity severity;
    const char *word; /* "error", "warning", … as it is to be shown */
    const char *text;
    bool assembler;
};

/* Whether `line` is a message about a place in a file. */
bool message_parse(const char *line, struct message *message);
/* Whether `line` begins with a severity and a colon; fills severity, word, text, assembler. */
bool message_parse_kind(const char *line, struct message *message);
/* Digits at *at, which moves behind them; -1 where there are none or too many. */
long message_parse_number(const char **at);

/* Copies a line, every byte that is no printable UTF-8 as '?', cut at a character with a mark where
 * it is too long. Paths in `scratch` become relative to it, paths in `root` absolute within it
 * (NULL: none). */
void message_clean(const char *line, size_t length, const char *scratch, const char *root,
                   char out[MESSAGE_LINE_BYTES]);

/* Copies a cleaned line with paths cut to their last component, temporary objects called `name`. */
void message_cut_paths(const char *line, const char *name, char out[MESSAGE_LINE_BYTES]);

/* Resolves "." and ".." in an absolute path, by name alone. */
void message_normalise(const char *path, size_t length, char *out, size_t out_bytes);
