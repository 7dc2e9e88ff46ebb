/* stop: strings that end a text, found across the borders of the tokens that it comes in.
 *
 * The end of a text that may be the beginning of a stop string is held back: it counts only when
 * what follows has shown that it was none.
 */
#pragma once

#include "lm/tokenizer/tokenizer.h"

struct stop_scan {
    const struct tokenizer *tokenizer; /* the caller's, as the strings are */
    const char *const *stops;
    size_t count;
    struct tokenizer_stream stream;
    struct buf held;   /* the text behind `safe` */
    size_t safe_bytes; /* of the text: no stop string begins there */
    bool found;        /* the text ends at safe_bytes */
};

/* None of the strings is empty. */
void stop_scan_init(struct stop_scan *scan, const struct tokenizer *tokenizer,
                    const char *const *stops, size_t count);
void stop_scan_deinit(struct stop_scan *scan);

NODISCARD int stop_scan_put(struct stop_scan *scan, int32_t id, struct err *err);
/* No more comes: what was held back counts, unless a string was found. */
NODISCARD int stop_scan_end(struct stop_scan *scan, struct err *err);

/* The pure part. Where the first of the strings begins in `text`; `count`
 * where none is. */
size_t stop_find(const char *text, size_t count, const char *const *stops, size_t stop_count);
/* The bytes at the end of `text` that may be the beginning of a string. */
size_t stop_held(const char *text, size_t count, const char *const *stops, size_t stop_count);
