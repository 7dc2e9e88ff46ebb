/* registry: what was loaded, by the handles that the driver gave for it, and what was launched.
 *
 *   module, library ──► source                 when loaded
 *   function, kernel ──► source, name          when asked for in one of those
 *   correlation ──► source                     when launched
 *
 * A record finds its source by its correlation. Kernels in a graph have no launch of their own:
 * they find it by their whole mangled name, if all code of that name is of one origin.
 *
 * Everything is bounded; what finds no room is counted. Threads: one at a time (the caller's lock).
 */
#pragma once

#include "judge/trace/cupti.h"
#include "judge/trace/origin.h"

#include <stddef.h>

#define REGISTRY_NONE 0 /* a source, or a name: none */

/* False: no memory. Later calls do nothing. */
bool registry_init(void);
/* Forgets launches and records, keeps what is loaded. */
void registry_begin(void);

void registry_loaded(const void *handle, const struct origin *origin);
/* `of` is a handle that was seen, or not: then the source is not known. */
void registry_derived(const void *handle, const void *of, const char *name);
bool registry_knows(const void *handle);
/* The name of a handle that was derived without one. */
void registry_named(const void *handle, const char *name);
void registry_launched(const void *handle, uint32_t correlation);
void registry_failed(void);

void registry_kernel(const struct cupti_kernel *kernel);
void registry_copy(const struct cupti_copy *copy);
void registry_lost(uint64_t records);

/* Writes the stream from the start of `fd`. False: it could not be written. */
bool registry_write(int fd, struct trace_header *header);
