#include "queue/sqlite.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static int64_t machine_wall_ms(void *context)
{
    return clock_wall_ms();
}

static int64_t machine_boot_ms(void *context)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static const char *machine_boot_id(void *context)
{
    return context;
}

struct machine {
    struct queue_clock clock;
    char boot[SQLITE_BOOT_BYTES];
};

/* Without /proc all boots have the same id, and leases of the last boot expire by the clock
 * alone. */
static void machine_init(struct machine *machine)
{
    machine->clock = (struct queue_clock){machine_wall_ms, machine_boot_ms, machine_boot_id,
                                          machine->boot};
    snprintf(machine->boot, sizeof machine->boot, "unknown");
    int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t got = read(fd, machine->boot, sizeof machine->boot - 1);
    close(fd);
    if (got > 0)
        machine->boot[strcspn(machine->boot, "\n")] = '\0';
}

struct opened {
    struct sqlite_store store; /* first */
    struct machine machine;
};

static int open_wake(struct sqlite_store *store, struct err *err)
{
    char *path = mem_printf("%s-wake", store->path);
    store->wake_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int result = store->wake_fd < 0 ? err_sys(err, errno, "%s", path) : 0;
    mem_free(path);
    return result;
}

static void sqlite_close(struct queue *queue)
{
    struct sqlite_store *store = (struct sqlite_store *)queue;
    sqlite_events_stop(store);
    sqlite_writer_stop(store);
    sqlite_readers_close(store);
    sqlite_db_close(&store->event_db);
    sqlite_db_close(&store->writer);
    if (store->wake_fd >= 0)
        close(store->wake_fd);
    queue_deinit(&store->queue);
    mem_free(store->path);
    mem_free(store);
}

static int open_parts(struct sqlite_store *store, struct err *err)
{
    int busy_ms = store->queue.options.call_ms;
    int result = sqlite_db_open(&store->writer, store->path, busy_ms, true, err);
    if (result == 0)
        result = sqlite_db_open(&store->event_db, store->path, busy_ms, false, err);
    if (result == 0)
        result = sqlite_readers_open(store, err);
    if (result == 0)
        result = open_wake(store, err);
    if (result == 0)
        result = sqlite_writer_start(store, err);
    return result == 0 ? sqlite_events_start(store, err) : result;
}

static int sqlite_open(struct queue **out, const char *place, const struct queue_options *options,
                       struct err *err)
{
    if (*place == '\0')
        return err_set(err, ERR_INPUT, "queue: sqlite: needs the path of a file: sqlite:PATH");
    struct opened *opened = mem_alloc(sizeof *opened);
    struct sqlite_store *store = &opened->store;
    char *name = mem_printf("%s%s", queue_sqlite.scheme, place);
    queue_init(&store->queue, &queue_sqlite, name, options);
    mem_free(name);
    machine_init(&opened->machine);
    store->clock = options->clock ? options->clock : &opened->machine.clock;
    store->path = mem_strdup(place);
    store->wake_fd = store->event_inotify = store->event_stop = -1;
    int result = open_parts(store, err);
    if (result < 0)
        sqlite_close(&store->queue);
    else
        *out = &store->queue;
    return result;
}

const struct queue_store queue_sqlite = {.scheme = "sqlite:",
                                         .open = sqlite_open,
                                         .close = sqlite_close,
                                         .probe = sqlite_probe,
                                         .put = sqlite_put,
                                         .cancel = sqlite_cancel,
                                         .get = sqlite_get,
                                         .find = sqlite_find,
                                         .list = sqlite_list,
                                         .stats = sqlite_queue_stats,
                                         .claim = sqlite_claim,
                                         .renew = sqlite_renew,
                                         .finish = sqlite_finish,
                                         .fail = sqlite_fail,
                                         .reap = sqlite_reap,
                                         .register_worker = sqlite_register,
                                         .registrations = sqlite_registrations,
                                         .document_put = sqlite_document_put,
                                         .document_get = sqlite_document_get,
                                         .document_remove = sqlite_document_remove};
