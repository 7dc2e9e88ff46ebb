#include "base/log.h"
#include "base/mem.h"
#include "queue/sqlite.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#define EVENTS_MAX 500
/* Polls for commits whose wake-up is missing because their process died, and where no inotify
 * watch is left. */
#define LOOK_MS 500
#define LOOK_WITHOUT_INOTIFY_MS 20

/* -1: nothing was read; the next poll makes up for it. */
static int read_position(struct sqlite_store *store, int64_t *last, int64_t *removed)
{
    sqlite3_stmt *statement = NULL;
    struct err err;
    if (sqlite_db_first(&store->event_db, SQL_POSITION, &statement, &err, "") != 1)
        return -1;
    *last = sqlite3_column_int64(statement, 0);
    *removed = sqlite3_column_int64(statement, 1);
    sqlite3_reset(statement);
    return 0;
}

static void read_event(sqlite3_stmt *statement, struct queue_event *event)
{
    event->number = sqlite3_column_int64(statement, 0);
    sqlite_db_text(statement, 1, event->id, sizeof event->id);
    sqlite_db_text(statement, 2, event->batch, sizeof event->batch);
    event->state = (enum queue_state)sqlite3_column_int(statement, 3);
    sqlite_db_text(statement, 4, event->outcome, sizeof event->outcome);
    event->cancel_requested = sqlite3_column_int(statement, 5) != 0;
}

/* One page of changes; true: there may be more. The order matters: a change removed between the
 * two reads is above the position that was read, and the next page's check finds it. */
static bool notify_page(struct sqlite_store *store, struct queue_event *events)
{
    sqlite3_stmt *statement = NULL;
    int64_t last, removed;
    struct err err;
    size_t count = 0;
    int result = sqlite_db_start(&store->event_db, SQL_EVENTS, &statement, &err, "ii",
                                 store->event_position, (int64_t)EVENTS_MAX);
    if (result < 0)
        return false;
    while (count < EVENTS_MAX && sqlite_db_next(&store->event_db, statement, &result, &err))
        read_event(statement, &events[count++]);
    sqlite3_reset(statement);
    if (read_position(store, &last, &removed) < 0)
        return false;
    if (removed > store->event_position)
        queue_notify(&store->queue, NULL, 0);
    if (count == 0) {
        if (removed > store->event_position)
            store->event_position = removed;
        return false;
    }
    queue_notify(&store->queue, events, count);
    store->event_position = events[count - 1].number;
    return count == EVENTS_MAX;
}

/* True: one of the touches says that a job may be claimable. */
static bool drain_inotify(int fd)
{
    _Alignas(struct inotify_event) char bytes[4096];
    bool ready = false;
    ssize_t got;
    while ((got = read(fd, bytes, sizeof bytes)) > 0)
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event = (const void *)(bytes + at);
            ready = ready || (event->mask & (IN_MODIFY | IN_Q_OVERFLOW));
            at += (ssize_t)(sizeof *event + event->len);
        }
    return ready;
}

static void *event_thread_main(void *argument)
{
    struct sqlite_store *store = argument;
    struct queue_event *events = mem_alloc(EVENTS_MAX * sizeof *events);
    struct pollfd polled[] = {{.fd = store->event_stop, .events = POLLIN},
                              {.fd = store->event_inotify, .events = POLLIN}};
    int look_ms = store->event_inotify < 0 ? LOOK_WITHOUT_INOTIFY_MS : LOOK_MS;
    for (;;) {
        int result = poll(polled, 2, look_ms);
        if (polled[0].revents)
            break;
        if (store->event_inotify < 0 || (result > 0 && drain_inotify(store->event_inotify)))
            queue_wake(&store->queue);
        while (notify_page(store, events))
            continue;
    }
    mem_free(events);
    return NULL;
}

static void watch_file(struct sqlite_store *store)
{
    char *path = mem_printf("%s-wake", store->path);
    store->event_inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (store->event_inotify >= 0 &&
        inotify_add_watch(store->event_inotify, path, IN_MODIFY | IN_ATTRIB) < 0) {
        close(store->event_inotify);
        store->event_inotify = -1;
    }
    if (store->event_inotify < 0)
        log_event(LOG_LEVEL_INFO, "queue", "no inotify: polling for changes", "path", path, NULL);
    mem_free(path);
}

int sqlite_events_start(struct sqlite_store *store, struct err *err)
{
    int64_t removed;
    if (read_position(store, &store->event_position, &removed) < 0)
        return sqlite_db_error(&store->event_db, err);
    store->event_stop = eventfd(0, EFD_CLOEXEC);
    if (store->event_stop < 0)
        return err_sys(err, errno, "queue: eventfd");
    watch_file(store);
    int result = pthread_create(&store->event_thread, NULL, event_thread_main, store);
    if (result == 0)
        return 0;
    close(store->event_stop);
    store->event_stop = -1;
    return err_sys(err, result, "queue: cannot start the event thread");
}

void sqlite_events_stop(struct sqlite_store *store)
{
    if (store->event_stop >= 0) {
        (void)!write(store->event_stop, &(uint64_t){1}, sizeof(uint64_t));
        pthread_join(store->event_thread, NULL);
        close(store->event_stop);
    }
    if (store->event_inotify >= 0)
        close(store->event_inotify);
}
