#include "server/http/internal.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENTS 64

void http_watch_wake(struct http_server *server)
{
    uint64_t one = 1;
    ssize_t ignored = write(server->wake_fd, &one, sizeof one); /* full: it wakes anyway */
    (void)ignored;
}

/* Handles expired deadlines; returns how long to sleep. */
static int handle_deadlines(struct http_server *server)
{
    int64_t next_ns, now_ns = clock_now_ns();
    struct http_timer *timer;
    while ((timer = http_timers_pop(&server->timers, now_ns, &next_ns)))
        http_connection_timeout((struct http_connection *)timer, now_ns);
    return next_ns == HTTP_TIMER_NEVER ? -1 : clock_left_ms(next_ns);
}

/* After the events of this round, which may refer to them; later ones cannot. */
static void free_closed(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    struct http_connection *dead = server->dead;
    server->dead = NULL;
    pthread_mutex_unlock(&server->lock);
    while (dead) {
        struct http_connection *next = dead->next;
        http_connection_free_closed(dead);
        dead = next;
    }
}

static bool has_quit(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    bool quit = server->quit;
    pthread_mutex_unlock(&server->lock);
    return quit;
}

static void *watch_thread_main(void *argument)
{
    struct http_server *server = argument;
    struct epoll_event events[EVENTS];
    while (!has_quit(server)) {
        int sleep_ms = handle_deadlines(server);
        int count = epoll_wait(server->epoll_fd, events, EVENTS, sleep_ms);
        for (int i = 0; i < count; i++) {
            uint64_t ignored;
            if (events[i].data.ptr)
                http_connection_event(events[i].data.ptr);
            else if (read(server->wake_fd, &ignored, sizeof ignored) < 0)
                continue; /* the same read consumed another thread's wake-up */
        }
        free_closed(server);
    }
    return NULL;
}

int http_watch_start(struct http_server *server, struct err *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    server->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (server->epoll_fd < 0 || server->wake_fd < 0 ||
        epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, server->wake_fd, &event) < 0)
        return err_sys(err, errno, "cannot watch connections");
    int code = pthread_create(&server->watcher, NULL, watch_thread_main, server);
    return code == 0 ? 0 : err_sys(err, code, "cannot start the thread that watches connections");
}

/* libmicrohttpd has stopped, so no connection is live; those that linger are cut off. */
void http_watch_stop(struct http_server *server)
{
    int64_t next_ns;
    struct http_timer *timer;
    pthread_mutex_lock(&server->lock);
    server->quit = true;
    pthread_mutex_unlock(&server->lock);
    http_watch_wake(server);
    pthread_join(server->watcher, NULL);
    free_closed(server);
    while ((timer = http_timers_pop(&server->timers, HTTP_TIMER_NEVER - 1, &next_ns)))
        http_connection_timeout((struct http_connection *)timer, HTTP_TIMER_NEVER - 1);
}
