#include "judge/build/torch_paths.h"

#include "base/array.h"
#include "base/mem.h"
#include "judge/build/python_query.h"

#include <stdlib.h>

/* Debian's default scheme is not where headers are. */
static const char query[] =
    "import importlib.metadata as m, importlib.util as u, os, sysconfig\n"
    "scheme = sysconfig.get_default_scheme().replace('posix_local', 'posix_prefix')\n"
    "print(os.path.dirname(os.path.dirname(u.find_spec('torch').origin)))\n"
    "print(sysconfig.get_paths(scheme)['include'])\n"
    "print(m.version('torch'))\n";

int torch_paths_init(struct torch_paths *place, struct build_tools *tools, struct err *err)
{
    const struct python_query asked = {.text = query,
                                       .wanted = "PyTorch",
                                       .kept = &tools->torch_paths};
    char **const lines[] = {&place->packages, &place->include, &place->version};
    *place = (struct torch_paths){0};
    if (!tools->installation->python)
        return err_set(err, ERR_MISSING, "there is no Python with PyTorch");
    return python_query_lines(tools, &asked, lines, COUNT(lines), err);
}

void torch_paths_deinit(struct torch_paths *place)
{
    mem_free(place->packages);
    mem_free(place->include);
    mem_free(place->version);
}

int torch_paths_version(const struct torch_paths *place)
{
    char *end = NULL;
    long major = strtol(place->version, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return major >= 0 && major < 100 && minor >= 0 && minor < 100 ? (int)(major * 100 + minor) : 0;
}
