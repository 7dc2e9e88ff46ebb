/* external_language: languages that live outside of this source, each described by a file of the
 * configuration (setting languages.path): NAME.yaml in one of its directories.
 *
 *   key          needed  meaning
 *   name         yes     of the language
 *   endings      yes     of its files; none of our languages' and none of another file's
 *   run          yes     words of the program that speaks the child protocol (warpgym_child.h); the
 *                        first one is its path, absolute, or ./… beside the file
 *   compile      no      words of a program that is run with two more, the source and the artifact
 *                        that it has to write, in a sandbox for compilers; without it `run` gets
 *                        the source alone
 *   readable     no      what both may read besides themselves and the system's libraries, and the
 *                        artifact depends on; paths as above
 *   environment  no      names and values; there is nothing else but PATH, HOME, TMPDIR and LC_ALL
 *
 * Ownership: all in the caller's arena. Threads: immutable once loaded.
 */
#pragma once

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "judge/request/language.h"

struct external {
    const char *const *run;
    const char *const *compile; /* NULL: it has none */
    const char *const *readable;
    const char *const *environment;
    char hash[HASH_HEX_BYTES]; /* of what a build depends on besides its source */
};

/* All files of the directories in `path`, separated by colons. Errors name file, line and column.
 * On failure the arena is still the caller's. */
NODISCARD int external_load(struct languages *languages, struct arena *arena, const char *path,
                            struct err *err);

/* One file's text, without a look at what its paths lead to. `directory` is what ./ means. */
NODISCARD int external_parse(struct language *language, struct arena *arena, const char *name,
                             const char *directory, const char *text, size_t bytes,
                             struct err *err);
