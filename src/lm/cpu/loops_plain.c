/* What every machine runs. */
#define LOOPS lm_loops_plain
#define LOOPS_NAME "plain"
#define VECTOR_BYTES 16
#include "lm/cpu/loops_code.h"
