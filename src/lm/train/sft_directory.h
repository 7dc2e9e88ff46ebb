/* sft_directory: what a fine-tuning run keeps on the disk.
 *
 *   run.json                     what the run consists of; written once
 *   metrics.jsonl                a line for each step and each evaluation
 *   checkpoints/step-00000100/   lm/train/checkpoint.h; the newest of them
 *   model/ or adapter/           what came out of it
 *   lock                         held by the process that trains
 */
#pragma once

#include "base/err.h"
#include "base/json.h"

#include <stdint.h>

struct sft_directory {
    char *path;
    int lock, metrics; /* descriptors, -1: none */
};

/* Makes it, or checks that run.json there is equal to `run`: else ERR_INPUT names what differs.
 * ERR_IO: another process trains there. */
NODISCARD int sft_directory_open(struct sft_directory *directory, const char *path,
                                 const json_t *run, struct err *err);
void sft_directory_close(struct sft_directory *directory);

/* Of a step; the caller's (mem_free). */
char *sft_directory_checkpoint(const struct sft_directory *directory, uint64_t step);
/* Path of the newest whole one (mem_free), NULL where there is none yet. */
char *sft_directory_newest(const struct sft_directory *directory);
/* Removes all but the newest `keep`, and what dead writers left. */
void sft_directory_retain(const struct sft_directory *directory, uint64_t keep);

/* Drops the lines of steps behind `step`, and a half one; later lines follow. */
NODISCARD int sft_directory_cut(struct sft_directory *directory, uint64_t step, struct err *err);
NODISCARD int sft_directory_append(struct sft_directory *directory, const json_t *line,
                                   struct err *err);
/* The lines are on the disk. */
NODISCARD int sft_directory_sync(struct sft_directory *directory, struct err *err);
