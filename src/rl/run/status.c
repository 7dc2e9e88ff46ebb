#include "rl/run/status.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

#include <string.h>

#define EVERY_NS 500000000
#define STATUS_BYTES 4096

void run_status_init(struct run_status *status, const char *directory)
{
    *status = (struct run_status){.path = mem_printf("%s/" RUN_STATUS, directory), .phase = ""};
    pthread_mutex_init(&status->lock, NULL);
}

void run_status_deinit(struct run_status *status)
{
    pthread_mutex_destroy(&status->lock);
    mem_free(status->path);
}

static int write_status(const struct run_status *status, uint64_t step, size_t done, size_t all,
                        const char *why, struct err *err)
{
    struct buf text;
    json_t *object = json_object();
    json_put(object, "phase", json_text(status->phase));
    json_put(object, "step", json_integer((json_int_t)step));
    json_put(object, "steps", json_integer((json_int_t)status->steps));
    json_put(object, "done", json_integer((json_int_t)done));
    json_put(object, "all", json_integer((json_int_t)all));
    json_put(object, "why", json_text(why));
    json_put(object, "time", json_time(clock_wall_ms()));
    buf_init(&text, STATUS_BYTES);
    int result = json_line_write(object, &text, err);
    if (result == 0)
        result = file_write_atomic(status->path, text.data, text.len, 0644, err);
    buf_deinit(&text);
    json_decref(object);
    return result;
}

void run_status_tell(struct run_status *status, const char *phase, uint64_t step, uint64_t steps,
                     size_t done, size_t all)
{
    struct err ignored;
    pthread_mutex_lock(&status->lock);
    int64_t now_ns = clock_now_ns();
    if (strcmp(phase, status->phase) != 0 || now_ns - status->told_ns >= EVERY_NS) {
        status->phase = phase;
        status->steps = steps;
        status->told_ns = now_ns;
        (void)!write_status(status, step, done, all, "", &ignored);
    }
    pthread_mutex_unlock(&status->lock);
}

int run_status_finish(struct run_status *status, uint64_t step, const char *why, struct err *err)
{
    pthread_mutex_lock(&status->lock);
    status->phase = RUN_FINISHED;
    status->steps = status->steps ? status->steps : step;
    int result = write_status(status, step, 0, 0, why, err);
    pthread_mutex_unlock(&status->lock);
    return result;
}
