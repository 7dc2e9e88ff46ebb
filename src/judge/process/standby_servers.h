/* standby_servers: the processes that have loaded what children need, one for each kind of sandbox.
 *
 * Each is started when it is first needed and ends with the judge. The GPU's servers load no
 * context: that would not survive a fork (warm_pool.h). Ownership: the judge's. Threads: any.
 */
#pragma once

#include "sandbox/standby.h"

struct judge;

/* The driver's library, by the settings. */
const char *judge_driver_library(const struct judge *judge);
/* ERR_MISSING: there is no Python with PyTorch. */
NODISCARD int judge_standby(struct judge *judge, enum sandbox_kind kind, struct standby **standby,
                            struct err *err);
