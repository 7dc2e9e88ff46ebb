#include "redis_server.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_MS 30000
#define STARTS 5 /* somebody else may take the port that was free */

static void give_up(const char *what)
{
    fprintf(stderr, "redis_server: %s\n", what);
    exit(1);
}

bool redis_server_usable(void)
{
    char *path = process_find("redis-server");
    if (!path)
        fprintf(stderr, "skipped: no redis-server in PATH (apt-get install redis-server)\n");
    mem_free(path);
    return path != NULL;
}

static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        give_up("no free port");
    close(fd);
    return ntohs(address.sin_port);
}

static void run_server(const struct redis_server *server, const char *path, pid_t parent)
{
    char port[16];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    dup2(null, 2);
    snprintf(port, sizeof port, "%d", server->port);
    execl(path, path, "--port", port, "--bind", "127.0.0.1", "--dir", server->directory, "--save",
          "", "--appendonly", server->durable ? "yes" : "no", "--appendfsync", "always",
          "--requirepass", server->password ? server->password : "", "--logfile", "server.log",
          (char *)NULL);
    _exit(127);
}

/* 0: it did not come up, and is gone. */
static bool answers(struct redis_server *server)
{
    int64_t deadline_ns = clock_now_ns() + (int64_t)START_MS * 1000000;
    while (clock_now_ns() < deadline_ns) {
        struct timeval timeout = {.tv_sec = 5};
        if (waitpid(server->pid, NULL, WNOHANG) == server->pid) {
            server->pid = 0;
            return false;
        }
        redisContext *context = redisConnectWithTimeout("127.0.0.1", server->port, timeout);
        redisReply *reply = context && !context->err ? redisCommand(context, "PING") : NULL;
        bool loading = reply && reply->type == REDIS_REPLY_ERROR && reply->str[0] == 'L';
        bool up = reply && !loading;
        if (reply)
            freeReplyObject(reply);
        if (context)
            redisFree(context);
        if (up)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    redis_server_end(server, SIGKILL);
    return false;
}

void redis_server_start(struct redis_server *server)
{
    bool again = server->directory[0] != '\0';
    const char *parent = getenv("TMPDIR");
    char *path = process_find("redis-server");
    if (!again) {
        snprintf(server->directory, sizeof server->directory, "%s/warpgym-redis-XXXXXX",
                 parent ? parent : "/tmp");
        if (!mkdtemp(server->directory))
            give_up("no directory");
    }
    for (int i = 0; i < STARTS; i++) {
        pid_t self = getpid();
        server->port = again ? server->port : free_port();
        server->pid = fork();
        if (server->pid == 0)
            run_server(server, path, self);
        if (answers(server))
            break;
    }
    if (server->pid == 0)
        give_up("redis-server does not come up");
    mem_free(path);
    snprintf(server->url, sizeof server->url, "redis://%s%s%s127.0.0.1:%d/0",
             server->password ? ":" : "", server->password ? server->password : "",
             server->password ? "@" : "", server->port);
}

void redis_server_end(struct redis_server *server, int signal_number)
{
    if (server->pid == 0)
        return;
    kill(server->pid, signal_number);
    while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    server->pid = 0;
}

void redis_server_remove(struct redis_server *server)
{
    redis_server_end(server, SIGKILL);
    file_remove_tree(server->directory);
    server->directory[0] = '\0';
}

redisContext *redis_server_connect(const struct redis_server *server)
{
    redisContext *context = redisConnect("127.0.0.1", server->port);
    if (!context || context->err)
        give_up("no connection");
    if (server->password)
        freeReplyObject(redis_server_ask(context, "AUTH %s", server->password));
    return context;
}

redisReply *redis_server_ask(redisContext *context, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    redisReply *reply = redisvCommand(context, format, args);
    va_end(args);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        give_up(reply ? reply->str : context->errstr);
    return reply;
}
