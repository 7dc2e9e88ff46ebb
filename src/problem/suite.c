#include "problem/suite.h"

#include "base/file.h"
#include "base/nearest.h"
#include "problem/load.h"
#include "problem/torch.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* While a suite grows: its entries move, its strings do not. */
struct listing {
    struct arena *arena;
    struct suite_entry *entries;
    size_t count, capacity;
};

static void add(struct listing *listing, const char *id, const char *path,
                enum problem_format format)
{
    if (listing->count == listing->capacity) {
        listing->capacity = listing->capacity ? 2 * listing->capacity : 64;
        listing->entries = mem_resize(listing->entries,
                                      listing->capacity * sizeof *listing->entries);
    }
    listing->entries[listing->count++] = (struct suite_entry){id, path, format};
}

/* Calls `visit` with each visible name in a directory; one that is not there has none. */
static void each_name(struct listing *listing, const char *directory,
                      void (*visit)(struct listing *listing, const char *directory,
                                    const char *name))
{
    DIR *stream = opendir(directory);
    if (!stream)
        return;
    struct dirent *entry;
    while ((entry = readdir(stream)))
        if (entry->d_name[0] != '.')
            visit(listing, directory, entry->d_name);
    closedir(stream);
}

static void visit_native(struct listing *listing, const char *directory, const char *name)
{
    char *yaml = mem_printf("%s/%s/problem.yaml", directory, name);
    if (file_exists(yaml))
        add(listing, arena_strdup(listing->arena, name),
            arena_printf(listing->arena, "%s/%s", directory, name), PROBLEM_NATIVE);
    mem_free(yaml);
}

static bool is_module(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".py") == 0;
}

static void visit_torch(struct listing *listing, const char *directory, const char *name)
{
    if (!is_module(name))
        return;
    const char *path = arena_printf(listing->arena, "%s/%s", directory, name);
    add(listing, torch_id(listing->arena, path), path, PROBLEM_TORCH);
}

static void visit_numbered(struct listing *listing, const char *directory, const char *name)
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

static void visit_level(struct listing *listing, const char *directory, const char *name)
{
    if (level_of(name) < 0 || strchr(name, '/'))
        return;
    char *path = mem_printf("%s/%s", directory, name);
    each_name(listing, path, visit_numbered);
    mem_free(path);
}

static int list_root(struct listing *listing, const char *root, struct err *err)
{
    static const struct {
        const char *below;
        void (*visit)(struct listing *listing, const char *directory, const char *name);
    } places[] = {
        {"", visit_native}, {"/native", visit_native},     {"/torch", visit_torch},
        {"", visit_level},  {"/KernelBench", visit_level},
    };
    size_t before = listing->count;
    DIR *stream = opendir(root);
    if (!stream && errno == ENOENT)
        return err_set(err, ERR_MISSING, "%s: no such directory of problems", root);
    if (!stream)
        return err_sys(err, errno, "%s: cannot list problems", root);
    closedir(stream);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char *directory = mem_printf("%s%s", root, places[i].below);
        each_name(listing, directory, places[i].visit);
        mem_free(directory);
    }
    if (listing->count == before)
        return err_set(err, ERR_MISSING,
                       "%s: holds no problem: expected NAME/problem.yaml, torch/NAME.py or "
                       "levelN/ID_Name.py",
                       root);
    return 0;
}

static int compare_numbers(long a, long b)
{
    return (a > b) - (a < b);
}

/* Native by name, then torch, then levels by number; entries of one id as they were found. */
static int compare_entries(const void *left, const void *right)
{
    const struct suite_entry *a = left, *b = right;
    if (a->format != b->format)
        return compare_numbers(a->format, b->format);
    long a_level = level_of(a->id), b_level = level_of(b->id);
    if (a->format == PROBLEM_TORCH && a_level != b_level)
        return compare_numbers(a_level, b_level);
    if (a->format == PROBLEM_TORCH && a_level >= 0)
        return compare_numbers(strtol(strchr(a->id, '/') + 1, NULL, 10),
                               strtol(strchr(b->id, '/') + 1, NULL, 10));
    return strcmp(a->id, b->id);
}

/* qsort promises no order of equals, and the first root wins: so each entry has its number. */
struct numbered {
    struct suite_entry entry;
    size_t number;
};

static int compare_numbered(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    int order = compare_entries(&a->entry, &b->entry);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

/* Sorts, keeps the first of each id, and moves the entries into the arena. */
static void finish(struct listing *listing, struct suite *suite)
{
    struct numbered *sorted = mem_alloc(listing->count * sizeof *sorted);
    for (size_t i = 0; i < listing->count; i++)
        sorted[i] = (struct numbered){listing->entries[i], i};
    qsort(sorted, listing->count, sizeof *sorted, compare_numbered);
    suite->entries = arena_alloc(&suite->arena, listing->count * sizeof *suite->entries);
    for (size_t i = 0; i < listing->count; i++)
        if (i == 0 || strcmp(sorted[i].entry.id, sorted[i - 1].entry.id) != 0)
            suite->entries[suite->count++] = sorted[i].entry;
    mem_free(sorted);
}

int suite_open(struct suite *suite, const char *const *roots, size_t root_count, struct err *err)
{
    memset(suite, 0, sizeof *suite);
    struct listing listing = {.arena = &suite->arena};
    int result = 0;
    for (size_t i = 0; i < root_count && result == 0; i++)
        result = list_root(&listing, roots[i], err);
    if (result == 0)
        finish(&listing, suite);
    else
        suite_close(suite);
    mem_free(listing.entries);
    return result;
}

void suite_close(struct suite *suite)
{
    arena_deinit(&suite->arena);
    memset(suite, 0, sizeof *suite);
}

/* Whether `what` is the file name of a module, with or without its folder and ".py". */
static bool names_module(const struct suite_entry *entry, const char *what)
{
    if (entry->format != PROBLEM_TORCH)
        return false;
    size_t length = strlen(what) - (is_module(what) ? 3 : 0);
    size_t path_length = strlen(entry->path) - 3;
    if (length == 0 || length >= path_length || strchr(what, '/') == what)
        return false;
    const char *tail = entry->path + path_length - length;
    const char *slash = memchr(what, '/', length);
    bool deep = slash && memchr(slash + 1, '/', length - (size_t)(slash + 1 - what));
    return !deep && tail[-1] == '/' && memcmp(tail, what, length) == 0;
}

const struct suite_entry *suite_find(const struct suite *suite, const char *id)
{
    for (size_t i = 0; i < suite->count; i++)
        if (strcmp(suite->entries[i].id, id) == 0)
            return &suite->entries[i];
    for (size_t i = 0; i < suite->count; i++)
        if (names_module(&suite->entries[i], id))
            return &suite->entries[i];
    return NULL;
}

/* Whether the user gave a path rather than an id. */
static bool is_path(const char *what)
{
    size_t length = strlen(what);
    struct stat status;
    bool named = is_module(what) || (length > 5 && strcmp(what + length - 5, ".yaml") == 0);
    return (named || strchr(what, '/') || strcmp(what, ".") == 0) && stat(what, &status) == 0;
}

/* Ids that name their file, so that it is there or not: no listing is needed. */
static char *find_exact(const char *root, const char *id)
{
    bool torch = strncmp(id, "torch/", 6) == 0;
    const char *name = torch ? id + 6 : id;
    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/'))
        return NULL;
    char *path = torch ? mem_printf("%s/torch/%s.py", root, name)
                       : mem_printf("%s/%s/problem.yaml", root, name);
    if (file_exists(path))
        return path;
    mem_free(path);
    if (torch)
        return NULL;
    path = mem_printf("%s/native/%s/problem.yaml", root, name);
    if (file_exists(path))
        return path;
    mem_free(path);
    return NULL;
}

/* The id most like `what`, or, for a bare name, the id of the module of such a name. */
static const char *nearest_id(const struct suite *suite, const char *what)
{
    const char **names = mem_alloc(2 * suite->count * sizeof *names);
    for (size_t i = 0; i < suite->count; i++) {
        const char *slash = strchr(suite->entries[i].id, '/');
        names[i] = suite->entries[i].id;
        names[suite->count + i] = slash ? slash + 1 : NULL;
    }
    const char *nearest = nearest_name(what, names, 2 * suite->count);
    for (size_t i = 0; i < suite->count && nearest; i++)
        if (names[suite->count + i] == nearest)
            nearest = names[i];
    mem_free(names);
    return nearest;
}

int suite_load(const char *const *roots, size_t root_count, const char *what,
               struct problem *problem, struct err *err)
{
    if (is_path(what))
        return problem_load(problem, what, NULL, err);
    for (size_t i = 0; i < root_count; i++) {
        char *path = find_exact(roots[i], what);
        if (!path)
            continue;
        int result = problem_load(problem, path, what, err);
        mem_free(path);
        return result;
    }
    struct suite suite;
    int result = suite_open(&suite, roots, root_count, err);
    if (result < 0)
        return result;
    const struct suite_entry *entry = suite_find(&suite, what);
    const char *nearest = entry ? NULL : nearest_id(&suite, what);
    if (entry)
        result = problem_load(problem, entry->path, entry->id, err);
    else if (nearest)
        result = err_set(err, ERR_MISSING, "no problem '%.100s' (did you mean '%s'?)", what,
                         nearest);
    else
        result = err_set(err, ERR_MISSING, "no problem '%.100s' among the %zu under '%s'%s", what,
                         suite.count, root_count ? roots[0] : "",
                         root_count > 1 ? " and the other roots" : "");
    suite_close(&suite);
    return result;
}
