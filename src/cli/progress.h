/* progress: how far a batch is, for people.
 *
 * On a terminal one line that redraws itself at most ten times a second and fits the width;
 * anywhere else a plain line when 10 s have passed, and a last one at the end; a batch that ends
 * within that time stays silent there. A quiet progress never writes. Log lines, and whatever else
 * is printed to the terminal meanwhile, go between progress_hide and progress_show.
 *
 * Threads: every function but progress_free may be called from any of them.
 */
#ifndef WARPGYM_CLI_PROGRESS_H
#define WARPGYM_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress;

struct progress_state {
    const char *label;
    uint64_t total; /* 0: unknown */
    uint64_t done, passed, failed;
    double elapsed_s;
    uint64_t found;   /* of those done: before this began, so that they tell nothing of its rate */
    const char *note; /* what stands there instead of results and rate, or NULL */
};

/* `fd` is written to and stays the caller's. */
struct progress *progress_new(int fd, const char *label, uint64_t total, bool quiet);
/* Draws the end state, ends the line, frees. NULL is fine. */
void progress_free(struct progress *progress);

/* One more is done. */
void progress_add(struct progress *progress, bool passed);
/* One more was done before this began. */
void progress_found(struct progress *progress, bool passed);
/* The line tells `text` (copied) instead of results and rate. */
void progress_note(struct progress *progress, const char *text);
/* Redraws if it is time to: rate and remaining time move even when nothing gets done. */
void progress_tick(struct progress *progress);

/* Pairs; they nest. The context is the progress, and the signature that of log_set_hooks. */
void progress_hide(void *context);
void progress_show(void *context);

/* The line itself, at most `width` columns, without control characters: the pure part. */
void progress_render(const struct progress_state *state, int width, bool bar, char *line,
                     size_t line_bytes);

#endif
