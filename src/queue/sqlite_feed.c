#include "base/log.h"
#include "base/mem.h"
#include "queue/sqlite.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#define EVENTS_MAX 500
/* Where nobody touched the file after a commit (its process died just then), and where this machine
 * has no inotify watch left for us. */
#define LOOK_MS 500
#define LOOK_WITHOUT_INOTIFY_MS 20

/* -1: nothing was read, which the next look makes up for. */
static int read_position(struct sqlite_store *store, int64_t *last, int64_t *removed)
{
    sqlite3_stmt *statement = NULL;
    struct err err;
    if (sqlite_db_start(&store->feed, SQL_POSITION, &statement, &err, "") < 0 ||
        sqlite_db_step(&store->feed, statement, &err) != 1)
        return -1;
    *last = sqlite3_column_int64(statement, 0);
    *removed = sqlite3_column_int64(statement, 1);
    sqlite3_reset(statement);
    return 0;
}

static void fill(sqlite3_stmt *statement, struct queue_event *event)
{
    event->number = sqlite3_column_int64(statement, 0);
    sqlite_db_text(statement, 1, event->id, sizeof event->id);
    sqlite_db_text(statement, 2, event->batch, sizeof event->batch);
    event->state = (enum queue_state)sqlite3_column_int(statement, 3);
    sqlite_db_text(statement, 4, event->outcome, sizeof event->outcome);
    event->cancel_asked = sqlite3_column_int(statement, 5) != 0;
}

/* One page of changes; true: there may be more. The order matters: what is removed between the two
 * reads lies above the position that was looked at, and is found by the next page's look. */
static bool tell_page(struct sqlite_store *store, struct queue_event *events)
{
    sqlite3_stmt *statement = NULL;
    int64_t last, removed;
    struct err err;
    size_t count = 0;
    if (sqlite_db_start(&store->feed, SQL_EVENTS, &statement, &err, "ii", store->feed_position,
                        (int64_t)EVENTS_MAX) < 0)
        return false;
    while (count < EVENTS_MAX && sqlite_db_step(&store->feed, statement, &err) == 1)
        fill(statement, &events[count++]);
    sqlite3_reset(statement);
    if (read_position(store, &last, &removed) < 0)
        return false;
    if (removed > store->feed_position)
        queue_tell(&store->queue, NULL, 0);
    if (count == 0) {
        if (removed > store->feed_position)
            store->feed_position = removed;
        return false;
    }
    queue_tell(&store->queue, events, count);
    store->feed_position = events[count - 1].number;
    return count == EVENTS_MAX;
}

/* Whether one of the touches says that a job may be claimable. */
static bool drain(int fd)
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

static void *feed_all(void *argument)
{
    struct sqlite_store *store = argument;
    struct queue_event *events = mem_alloc(EVENTS_MAX * sizeof *events);
    struct pollfd polled[] = {{.fd = store->feed_stop, .events = POLLIN},
                              {.fd = store->feed_inotify, .events = POLLIN}};
    int look_ms = store->feed_inotify < 0 ? LOOK_WITHOUT_INOTIFY_MS : LOOK_MS;
    for (;;) {
        int result = poll(polled, 2, look_ms);
        if (polled[0].revents)
            break;
        if (store->feed_inotify < 0 || (result > 0 && drain(store->feed_inotify)))
            queue_wake(&store->queue);
        while (tell_page(store, events))
            continue;
    }
    mem_free(events);
    return NULL;
}

static void watch_file(struct sqlite_store *store)
{
    char *path = mem_printf("%s-wake", store->path);
    store->feed_inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (store->feed_inotify >= 0 &&
        inotify_add_watch(store->feed_inotify, path, IN_MODIFY | IN_ATTRIB) < 0) {
        close(store->feed_inotify);
        store->feed_inotify = -1;
    }
    if (store->feed_inotify < 0)
        log_event(LOG_LEVEL_INFO, "queue", "no inotify: looking for changes all the time", "path",
                  path, NULL);
    mem_free(path);
}

int sqlite_feed_start(struct sqlite_store *store, struct err *err)
{
    int64_t removed;
    if (read_position(store, &store->feed_position, &removed) < 0)
        return sqlite_db_error(&store->feed, err);
    store->feed_stop = eventfd(0, EFD_CLOEXEC);
    if (store->feed_stop < 0)
        return err_sys(err, errno, "queue: eventfd");
    watch_file(store);
    int result = pthread_create(&store->feed_thread, NULL, feed_all, store);
    if (result == 0)
        return 0;
    close(store->feed_stop);
    store->feed_stop = -1;
    return err_sys(err, result, "queue: cannot start the feed thread");
}

void sqlite_feed_stop(struct sqlite_store *store)
{
    if (store->feed_stop >= 0) {
        (void)!write(store->feed_stop, &(uint64_t){1}, sizeof(uint64_t));
        pthread_join(store->feed_thread, NULL);
        close(store->feed_stop);
    }
    if (store->feed_inotify >= 0)
        close(store->feed_inotify);
}
