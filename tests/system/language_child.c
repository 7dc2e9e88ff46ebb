/* A language for tests, from outside: its candidates are the name of what the side does, honest or
 * not. Its own words do the same before it has seen any candidate. */
#define _GNU_SOURCE
#include "warpgym_child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static struct warpgym_child_map layout;
static char *memory;
static char does[256]; /* the candidate's text */
static const char *self;

static bool is(const char *what)
{
    return strcmp(does, what) == 0;
}

static void say(const void *message, size_t bytes)
{
    if (send(WARPGYM_CHILD_CHANNEL, message, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        _exit(1);
}

static void say_word(uint32_t type, uint32_t version)
{
    say(&(struct warpgym_child_word){type, version}, sizeof(struct warpgym_child_word));
}

static void fail(uint32_t failure, const char *text)
{
    static struct warpgym_child_failed failed = {.type = WARPGYM_CHILD_FAILED};
    failed.failure = failure;
    if (text)
        snprintf(failed.text, sizeof failed.text, "%s", text);
    else
        memset(failed.text, 'x', sizeof failed.text);
    say(&failed, sizeof failed);
}

/* What the fence must refuse; NULL: it does. */
static const char *escape(void)
{
    char *words[] = {(char *)(uintptr_t)self, NULL};
    if (execve(self, words, words) == 0 || errno != EPERM)
        return "execve of itself";
    if (execve("/bin/sh", words, words) == 0 || errno != EPERM)
        return "execve of a shell";
    if (fork() >= 0)
        return "fork";
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
        return "socket";
    if (open("/etc/passwd", O_RDONLY) >= 0 || open("/home", O_RDONLY) >= 0)
        return "files that are not its own";
    for (int fd = WARPGYM_CHILD_CHANNEL + 1; fd < 64; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            return "a descriptor that it was not given";
    return NULL;
}

static void open_candidate(int source)
{
    ssize_t got = read(source, does, sizeof does - 1);
    close(source);
    does[got < 0 ? 0 : got] = '\0';
    does[strcspn(does, "\n")] = '\0';
    const char *escaped = is("escape") ? escape() : NULL;
    if (escaped)
        fail(WARPGYM_CHILD_RUNTIME_ERROR, escaped);
    else if (is("refuse"))
        fail(WARPGYM_CHILD_COMPILE_ERROR, "candidate.two:1:1: error: cannot be refused more");
    else if (is("silent at open"))
        sleep(1000);
    else if (is("garbage at open"))
        say("garbage", 7);
    else if (is("exit at open"))
        _exit(3);
    else
        say_word(WARPGYM_CHILD_OPENED, 0);
}

static void map(int descriptor)
{
    if (descriptor >= 0)
        memory = mmap(NULL, layout.memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (is("done at map"))
        say(&(struct warpgym_child_done){.type = WARPGYM_CHILD_DONE},
            sizeof(struct warpgym_child_done));
    else
        say_word(WARPGYM_CHILD_MAPPED, 0);
}

/* y = max(x, 0), or nearly so */
static void compute(void)
{
    float *x = (float *)(void *)(memory + layout.arguments[0].offset);
    float *y = (float *)(void *)(memory + layout.arguments[1].offset);
    uint64_t count = layout.arguments[1].count;
    for (uint64_t i = 0; i < count; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
    if (is("wrong"))
        y[count - 1] += 1;
    if (is("overrun"))
        y[count] = 1;
    if (is("scribble"))
        x[0] += 1;
}

static void answer(void)
{
    static char large[70000] = {WARPGYM_CHILD_DONE};
    struct warpgym_child_done done = {.type = WARPGYM_CHILD_DONE, .own_ns = 1};
    if (is("garbage"))
        say("garbage, and more of it", 23);
    else if (is("empty"))
        say("", 0);
    else if (is("short"))
        say(&done, 4);
    else if (is("long"))
        say(large, sizeof large);
    else if (is("claims outputs"))
        say(&(struct warpgym_child_done){.type = WARPGYM_CHILD_DONE, .reserved = 5}, sizeof done);
    else if (is("claims many"))
        say(&(struct warpgym_child_done){.type = WARPGYM_CHILD_DONE, .reserved = UINT32_MAX},
            sizeof done);
    else if (is("opened again"))
        say_word(WARPGYM_CHILD_OPENED, 0);
    else if (is("odd failure"))
        fail(99, NULL);
    else if (is("close"))
        close(WARPGYM_CHILD_CHANNEL), sleep(1000);
    else if (is("exit"))
        _exit(3);
    else if (is("crash"))
        *(volatile char *)NULL = 0;
    else if (is("hang"))
        for (volatile int i = 1; i;)
            ;
    else
        say(&done, sizeof done);
    if (is("chatter"))
        say(&done, sizeof done);
}

int main(int argc, char **argv)
{
    static union {
        uint32_t type;
        struct warpgym_child_open open;
        struct warpgym_child_map map;
    } message;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } ancillary;
    const char *word = argc > 1 ? argv[1] : "";
    self = argv[0];
    if (strcmp(word, "silent") == 0)
        sleep(1000);
    if (strcmp(word, "exit") == 0)
        return 3;
    if (strcmp(word, "garbage") == 0)
        say("garbage", 7);
    else
        say_word(WARPGYM_CHILD_HELLO, strcmp(word, "version") == 0 ? 7 : WARPGYM_CHILD_VERSION);
    for (;;) {
        struct iovec vector = {.iov_base = &message, .iov_len = sizeof message};
        struct msghdr header = {.msg_iov = &vector,
                                .msg_iovlen = 1,
                                .msg_control = &ancillary,
                                .msg_controllen = sizeof ancillary};
        if (recvmsg(WARPGYM_CHILD_CHANNEL, &header, 0) <= 0)
            return 0;
        struct cmsghdr *passed = CMSG_FIRSTHDR(&header);
        int descriptor = -1;
        if (passed)
            memcpy(&descriptor, CMSG_DATA(passed), sizeof descriptor);
        if (message.type == WARPGYM_CHILD_OPEN) {
            open_candidate(descriptor);
        } else if (message.type == WARPGYM_CHILD_MAP) {
            layout = message.map;
            map(descriptor);
        } else {
            compute();
            answer();
        }
    }
}
