/* kernelgym: KernelGYM's environment variables where they mean the same as a setting.
 *
 * Their names are such as other programs use, too (LOG_LEVEL; REDIS_PORT, which Kubernetes sets to
 * tcp://… for a service called redis). So a value that KernelGYM would refuse is not an error here:
 * it belongs to another program.
 */
#pragma once

#include "base/settings.h"

NODISCARD int kernelgym_read_environment(struct settings *settings, char *const *environment,
                                         struct err *err);
/* Their names for one setting, NULL where `index` is past the last. */
const char *kernelgym_variable(const char *path, size_t index);
