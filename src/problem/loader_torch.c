/* loader_torch: a .py module. At torch/NAME.py below a root, or as a KernelBench checkout has them,
 * at [KernelBench/]levelN/ID_Name.py.
 */
#include "base/file.h"
#include "base/text.h"
#include "problem/loader.h"
#include "problem/torch.h"

#include <stdlib.h>
#include <string.h>

#define ENDING ".py"
#define PREFIX "torch/"

static bool torch_recognises(const char *path)
{
    return text_ends_with(path, ENDING);
}

static bool is_module(const char *name)
{
    return strlen(name) > strlen(ENDING) && torch_recognises(name);
}

static int load_torch(struct problem *problem, const char *path, const char *id, struct err *err)
{
    struct arena *arena = &problem->arena;
    problem->id = id ? arena_strdup(arena, id) : torch_id(arena, path);
    return torch_load(problem, path, err);
}

static void visit_torch(struct suite_listing *listing, const char *directory, const char *name)
{
    if (!is_module(name))
        return;
    const char *path = arena_printf(listing->arena, "%s/%s", directory, name);
    suite_add(listing, torch_id(listing->arena, path), path);
}

static void visit_numbered(struct suite_listing *listing, const char *directory, const char *name)
{
    size_t digits = strspn(name, "0123456789");
    if (digits > 0 && name[digits] == '_')
        visit_torch(listing, directory, name);
}

/* The number behind "level", or -1. */
static long level_of(const char *name)
{
    char *end;
    if (strncmp(name, "level", 5) != 0 || name[5] < '0' || name[5] > '9')
        return -1;
    long level = strtol(name + 5, &end, 10);
    return *end == '\0' || *end == '/' ? level : -1;
}

static void visit_level(struct suite_listing *listing, const char *directory, const char *name)
{
    if (level_of(name) < 0 || strchr(name, '/'))
        return;
    char *path = mem_printf("%s/%s", directory, name);
    suite_each_name(listing, path, visit_numbered);
    mem_free(path);
}

static void list_torch(struct suite_listing *listing, const char *root)
{
    char *modules = mem_printf("%s/torch", root);
    char *checkout = mem_printf("%s/KernelBench", root);
    suite_each_name(listing, modules, visit_torch);
    suite_each_name(listing, root, visit_level);
    suite_each_name(listing, checkout, visit_level);
    mem_free(modules);
    mem_free(checkout);
}

static char *find_torch(const char *root, const char *id)
{
    if (strncmp(id, PREFIX, strlen(PREFIX)) != 0)
        return NULL;
    const char *name = id + strlen(PREFIX);
    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/'))
        return NULL;
    char *path = mem_printf("%s/%s" ENDING, root, id);
    if (file_exists(path))
        return path;
    mem_free(path);
    return NULL;
}

/* The file name of the module, with or without its folder and ".py". */
static bool is_called(const char *path, const char *name)
{
    size_t length = strlen(name) - (is_module(name) ? strlen(ENDING) : 0);
    size_t path_length = strlen(path) - strlen(ENDING);
    if (length == 0 || length >= path_length || strchr(name, '/') == name)
        return false;
    const char *tail = path + path_length - length;
    const char *slash = memchr(name, '/', length);
    bool deep = slash && memchr(slash + 1, '/', length - (size_t)(slash + 1 - name));
    return !deep && tail[-1] == '/' && memcmp(tail, name, length) == 0;
}

static int compare_numbers(long a, long b)
{
    return (a > b) - (a < b);
}

/* Those without a level by name, then levels, by number. */
static int compare_names(const char *a, const char *b)
{
    long a_level = level_of(a), b_level = level_of(b);
    if (a_level != b_level)
        return compare_numbers(a_level, b_level);
    if (a_level >= 0)
        return compare_numbers(strtol(strchr(a, '/') + 1, NULL, 10),
                               strtol(strchr(b, '/') + 1, NULL, 10));
    return strcmp(a, b);
}

const struct loader torch_loader = {
    .format = PROBLEM_TORCH,
    .what = "a " ENDING " module",
    .below = "torch/NAME.py or levelN/ID_Name.py",
    .ending = ENDING,
    .recognises = torch_recognises,
    .load = load_torch,
    .list = list_torch,
    .find = find_torch,
    .is_called = is_called,
    .compare = compare_names,
};
