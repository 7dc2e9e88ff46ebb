/* kernelgym_translate: makes an evaluation request of our own (judge/request/request.h), which a
 * queue can keep, of KernelGYM's, and checks its content.
 *
 * A mistake of content (no class of that name, a candidate that is too short or too long) is a
 * failed evaluation: the request that is made carries the reason in `refused`, so that the job ends
 * with it and /status and /results agree.
 *
 * Ownership: new references. Pure functions; any thread. */
#pragma once

#include "base/settings.h"
#include "server/kernelgym/request.h"

#include <jansson.h>

/* The answer of POST /debug/validate: `valid`, `errors`, and the validity of each part. */
json_t *kernelgym_validation(const struct kernelgym_request *request);

/* An object for evaluation_request_parse, with the request's terms in `notes` for result.h.
 * `settings` are the server's: the number of samples does not go below its minimum. */
json_t *kernelgym_translate(const struct kernelgym_request *request,
                            const struct settings *settings);
