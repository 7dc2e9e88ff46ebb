/* profile_text: a launch trace's part of the verdict, in JSON and in words.
 *
 * The words are for the author of the kernels, a person or a model: what took the time, what limits
 * it, what stands out. Bounded; names in it are printable ASCII (trace.h makes them so). Without a
 * trace in the verdict each of these adds nothing.
 */
#ifndef WARPGYM_JUDGE_MEASURE_PROFILE_TEXT_H
#define WARPGYM_JUDGE_MEASURE_PROFILE_TEXT_H

#include "base/buf.h"
#include "judge/verdict.h"

#define PROFILE_TEXT_BYTES 8192

void profile_text(const struct verdict *verdict, struct buf *out);

/* Into the object of a kernel; into the profile's. */
void profile_kernel_json(const struct kernel_share *kernel, json_t *object);
void profile_totals_json(const struct verdict *verdict, json_t *profile);

#endif
