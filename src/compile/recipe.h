/* recipe: the one command line with which each kind of source is compiled, and the identity of a
 * build.
 *
 * All names in it are relative to the scratch directory, and so is TMPDIR, wherever a sandbox puts
 * that: equal sources meet equal command lines and give equal bytes (the linker writes no build id,
 * dates are fixed by SOURCE_DATE_EPOCH). The key covers everything that a result depends on: text,
 * command line, environment, what is readable, the compiler (version, and size and time of the
 * program) and the CPU. Private to compile/.
 */
#pragma once

#include "base/mem.h"
#include "compile/compile.h"

#define RECIPE_PRELUDE "prelude.h"
#define RECIPE_ARGUMENTS 48
#define RECIPE_VARIABLES 8

struct recipe {
    const char *argv[RECIPE_ARGUMENTS];
    const char *environment[RECIPE_VARIABLES];
    const char *const *readable; /* the toolchain's */
    const char *const *quoted;   /* directories whose headers may be quoted to anybody */
    const char *root;            /* of a bundled toolchain; NULL: none */
    bool resident;               /* argv[0] is a library: struct command */
    const char *source;          /* file names in scratch */
    const char *object;
    const char *prelude;  /* text of RECIPE_PRELUDE; NULL: none */
    const char *version;  /* of the compiler, for people */
    const char *identity; /* of compiler and machine */
    struct arena arena;
};

/* ERR_MISSING: there is no compiler for it. `process`: for a compiler that runs in a sandbox, which
 * mounts a bundled toolchain as /usr, not for one in this process. */
NODISCARD int recipe_init(struct recipe *recipe, const struct toolchain *toolchain,
                          enum compile_kind kind, const char *architecture, bool process,
                          struct err *err);
void recipe_deinit(struct recipe *recipe);

void recipe_key(const struct recipe *recipe, const char *text, size_t text_bytes,
                char key[HASH_HEX_BYTES]);
