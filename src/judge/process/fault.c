#include "judge/process/fault.h"

int fault_set(struct fault *fault, enum fault_source source, const struct err *err)
{
    if (fault->source == FAULT_NONE) {
        fault->source = source;
        fault->err = *err;
    }
    return -1;
}
