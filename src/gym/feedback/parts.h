/* feedback_parts: texts of a verdict made fit for a prompt. Private to gym/.
 *
 * What a verdict holds may come from the candidate (its exceptions, kernel names, `#error`) or from
 * a server. Cleaned text is well-formed UTF-8 without control, invisible or reordering characters;
 * words by which models and their templates tell turns, thinking and answers apart are broken up by
 * a blank (`< /KERNEL>`, `< |im_end| >`), and absolute paths are cut to their last part.
 * Threads: pure. Ownership: the caller frees strings (mem_free).
 */
#ifndef WARPGYM_GYM_FEEDBACK_PARTS_H
#define WARPGYM_GYM_FEEDBACK_PARTS_H

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define FEEDBACK_LINE_BYTES 320     /* of one line of an excerpt */
#define FEEDBACK_NAME_BYTES 128     /* of an output, a kernel, sizes */
#define FEEDBACK_SENTENCE_BYTES 400 /* of a message, evidence, a note */

enum feedback_paths { PATHS_KEEP, PATHS_CUT };

/* Appends `count` bytes, of which line feeds become blanks, as one line of at most `max_bytes`;
 * what is cut off leaves "..." behind. */
void feedback_line(struct buf *out, const char *text, size_t count, size_t max_bytes,
                   enum feedback_paths paths);
/* All lines, each as above, within `max_bytes`; then how many were left out. */
char *feedback_lines(const char *text, size_t max_bytes);

/* The lines of a compiler's output or a traceback; behind one that names a line of the source
 * (`name`, or candidate.*), that line, unless it is there already. `source`, `name` may be NULL. */
char *feedback_excerpt(const char *text, const char *source, const char *name, size_t max_bytes);

/* A key of a verdict that may be anything: NULL, NaN where it is not that. */
const char *feedback_text(const json_t *object, const char *key);
double feedback_number(const json_t *object, const char *key);
/* One clean line; null where there is no text. A new reference, as those below. */
json_t *feedback_line_json(const char *text, size_t max_bytes);

/* Whether `timing` holds times of both sides and a speedup that mean something. */
bool feedback_is_timed(const json_t *timing);
json_t *feedback_timing(const json_t *timing);
/* Those that took longest. */
json_t *feedback_kernels(const json_t *profile);
json_t *feedback_profile(const json_t *profile);

#endif
