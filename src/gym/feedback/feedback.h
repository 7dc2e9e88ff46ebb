/* feedback: the facts of a verdict for the model that wrote the candidate.
 *
 * feedback_facts makes a verdict and the candidate's text into one flat JSON object for templates
 * (docs/reference/answers.md lists its keys): a headline in words, the compiler's or traceback's
 * excerpt with the candidate's own lines quoted, what the candidate printed, the first mismatch
 * with index and magnitude, runtimes and speedup with its interval, the most expensive kernels,
 * violations in words, advice for the status. Prompt styles have their own template
 * (prompts/STYLE/feedback.txt).
 *
 * Never included: the reference's text or outputs beyond the magnitude of one mismatch, seeds,
 * drawn sizes but those that the candidate prints, tolerances' internals, paths of the judge's
 * machine. Every text is bounded and clean (feedback/internal.h). Threads: pure. Ownership: new
 * references.
 */
#pragma once

#include "judge/verdict.h"

#include <jansson.h>

#define FEEDBACK_EXCERPT_BYTES 4000
#define FEEDBACK_KERNELS 5

/* `verdict` may be a server's: its texts are untrusted. `source`: the candidate, NULL if the answer
 * has none (then `verdict` is NULL, too, and the facts say so). */
json_t *feedback_facts(const struct verdict *verdict, const char *source);
