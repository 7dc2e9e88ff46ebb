#include "cli/open_evaluator.h"

#include "client/client_settings.h"

bool cli_is_remote(const struct cli_where *where, const struct settings *settings)
{
    return !where->local && (where->server || client_settings(settings)->url[0]);
}

int cli_evaluator_open(const struct cli_call *call, const struct cli_where *where,
                       const _Atomic int *cancelled, struct evaluator **evaluator, struct err *err)
{
    const struct evaluator_options options = {.settings = &call->settings,
                                              .search_paths = &call->search_paths,
                                              .max_in_flight = (size_t)where->evaluations,
                                              .cancelled = cancelled};
    return cli_is_remote(where, &call->settings)
               ? evaluator_open_remote(evaluator, where->server, &options, err)
               : evaluator_open_local(evaluator, &options, err);
}
