#include "judge/child/exceptions.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES 1024
#define BEGINNING "terminate called"

typedef void terminate_handler(void);

/* One candidate, one runtime. */
static struct {
    exceptions_handler *handler;
    void *context;
    terminate_handler *standard; /* writes the line and aborts */
    FILE *errors;                /* stderr while nothing is expected */
    void (*aborted)(int number); /* likewise, what SIGABRT does */
    char text[TEXT_BYTES];
    size_t used;
} runtime;

/* "terminate called after throwing an instance of 'X'\n  what():  Y\n" becomes one line. */
static void join_lines(char *text)
{
    static const char what[] = "\n  what():  ", mark[] = ": ";
    char *at = strstr(text, what);
    if (at) {
        memcpy(at, mark, sizeof mark - 1);
        memmove(at + sizeof mark - 1, at + sizeof what - 1, strlen(at + sizeof what - 1) + 1);
    }
    text[strcspn(text, "\n")] = '\0';
}

/* Raised by the runtime itself, behind its last write. */
static void on_abort(int number)
{
    if (strncmp(runtime.text, BEGINNING, strlen(BEGINNING)) != 0) {
        if (runtime.aborted != SIG_DFL && runtime.aborted != SIG_IGN)
            runtime.aborted(number);
        return;
    }
    join_lines(runtime.text);
    runtime.handler(runtime.context, runtime.text);
}

static ssize_t keep_errors(void *ignored, const char *bytes, size_t count)
{
    size_t capacity = TEXT_BYTES - 1 - runtime.used;
    size_t kept = count < capacity ? count : capacity;
    memcpy(runtime.text + runtime.used, bytes, kept);
    runtime.used += kept;
    (void)!write(STDERR_FILENO, bytes, count);
    return (ssize_t)count;
}

/* From now on what is written to stderr is the text, too. A C++ runtime that is loaded meanwhile
 * keeps this stream as that of std::cerr. */
static void read_errors(void)
{
    FILE *both = fopencookie(NULL, "w", (cookie_io_functions_t){.write = keep_errors});
    memset(runtime.text, 0, sizeof runtime.text);
    runtime.used = 0;
    if (both && setvbuf(both, NULL, _IONBF, 0) == 0)
        stderr = both;
    runtime.aborted = signal(SIGABRT, on_abort);
}

static void on_terminate(void)
{
    read_errors();
    runtime.standard();
}

void exceptions_expect(exceptions_handler *handler, void *context)
{
    runtime.handler = handler;
    runtime.context = context;
    runtime.errors = stderr;
    read_errors();
}

void exceptions_catch(void *library)
{
    stderr = runtime.errors; /* a thread of the library's may still write to the other one */
    signal(SIGABRT, runtime.aborted);
    terminate_handler *(*set)(
        terminate_handler *) = library ? dlsym(library, "_ZSt13set_terminatePFvvE") : NULL;
    if (set)
        runtime.standard = set(on_terminate);
}
