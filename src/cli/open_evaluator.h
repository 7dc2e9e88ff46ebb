/* open_evaluator: opens what judges for a command: this process, or a server. */
#pragma once

#include "cli/cli.h"
#include "client/evaluator.h"

/* The command's options. */
struct cli_where {
    const char *server; /* NULL: client.url */
    bool local;
    int64_t evaluations; /* 0: the evaluator's default */
};
#define OPTIONS_WHERE(w, most, h)                                                                  \
    OPTION_STRING(0, "server", &(w)->server, "URL",                                                \
                  "on a server (http://HOST:PORT); default client.url"),                           \
        OPTION_FLAG(0, "local", &(w)->local, "here, whatever client.url says"),                    \
        OPTION_INT(0, "evaluations", &(w)->evaluations, 1, most, "N", h)

bool cli_is_remote(const struct cli_where *where, const struct settings *settings);
/* `cancelled` may be NULL. */
NODISCARD int cli_evaluator_open(const struct cli_call *call, const struct cli_where *where,
                                 const _Atomic int *cancelled, struct evaluator **evaluator,
                                 struct err *err);
