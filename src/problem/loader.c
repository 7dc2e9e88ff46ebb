#include "problem/loader.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>

const struct loader *const problem_loaders[] = {&native_loader, &torch_loader, NULL};

/* The last loaders come first: a loader that recognises a file name is more specific than one that
 * accepts any directory. */
static const struct loader *loader_of(const char *path)
{
    size_t count = 0;
    while (problem_loaders[count])
        count++;
    while (count > 0 && !problem_loaders[count - 1]->recognises(path))
        count--;
    return count > 0 ? problem_loaders[count - 1] : NULL;
}

static int refuse_problem(const char *path, struct err *err)
{
    char expected[256] = "";
    if (!file_exists(path))
        return err_set(err, ERR_MISSING, "%s: no such problem directory or module", path);
    for (size_t i = 0; problem_loaders[i]; i++) {
        size_t length = strlen(expected);
        snprintf(expected + length, sizeof expected - length, "%s%s", i ? ", or " : "",
                 problem_loaders[i]->what);
    }
    return err_set(err, ERR_INPUT, "%s: is no problem: expected %s", path, expected);
}

int problem_load(struct problem *problem, const char *path, const char *id, struct err *err)
{
    const struct loader *loader = loader_of(path);
    memset(problem, 0, sizeof *problem);
    int result = loader ? loader->load(problem, path, id, err) : refuse_problem(path, err);
    if (result < 0)
        problem_deinit(problem);
    return result;
}
