/* files: runs and checkpoints on disk, under the service's directory.
 *
 *   RUN/run.json                      what the run is
 *   RUN/KIND/NAME, RUN/KIND/NAME.json a checkpoint, and when it was saved and expires
 *   RUN/unnamed/NUMBER                sampler weights without a name
 *
 * They outlive the server: lists are read from the directory each time. Ownership: texts and JSON
 * that are returned are the caller's (mem_free, json_decref). Threads: any. Errors: ERR_MISSING
 * where there is no such run or checkpoint, ERR_INPUT where the request asks for what cannot be.
 */
#pragma once

#include "base/json.h"
#include "server/tinker/names.h"

struct tinker_run;
struct tinker_service;

char *tinker_saved_directory(const struct tinker_service *service,
                             const struct tinker_saved *saved);
char *tinker_unnamed_directory(const struct tinker_service *service, const char *run,
                               uint64_t number);

NODISCARD int tinker_run_write(const struct tinker_service *service, const struct tinker_run *run,
                               struct err *err);
/* With its last checkpoints. */
NODISCARD int tinker_run_read(const struct tinker_service *service, const char *run, json_t **out,
                              struct err *err);
/* All runs, the latest first. */
json_t *tinker_runs_list(const struct tinker_service *service);

/* Writes a checkpoint's NAME.json: the time, and ttl_seconds and user_metadata of the request. */
NODISCARD int tinker_checkpoint_describe(const struct tinker_service *service,
                                         const struct tinker_saved *saved, const json_t *request,
                                         struct err *err);
NODISCARD int tinker_checkpoint_exists(const struct tinker_service *service,
                                       const struct tinker_saved *saved, struct err *err);
NODISCARD int tinker_checkpoint_delete(const struct tinker_service *service,
                                       const struct tinker_saved *saved, struct err *err);
/* ttl_seconds null: never. */
NODISCARD int tinker_checkpoint_expire(const struct tinker_service *service,
                                       const struct tinker_saved *saved, const json_t *ttl,
                                       struct err *err);
/* Checkpoints of a run (NULL: of all), newest first. */
json_t *tinker_checkpoints_list(const struct tinker_service *service, const char *run);
/* Deletes those whose time has come. */
void tinker_checkpoints_expire(const struct tinker_service *service);
