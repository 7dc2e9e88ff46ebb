/* names: plain words, of which ids and paths on disk are made, and the names of checkpoints.
 *
 * A plain word has at most 120 bytes, letters, digits and -_.:, and does not begin with a dot: none
 * leads out of a directory. Errors: ERR_INPUT, with the form that is known. Threads: any.
 */
#pragma once

#include "server/http/http.h"

#define TINKER_ID_BYTES 128 /* with the NUL */

bool tinker_is_plain(const char *text);
/* Calls `one` with each plain name in a directory: of those with the suffix ".json", without it
 * (`json`), or of those that have none. */
void tinker_names_each(const char *path, bool json, void (*one)(void *context, const char *name),
                       void *context);

/* "tinker://RUN/KIND/NAME" */
struct tinker_saved {
    char run[TINKER_ID_BYTES], kind[32], name[TINKER_ID_BYTES];
};
/* The kinds: "weights", "sampler_weights", "external_weights". */
extern const char tinker_training_kind[], tinker_sampler_kind[], tinker_external_kind[];

NODISCARD int tinker_saved_parse(struct tinker_saved *saved, const char *path, struct err *err);
/* Of the segments :run, :kind and :name of a request's path; false: the response is a refusal. */
NODISCARD bool tinker_saved_of(struct tinker_saved *saved, const struct http_request *request,
                               struct http_response *response);
