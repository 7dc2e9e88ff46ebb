/* event_file: TensorBoard's event files.
 *
 * A record is its length, the length's checksum, the bytes and their checksum: CRC-32C, rotated and
 * offset ("masked") as TFRecord requires. The bytes are a protocol buffer, Event{wall_time, step,
 * file_version | summary | session_log} (base/protobuf.h).
 *
 * Each process writes a file of its own: a killed process may leave half a record at the end, where
 * readers stop and continue with the next file by name. The number in a name is the time, or one
 * more than the greatest in the directory, so that names ascend whatever the clock does. Each file
 * begins with the step at which its process resumes (a START of its session), and readers drop what
 * older files have of that step and later ones: the work of a killed process after its last
 * checkpoint.
 *
 * Each record is one write(2): complete or truncated, never interleaved. The caller gives `step`;
 * the wall time is the clock's. Values that are not finite are written; TensorBoard shows gaps.
 *
 * Ownership: the caller's storage. Threads: any number may write. Errors: ERR_IO, ERR_LIMIT (above
 * LIMIT_TFEVENT_BYTES), ERR_INPUT (a tag that is not UTF-8).
 */
#pragma once

#include "base/err.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_FILE_PREFIX "events.out.tfevents."

struct event_file {
    int fd; /* -1: closed */
    char *path;
    pthread_mutex_t lock;
};

/* CRC-32C (Castagnoli; RFC 3720, appendix B.4) of `bytes`, and masked. */
uint32_t event_file_crc32c(const void *bytes, size_t count);
uint32_t event_file_masked_crc(const void *bytes, size_t count);

/* Tags are UTF-8, "Reward/Mean". */
NODISCARD int event_file_scalar(struct event_file *events, uint64_t step, const char *tag,
                                double value, struct err *err);
/* Markdown. */
NODISCARD int event_file_text(struct event_file *events, uint64_t step, const char *tag,
                              const char *text, struct err *err);
/* 30 buckets of equal width from the least to the greatest value; values that are not finite are
 * left out, and nothing is written if none is finite. */
NODISCARD int event_file_histogram(struct event_file *events, uint64_t step, const char *tag,
                                   const double *values, size_t count, struct err *err);

struct event_file_hparam {
    const char *name;
    const char *text; /* NULL: value */
    double value;
};
/* The run's settings, for the HParams tab; `group` names the run. */
NODISCARD int event_file_hparams(struct event_file *events, const char *group,
                                 const struct event_file_hparam *hparams, size_t count,
                                 struct err *err);

/* Creates the directory and a new file in it. ERR_IO. */
NODISCARD int event_file_open(struct event_file *events, const char *directory, uint64_t first_step,
                              struct err *err);
void event_file_close(struct event_file *events);
