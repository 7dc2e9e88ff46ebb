/* profile_text: a launch trace's part of the verdict, in JSON and in words.
 *
 * The words are for the author of the kernels, a person or a model: what took the time, what limits
 * it, what stands out. Bounded; names in it are printable ASCII (trace.h makes them so). Without a
 * trace in the verdict each of these adds nothing.
 */
#pragma once

#include "base/buf.h"
#include "judge/verdict.h"

#define PROFILE_TEXT_BYTES 8192
#define PROFILE_COVERAGE_BYTES 128
#define PROFILE_COLUMNS 131

/* A kernel's name, the last thing in its line, is cut where `columns` (PROFILE_COLUMNS at least)
 * end. */
void profile_text(const struct verdict *verdict, size_t columns, struct buf *out);

/* By the names of KernelGYM's answers, for its clients: own kernels of all, and their time. */
void profile_coverage_text(const struct launch_totals *all, char text[PROFILE_COVERAGE_BYTES]);
void profile_time_coverage_text(const struct launch_totals *all, char text[PROFILE_COVERAGE_BYTES]);
