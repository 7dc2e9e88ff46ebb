/* progress: shows how far a batch is.
 *
 * On a terminal one line that redraws itself at most ten times a second and fits the width;
 * elsewhere a plain line every 10 s and a last one at the end; a batch that ends within that
 * time prints nothing there. A quiet progress never writes. Log lines, and other output to the
 * terminal, go between progress_hide and progress_show.
 *
 * Threads: any thread may call every function but progress_free. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress;

struct progress_state {
    const char *label;
    uint64_t total; /* 0: unknown */
    uint64_t done, passed, failed;
    double elapsed_s;
    uint64_t found;   /* of those done: before this start, so not part of its rate */
    const char *note; /* shown instead of results and rate, or NULL */
};

/* Writes to `fd`, which stays the caller's. */
struct progress *progress_new(int fd, const char *label, uint64_t total, bool quiet);
/* Draws the end state, ends the line, frees. NULL is fine. */
void progress_free(struct progress *progress);

/* One more is done. */
void progress_add(struct progress *progress, bool passed);
/* One more was done before this began. */
void progress_found(struct progress *progress, bool passed);
/* Shows `text` (copied) instead of results and rate. */
void progress_note(struct progress *progress, const char *text);
/* Redraws if it is due: rate and remaining time change even without progress. */
void progress_tick(struct progress *progress);

/* Pairs; they nest. The context is the progress, and the signature that of log_set_hooks. */
void progress_hide(void *context);
void progress_show(void *context);

/* The line, at most `width` columns, without control characters. Pure. */
void progress_render(const struct progress_state *state, int width, bool bar, char *line,
                     size_t line_bytes);
