/* What tests run inside a sandbox: tries one thing and says how it went, in one line.
 *
 *   probe WHAT [ARGUMENT]      "done", "refused: EPERM" or a value
 *
 * Tests compile it themselves: as a static program, or (PROBE_SOLUTION) as a candidate whose inputs
 * and outputs are these texts. It is not part of warpgym. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_BYTES 256

static void say(char *answer, long result)
{
    if (result >= 0)
        snprintf(answer, ANSWER_BYTES, "done");
    else
        snprintf(answer, ANSWER_BYTES, "refused: %s", strerrorname_np(errno));
}

static void try_connect(const char *port, char *answer)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)strtol(port, NULL, 10)),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    say(answer, fd < 0 ? fd : connect(fd, (struct sockaddr *)&address, sizeof address));
}

static void try_abstract(const char *name, char *answer)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memcpy(address.sun_path + 1, name, strlen(name));
    say(answer, fd < 0 ? fd : connect(fd, (struct sockaddr *)&address, (socklen_t)length));
}

static void try_read(const char *path, char *answer)
{
    char byte;
    int fd = open(path, O_RDONLY);
    say(answer, fd < 0 ? fd : read(fd, &byte, 1));
    if (fd >= 0)
        close(fd);
}

static void try_write(const char *path, char *answer)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    say(answer, fd < 0 ? fd : write(fd, "x", 1));
    if (fd >= 0)
        close(fd);
}

/* Everything that there is, in all files that it takes; how much that is. */
static void fill_scratch(const char *megabytes, char *answer)
{
    static char block[65536];
    long long total = 0;
    long long wanted = strtoll(megabytes, NULL, 10) << 20;
    signal(SIGXFSZ, SIG_IGN);
    for (int file = 0; file < 8 && total < wanted; file++) {
        char name[32];
        ssize_t wrote = 0;
        snprintf(name, sizeof name, "fill-%d", file);
        int fd = open(name, O_WRONLY | O_CREAT, 0600);
        while (fd >= 0 && total < wanted && (wrote = write(fd, block, sizeof block)) > 0)
            total += wrote;
        if (fd >= 0)
            close(fd);
    }
    snprintf(answer, ANSWER_BYTES, "%lld", total);
}

static void count_entries(const char *path, char *answer)
{
    int count = 0;
    DIR *stream = opendir(path);
    struct dirent *item;
    if (!stream) {
        say(answer, -1);
        return;
    }
    while ((item = readdir(stream)))
        count += item->d_name[0] >= '0' && item->d_name[0] <= '9';
    closedir(stream);
    snprintf(answer, ANSWER_BYTES, "%d", count);
}

/* A line of /proc/self/status: "Seccomp" gives "2". */
static void read_status(const char *key, char *answer)
{
    char line[256];
    FILE *file = fopen("/proc/self/status", "re");
    say(answer, file ? 0 : -1);
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
            snprintf(answer, ANSWER_BYTES, "%.*s", (int)strcspn(line + strlen(key) + 2, "\n"),
                     line + strlen(key) + 2);
    if (file)
        fclose(file);
}

static void count_environment(char *answer)
{
    int count = 0;
    while (environ && environ[count])
        count++;
    snprintf(answer, ANSWER_BYTES, "%d%s%s", count, count ? " " : "", count ? environ[0] : "");
}

static void count_descriptors(char *answer)
{
    int count = 0;
    for (int fd = 3; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    snprintf(answer, ANSWER_BYTES, "%d", count);
}

static void fork_bomb(const char *most, char *answer)
{
    int count = 0;
    for (long i = 0; i < strtol(most, NULL, 10); i++) {
        pid_t child = fork();
        if (child == 0)
            for (;;)
                pause();
        count += child > 0;
        if (child < 0)
            break;
    }
    snprintf(answer, ANSWER_BYTES, "%d", count);
}

/* A grandchild in a session of its own that outlives its waiting parents. */
static void leave_daemon(char *answer)
{
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0)
            for (;;)
                pause();
        _exit(0);
    }
    say(answer, child);
}

static void flood(const char *megabytes)
{
    static char block[65536];
    memset(block, 'x', sizeof block);
    for (long i = 0; i < strtol(megabytes, NULL, 10) * 16; i++)
        if (write(STDOUT_FILENO, block, sizeof block) < 0)
            break;
}

static void try_allocate(const char *megabytes, char *answer)
{
    volatile char *memory = malloc((size_t)strtol(megabytes, NULL, 10) << 20);
    if (memory)
        memory[0] = 1;
    say(answer, memory ? 0 : -1);
    free((void *)memory);
}

static void try_fcntl(const char *command, char *answer)
{
    say(answer, fcntl(0, (int)strtol(command, NULL, 10), 0));
}

/* On memory that another process could share. */
static void try_madvise(const char *advice, char *answer)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    say(answer, madvise(memory, 4096, (int)strtol(advice, NULL, 10)));
}

static long raw(const char *number)
{
    return syscall(strtol(number, NULL, 10), 0L, 0L, 0L, 0L, 0L, 0L);
}

/* Until the process has had a processor for that long. */
static void spin(const char *milliseconds)
{
    struct timespec used = {0};
    long most_ms = strtol(milliseconds, NULL, 10);
    while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < most_ms)
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
}

static void try_more(const char *what, const char *argument, char *answer)
{
    if (strcmp(what, "syscall") == 0)
        say(answer, raw(argument));
    else if (strcmp(what, "fcntl") == 0)
        try_fcntl(argument, answer);
    else if (strcmp(what, "madvise") == 0)
        try_madvise(argument, answer);
    else if (strcmp(what, "signal") == 0)
        say(answer, kill((pid_t)strtol(argument, NULL, 10), 0));
    else if (strcmp(what, "attach") == 0)
        say(answer, ptrace(PTRACE_SEIZE, (pid_t)strtol(argument, NULL, 10), NULL, NULL));
    else if (strcmp(what, "setuid") == 0)
        say(answer, setuid(0));
    else if (strcmp(what, "fork") == 0)
        fork_bomb(argument, answer);
    else if (strcmp(what, "daemon") == 0)
        leave_daemon(answer);
    else if (strcmp(what, "flood") == 0)
        flood(argument);
    else if (strcmp(what, "allocate") == 0)
        try_allocate(argument, answer);
    else if (strcmp(what, "crash") == 0)
        *(volatile int *)8 = 0;
    else if (strcmp(what, "loop") == 0)
        for (volatile int i = 0;; i++)
            ;
    else if (strcmp(what, "spin") == 0)
        spin(argument);
    else
        snprintf(answer, ANSWER_BYTES, "what?");
}

static void probe(const char *what, const char *argument, char *answer)
{
    snprintf(answer, ANSWER_BYTES, "done");
    if (strcmp(what, "connect") == 0)
        try_connect(argument, answer);
    else if (strcmp(what, "abstract") == 0)
        try_abstract(argument, answer);
    else if (strcmp(what, "read") == 0)
        try_read(argument, answer);
    else if (strcmp(what, "write") == 0)
        try_write(argument, answer);
    else if (strcmp(what, "fill") == 0)
        fill_scratch(argument, answer);
    else if (strcmp(what, "entries") == 0)
        count_entries(argument, answer);
    else if (strcmp(what, "status") == 0)
        read_status(argument, answer);
    else if (strcmp(what, "environment") == 0)
        count_environment(answer);
    else if (strcmp(what, "descriptors") == 0)
        count_descriptors(answer);
    else if (strcmp(what, "identity") == 0)
        snprintf(answer, ANSWER_BYTES, "%u", (unsigned)geteuid());
    else
        try_more(what, argument, answer);
}

#ifdef PROBE_SOLUTION
void solution(const char *request, char *answer);

void solution(const char *request, char *answer)
{
    char what[ANSWER_BYTES];
    snprintf(what, sizeof what, "%s", request);
    char *space = strchr(what, ' ');
    if (space)
        *space = '\0';
    probe(what, space ? space + 1 : "", answer);
}
#else
int main(int count, char **arguments)
{
    char answer[ANSWER_BYTES];
    probe(count > 1 ? arguments[1] : "", count > 2 ? arguments[2] : "", answer);
    puts(answer);
    fflush(stdout);
    if (count > 1 && strcmp(arguments[1], "daemon") == 0 && count > 2 && arguments[2][0])
        for (;;) /* with a daemon, and waits for the end of time */
            pause();
    return 0;
}
#endif
