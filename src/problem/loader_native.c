/* loader_native: a directory with problem.yaml, or that file. At [native/]NAME below a root. */
#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "problem/loader.h"
#include "problem/native.h"

#include <string.h>

#define YAML "problem.yaml"

/* The problem's directory, from what the user gave: itself, or its problem.yaml. */
static const char *directory_of(struct arena *arena, const char *path)
{
    size_t length = strlen(path);
    if (strcmp(path, YAML) == 0)
        return ".";
    if (text_ends_with(path, "/" YAML))
        length -= strlen("/" YAML);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length == 0 ? "/" : arena_strndup(arena, path, length);
}

static bool native_recognises(const char *path)
{
    struct arena arena = {0};
    bool is_directory = file_is_directory(directory_of(&arena, path));
    arena_deinit(&arena);
    return is_directory;
}

static int load_native(struct problem *problem, const char *path, const char *id, struct err *err)
{
    struct arena *arena = &problem->arena;
    int result = native_load(problem, directory_of(arena, path), err);
    problem->id = id ? arena_strdup(arena, id) : problem->name;
    return result;
}

static void visit_native(struct suite_listing *listing, const char *directory, const char *name)
{
    char *yaml = mem_printf("%s/%s/" YAML, directory, name);
    if (file_exists(yaml))
        suite_add(listing, arena_strdup(listing->arena, name),
                  arena_printf(listing->arena, "%s/%s", directory, name));
    mem_free(yaml);
}

static void list_native(struct suite_listing *listing, const char *root)
{
    char *below = mem_printf("%s/native", root);
    suite_each_name(listing, root, visit_native);
    suite_each_name(listing, below, visit_native);
    mem_free(below);
}

static char *find_native(const char *root, const char *id)
{
    static const char *const places[] = {"", "native/"};
    if (id[0] == '\0' || id[0] == '.' || strchr(id, '/'))
        return NULL;
    for (size_t i = 0; i < COUNT(places); i++) {
        char *path = mem_printf("%s/%s%s/" YAML, root, places[i], id);
        if (file_exists(path))
            return path;
        mem_free(path);
    }
    return NULL;
}

const struct loader native_loader = {
    .format = PROBLEM_NATIVE,
    .what = "a directory with " YAML,
    .below = "NAME/" YAML,
    .ending = ".yaml",
    .recognises = native_recognises,
    .load = load_native,
    .list = list_native,
    .find = find_native,
};
