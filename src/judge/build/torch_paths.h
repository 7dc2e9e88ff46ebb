/* torch_paths: where the children's PyTorch keeps headers and libraries, as its Python reports.
 * Threads: any. */
#pragma once

#include "base/err.h"

struct build_tools;

struct torch_paths {
    char *packages; /* holds torch/ */
    char *include;  /* of Python itself */
    char *version;  /* "2.11.0+cu130" */
};

/* Asks once for each judge (60 ms). `place` is the caller's: torch_paths_deinit, also after a
 * failure. */
NODISCARD int torch_paths_init(struct torch_paths *place, struct build_tools *tools,
                               struct err *err);
void torch_paths_deinit(struct torch_paths *place);
/* 211 for "2.11.0". */
int torch_paths_version(const struct torch_paths *place);
