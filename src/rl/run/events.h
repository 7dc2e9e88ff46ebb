/* events: TensorBoard's event files.
 *
 * A record is the count of its bytes, that count's checksum, the bytes and theirs: CRC-32C, turned
 * and offset ("masked") as TFRecord wants it. The bytes are a protocol buffer, Event{wall_time,
 * step, file_version | summary | session_log}, written by hand: the eight messages that are needed
 * have few fields.
 *
 * One file for each process: a process that was killed may leave half a record at the end of its
 * own, where readers stop, and then go on to the next file by name. So that names ascend whatever
 * the clock does, the number in a name is the time, or one more than the greatest in the directory.
 * Each file begins with the step that its process goes on from (a START of its session), and
 * readers forget what older files have of that step and later ones: what a killed process had done
 * beyond its last checkpoint.
 *
 * Each record is one write(2): whole or cut short, never mixed. With `step` given by the caller and
 * a wall time of the clock. Values that are not finite are written as they are; TensorBoard shows
 * gaps.
 *
 * Ownership: the caller's storage. Threads: any number may write.
 */
#ifndef WARPGYM_RL_RUN_EVENTS_H
#define WARPGYM_RL_RUN_EVENTS_H

#include "base/err.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct events {
    int fd; /* -1: closed */
    char *path;
    pthread_mutex_t lock;
};

/* Makes the directory and a new file in it. ERR_IO. */
NODISCARD int events_open(struct events *events, const char *directory, uint64_t first_step,
                          struct err *err);
void events_close(struct events *events);

/* Tags are UTF-8, "Reward/Mean". */
NODISCARD int events_scalar(struct events *events, uint64_t step, const char *tag, double value,
                            struct err *err);
/* Markdown. */
NODISCARD int events_text(struct events *events, uint64_t step, const char *tag, const char *text,
                          struct err *err);
/* 30 buckets of equal width from the least to the greatest; what is not finite is left out, and
 * nothing is written where nothing is left. */
NODISCARD int events_histogram(struct events *events, uint64_t step, const char *tag,
                               const double *values, size_t count, struct err *err);

struct events_hparam {
    const char *name;
    const char *text; /* NULL: value */
    double value;
};
/* What the run was made with, for the HParams tab; `group` names the run. */
NODISCARD int events_hparams(struct events *events, const char *group,
                             const struct events_hparam *hparams, size_t count, struct err *err);

/* CRC-32C (Castagnoli; RFC 3720, appendix B.4) of `bytes`, and as a record has it. */
uint32_t events_crc32c(const void *bytes, size_t count);
uint32_t events_masked_crc(const void *bytes, size_t count);

#endif
