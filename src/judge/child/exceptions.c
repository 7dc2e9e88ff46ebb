#include "judge/child/exceptions.h"

#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 1024

typedef void terminate_handler(void);

/* One candidate, one runtime. */
static struct {
    exceptions_handler *handler;
    void *context;
    terminate_handler *standard; /* writes the line and aborts */
    char *text;
    size_t bytes;
} runtime;

/* "terminate called after throwing an instance of 'X'\n  what():  Y\n" in one line. */
static void join_lines(const char *text, char *line, size_t line_bytes)
{
    static const char what[] = "\n  what():  ";
    const char *at = strstr(text, what);
    int first = (int)strcspn(text, "\n");
    at = at ? at + sizeof what - 1 : NULL;
    snprintf(line, line_bytes, "%.*s%s%.*s", first, text, at ? ": " : "",
             at ? (int)strcspn(at, "\n") : 0, at ? at : "");
}

static void on_abort(int number)
{
    char line[TEXT_BYTES];
    (void)number;
    fflush(stderr);
    join_lines(runtime.text ? runtime.text : "", line, sizeof line);
    runtime.handler(runtime.context, line);
}

static void on_terminate(void)
{
    FILE *memory = open_memstream(&runtime.text, &runtime.bytes);
    if (memory)
        stderr = memory;
    signal(SIGABRT, on_abort);
    runtime.standard();
}

void exceptions_catch(void *library, exceptions_handler *handler, void *context)
{
    terminate_handler *(*set)(terminate_handler *) = dlsym(library, "_ZSt13set_terminatePFvvE");
    if (!set)
        return;
    runtime.handler = handler;
    runtime.context = context;
    runtime.standard = set(on_terminate);
}
