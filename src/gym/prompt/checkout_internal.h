/* internal: what the readers of checkouts share. Ownership: texts are copied. Threads: as
 * prompts_open. */
#pragma once

#include "base/buf.h"
#include "gym/prompt/checkout.h"

#include <stddef.h>

/* What these files do not word. */
#define CHECKOUT_FIRST "{{>drkernel/first}}"
#define CHECKOUT_LATER "{{>drkernel/later}}"
#define CHECKOUT_FEEDBACK "{{>drkernel/feedback}}"

/* One that a Python format string may name. */
struct checkout_placeholder {
    const char *name, *template; /* NULL template: `text` */
    const char *text;
};

/* Appends a text for Python's str.format as a template of ours. ERR_INPUT: an unknown name. */
NODISCARD int checkout_put_format(struct buf *out, const char *file, const char *text,
                                  const struct checkout_placeholder *known, size_t count,
                                  struct err *err);
/* The template `name` ("STYLE/first.txt"); errors call it by `from`, a path, too. */
void checkout_add_text(struct prompts *prompts, const char *from, const char *name,
                       const struct buf *text);
void checkout_add_fixed(struct prompts *prompts, const char *from, const char *style,
                        const char *file, const char *text);

/* The file at `path` of a checkout in `directory`. */
NODISCARD int checkout_add_kernelbench(struct prompts *prompts, const char *directory,
                                       const char *path, const char *text, size_t bytes,
                                       struct err *err);
NODISCARD int checkout_add_kernelgym(struct prompts *prompts, const char *directory,
                                     const char *path, const char *text, size_t bytes,
                                     struct err *err);
