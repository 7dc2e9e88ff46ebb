#include "judge/child/exceptions.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 1024

typedef void terminate_handler(void);

/* One candidate, one runtime. */
static struct {
    exceptions_handler *handler;
    void *context;
    terminate_handler *standard; /* writes the line and aborts */
    char text[TEXT_BYTES];
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
    join_lines(runtime.text);
    runtime.handler(runtime.context, runtime.text);
}

static void on_terminate(void)
{
    FILE *memory = fmemopen(runtime.text, TEXT_BYTES - 1, "w");
    if (memory && setvbuf(memory, NULL, _IONBF, 0) == 0)
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
