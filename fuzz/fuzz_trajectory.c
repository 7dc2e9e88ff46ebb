/* Any bytes as trajectories.jsonl: each line is refused with its place, or a trajectory of which
 * every text can be read; the file never ends without a reason. */
#include "base/file.h"
#include "base/limits.h"
#include "gym/episode/trajectory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t touch(const struct trajectory *trajectory)
{
    size_t sum = strlen(trajectory->problem) + strlen(trajectory->episode) +
                 strlen(trajectory->ended_at);
    if (!*trajectory->problem || trajectory->turn_count > LIMIT_TURNS)
        abort();
    for (size_t i = 0; i < trajectory->turn_count; i++) {
        const struct trajectory_turn *turn = &trajectory->turns[i];
        sum += strlen(turn->answer) + strlen(turn->code) + strlen(turn->status) +
               json_object_size(turn->verdict) + json_array_size(turn->logprobs);
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct trajectory trajectory;
    int fd = file_memory_from("fuzz", data, size, &err);
    if (fd < 0)
        return 0;
    struct lines *lines = lines_open_fd(fd, "f.jsonl", LIMIT_TRAJECTORY_BYTES);
    bool cut = false;
    int result;
    while ((result = trajectory_next(lines, &trajectory, &cut, &err)) > 0) {
        if (touch(&trajectory) == 0)
            abort();
        trajectory_deinit(&trajectory);
    }
    if (result < 0 && strncmp(err.text, "f.jsonl:", 8) != 0)
        abort();
    if (result == 0 && cut && (size == 0 || data[size - 1] == '\n'))
        abort();
    lines_close(lines);
    return 0;
}
