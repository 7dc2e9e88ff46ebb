/* records: small JSON files, DIRECTORY/.KIND/ID.json: what the service knows of sessions and
 * samplers after a restart.
 *
 * Ids are plain words (names.h). Threads: any; one that is written replaces the one before at once.
 */
#pragma once

#include "base/json.h"

struct tinker_service;

NODISCARD int tinker_record_write(const struct tinker_service *service, const char *kind,
                                  const char *id, const json_t *record, struct err *err);
/* The caller's reference; NULL: there is none that can be read. */
json_t *tinker_record_read(const struct tinker_service *service, const char *kind, const char *id);
void tinker_record_remove(const struct tinker_service *service, const char *kind, const char *id);
/* Calls for each record's id. */
void tinker_records_each(struct tinker_service *service, const char *kind,
                         void (*one)(struct tinker_service *service, const char *id));
