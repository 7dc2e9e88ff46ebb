/* diagnostics: compiler output, cleaned for the author of the source.
 *
 * The result begins with the first error, each error with its place (`softmax.c:12:5: error: …`),
 * its source line and its notes; warnings follow. Assembler, linker and nvcc messages are brought
 * into the same shape. Left out: the compiler's own chatter, places on this machine, and the
 * content of files that are neither the source nor the toolchain's (`#include "/etc/passwd"` and
 * `#line 1 "/etc/passwd"` make a compiler quote them). Everything is bounded and printable UTF-8.
 *
 * The output is untrusted as far as the source can shape it (`#error`, `#line`, `#pragma message`);
 * nothing but text for a person is derived from it, except the hints in struct diagnostics, which
 * the caller verifies before anybody but the source is blamed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define DIAGNOSTICS_TEXT_BYTES 8192 /* of the result: what a prompt can hold */

/* Stands for the file's name in a result, which can so be kept and shown under any name. It occurs
 * nowhere else: what a compiler prints has no control characters left here. */
#define DIAGNOSTICS_NAME "\001"

struct diagnostics_context {
    const char *source;        /* file name on the compiler's command line: "candidate.c" */
    const char *scratch;       /* directory that must not be named; NULL: none */
    const char *root;          /* of a bundled toolchain, not to be named either; NULL: none */
    const char *const *quoted; /* directories whose files may be quoted; NULL-terminated */
    bool cut;                  /* there was more output */
};

struct diagnostics {
    char *text;         /* never NULL; "" where there is nothing to say */
    bool error;         /* it holds an error */
    bool blames_source; /* at least one error is about the source itself */
    bool blames_tools;  /* at least one error may be due to what is installed, or is not */
    bool out_of_memory; /* a tool says that its memory ran out */
    bool too_large;     /* a tool says that a file got too large */
    bool killed;        /* a tool says that another was killed: no source makes it do so */
};

void diagnostics_init(struct diagnostics *diagnostics, const struct diagnostics_context *context,
                      const char *output, size_t output_bytes);
void diagnostics_deinit(struct diagnostics *diagnostics);

/* `text` with the file called `name`. The caller's (mem_free). */
char *diagnostics_named(const char *text, const char *name);
