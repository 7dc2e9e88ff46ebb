/* normalize: Unicode's normal forms, as far as a text isn't in one already (libutf8proc does the
 * work). */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NORMALIZE_FORMS 8

/* The forms that a file asks for, one after the other. */
struct normalizer {
    int options[NORMALIZE_FORMS]; /* libutf8proc's */
    size_t count;
};

/* NFC, NFD, NFKC, NFKD; false: no such form, or too many of them. */
bool normalizer_add(struct normalizer *normalizer, const char *form);

/* Valid UTF-8 in, the same or another text out: `text` itself where nothing changes, else what
 * lies in one of the buffers. NULL: a buffer was too small. */
const char *normalizer_apply(const struct normalizer *normalizer, const char *text, size_t *count,
                             struct buf buffers[2]);
/* Whether a character neither changes nor meets the one before it in this form; cheap, and rather
 * no. */
bool normalizer_inert(const char *form, int32_t character);
