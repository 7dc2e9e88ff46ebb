/* torch_place: where the PyTorch of the children keeps headers and libraries, as its Python says. */
#ifndef WARPGYM_JUDGE_BUILD_TORCH_PATHS_H
#define WARPGYM_JUDGE_BUILD_TORCH_PATHS_H

#include "base/err.h"

struct judge;

struct torch_place {
    char *packages; /* holds torch/ */
    char *include;  /* of Python itself */
    char *version;  /* "2.11.0+cu130" */
};

/* Asks once for each judge (60 ms). `place` is the caller's: torch_place_deinit, also after a
 * failure. */
NODISCARD int torch_place_init(struct torch_place *place, struct judge *judge, struct err *err);
void torch_place_deinit(struct torch_place *place);
/* 211 for "2.11.0". */
int torch_place_number(const struct torch_place *place);

#endif
