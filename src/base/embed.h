/* embed: a file of the source tree as text in the binary.
 *
 * The Makefile names the file among its object's prerequisites: the compiler does not see it. */
#pragma once

/* Defines `symbol`, declared as extern const char symbol[]: the file's bytes, and a NUL. `path`
 * begins at the root of the source tree. */
#define EMBED_TEXT(symbol, path)                                                                   \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global " #symbol "\n" #symbol ":\n"                                                  \
            ".incbin \"" path "\"\n"                                                               \
            ".byte 0\n"                                                                            \
            ".popsection\n")
