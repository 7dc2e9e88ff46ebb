#include "problem/load.h"

#include "base/file.h"
#include "problem/native.h"
#include "problem/torch.h"

#include <string.h>

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* The directory of a native problem, from what the user gave: itself, or its problem.yaml. */
static const char *native_directory(struct arena *arena, const char *path)
{
    size_t length = strlen(path);
    if (strcmp(path, "problem.yaml") == 0)
        return ".";
    if (ends_with(path, "/problem.yaml"))
        length -= strlen("/problem.yaml");
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length == 0 ? "/" : arena_strndup(arena, path, length);
}

static int load(struct problem *problem, const char *path, const char *id, struct err *err)
{
    struct arena *arena = &problem->arena;
    if (ends_with(path, ".py")) {
        problem->id = id ? arena_strdup(arena, id) : torch_id(arena, path);
        return torch_load(problem, path, err);
    }
    const char *directory = native_directory(arena, path);
    if (!file_is_directory(directory)) {
        if (!file_exists(path))
            return err_set(err, ERR_MISSING, "%s: no such problem directory or module", path);
        return err_set(err, ERR_INPUT,
                       "%s: is no problem: expected a directory with problem.yaml, or a .py module",
                       path);
    }
    int result = native_load(problem, directory, err);
    problem->id = id ? arena_strdup(arena, id) : problem->name;
    return result;
}

int problem_load(struct problem *problem, const char *path, const char *id, struct err *err)
{
    memset(problem, 0, sizeof *problem);
    int result = load(problem, path, id, err);
    if (result < 0)
        problem_deinit(problem);
    return result;
}
