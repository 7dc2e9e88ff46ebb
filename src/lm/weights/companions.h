/* companions: the files beside a model's weights that it takes to talk to it, its tokenizer's above
 * all. Nothing here knows what is in them. */
#ifndef WARPGYM_LM_WEIGHTS_COMPANIONS_H
#define WARPGYM_LM_WEIGHTS_COMPANIONS_H

#include "base/err.h"

extern const char *const lm_companions[]; /* their names; the last is NULL */

/* Copies those that the directory `from` has and the directory `to` has not. */
NODISCARD int lm_companions_copy(const char *from, const char *to, struct err *err);

#endif
