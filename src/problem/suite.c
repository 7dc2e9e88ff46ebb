#include "problem/suite.h"

#include "base/file.h"
#include "base/suggest.h"
#include "base/text.h"
#include "problem/loader.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void suite_add(struct suite_listing *listing, const char *id, const char *path)
{
    if (listing->count == listing->capacity) {
        listing->capacity = listing->capacity ? 2 * listing->capacity : 64;
        listing->entries = mem_resize(listing->entries,
                                      listing->capacity * sizeof *listing->entries);
    }
    listing->entries[listing->count++] = (struct suite_entry){id, path, listing->loader->format,
                                                              listing->loader};
}

void suite_each_name(struct suite_listing *listing, const char *directory,
                     void (*visit)(struct suite_listing *listing, const char *directory,
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

static int list_root(struct suite_listing *listing, const char *root, struct err *err)
{
    char places[256] = "";
    size_t before = listing->count;
    DIR *stream = opendir(root);
    if (!stream && errno == ENOENT)
        return err_set(err, ERR_MISSING, "%s: no such directory of problems", root);
    if (!stream)
        return err_sys(err, errno, "%s: cannot list problems", root);
    closedir(stream);
    for (size_t i = 0; problem_loaders[i]; i++) {
        size_t length = strlen(places);
        listing->loader = problem_loaders[i];
        listing->loader->list(listing, root);
        snprintf(places + length, sizeof places - length, "%s%s", i ? ", " : "",
                 listing->loader->below);
    }
    if (listing->count == before)
        return err_set(err, ERR_MISSING, "%s: holds no problem: expected %s", root, places);
    return 0;
}

/* By loader, then as that has it; entries of one id as they were found. */
static int compare_entries(const struct suite_entry *a, const struct suite_entry *b)
{
    size_t i = 0;
    if (a->loader == b->loader)
        return a->loader->compare ? a->loader->compare(a->id, b->id) : strcmp(a->id, b->id);
    while (problem_loaders[i] != a->loader && problem_loaders[i] != b->loader)
        i++;
    return problem_loaders[i] == a->loader ? -1 : 1;
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
static void finish_listing(struct suite_listing *listing, struct suite *suite)
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

int suite_open(struct suite *suite, const struct paths_list *search_paths, struct err *err)
{
    memset(suite, 0, sizeof *suite);
    struct suite_listing listing = {.arena = &suite->arena};
    int result = 0;
    for (size_t i = 0; i < search_paths->count && result == 0; i++)
        result = list_root(&listing, search_paths->items[i], err);
    if (result == 0)
        finish_listing(&listing, suite);
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

static bool is_called(const struct suite_entry *entry, const char *name)
{
    return entry->loader->is_called && entry->loader->is_called(entry->path, name);
}

const struct suite_entry *suite_find(const struct suite *suite, const char *id)
{
    for (size_t i = 0; i < suite->count; i++)
        if (strcmp(suite->entries[i].id, id) == 0)
            return &suite->entries[i];
    for (size_t i = 0; i < suite->count; i++)
        if (is_called(&suite->entries[i], id))
            return &suite->entries[i];
    return NULL;
}

/* Whether it is the name of a file with a loader's ending. */
static bool names_file(const char *what)
{
    for (size_t i = 0; problem_loaders[i]; i++)
        if (strcmp(what, problem_loaders[i]->ending) != 0 &&
            text_ends_with(what, problem_loaders[i]->ending))
            return true;
    return false;
}

bool suite_is_path(const char *what)
{
    struct stat status;
    return (names_file(what) || strchr(what, '/') || strcmp(what, ".") == 0) &&
           stat(what, &status) == 0;
}

/* Ids that name their file, so that it is there or not: no listing is needed. */
static char *find_exact(const char *root, const char *id)
{
    char *path = NULL;
    for (size_t i = 0; !path && problem_loaders[i]; i++)
        path = problem_loaders[i]->find(root, id);
    return path;
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
    const char *nearest = suggest_name(what, names, 2 * suite->count);
    for (size_t i = 0; i < suite->count && nearest; i++)
        if (names[suite->count + i] == nearest)
            nearest = names[i];
    mem_free(names);
    return nearest;
}

static int load_entry(const struct paths_list *search_paths, const char *what,
                      struct problem *problem, struct err *err)
{
    for (size_t i = 0; i < search_paths->count; i++) {
        char *path = find_exact(search_paths->items[i], what);
        if (!path)
            continue;
        int result = problem_load(problem, path, what, err);
        mem_free(path);
        return result;
    }
    struct suite suite;
    int result = suite_open(&suite, search_paths, err);
    if (result < 0)
        return result;
    const struct suite_entry *entry = suite_find(&suite, what);
    const char *nearest = entry ? NULL : nearest_id(&suite, what);
    if (entry)
        result = problem_load(problem, entry->path, entry->id, err);
    else if (nearest)
        result = err_set(err, ERR_MISSING, "unknown problem '%.100s'; did you mean '%s'?", what,
                         nearest);
    else
        result = err_set(err, ERR_MISSING, "unknown problem '%.100s' among the %zu under '%s'%s",
                         what, suite.count, search_paths->count ? search_paths->items[0] : "",
                         search_paths->count > 1 ? " and the other roots" : "");
    suite_close(&suite);
    return result;
}

int suite_load(const struct paths_list *search_paths, const char *what, struct problem *problem,
               struct err *err)
{
    return suite_is_path(what) ? problem_load(problem, what, NULL, err)
                               : load_entry(search_paths, what, problem, err);
}

int suite_load_id(const struct paths_list *search_paths, const char *id, struct problem *problem,
                  struct err *err)
{
    bool leads_out = *id == '\0' || *id == '/' || *id == '.' || strstr(id, "..");
    return leads_out ? err_set(err, ERR_MISSING, "unknown problem '%.100s': that is no id", id)
                     : load_entry(search_paths, id, problem, err);
}
