/* corpus_directories: the forms whose examples are files. */
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "judge/request/language.h"
#include "problem/loader.h"
#include "problem/suite.h"
#include "retrieval/internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE "reference."

static int open_suite(struct suite *suite, const char *directory, struct err *err)
{
    const struct paths_list search_paths = {.items = &directory, .count = 1};
    return suite_open(suite, &search_paths, err);
}

bool corpus_is_problems(const char *directory)
{
    struct suite suite;
    if (open_suite(&suite, directory, NULL) < 0)
        return false;
    suite_close(&suite);
    return true;
}

/* Visits the solution of a problem at `path`, if it exists. */
static int visit_solution(struct reading *reading, const struct problem *problem, const char *path)
{
    char *text = NULL;
    size_t count = 0;
    struct err err;
    if (!file_exists(path))
        return 0;
    int result = file_read(path, LIMIT_SOURCE_BYTES, &text, &count, &err);
    if (result == 0)
        result = file_check_text(path, text, count, &err);
    if (result < 0) {
        reading_complain(reading, &err);
        result = 0;
    } else {
        struct example example = {
            .name = problem->id,
            .summary = problem->summary,
            .source = "problems",
            .language = language_of(NULL, path, text)->name,
            .category = problem->category,
            .problem = problem->id,
            .reference = problem->reference_text,
            .solution = text,
        };
        result = reading_take(reading, &example);
    }
    mem_free(text);
    return result;
}

static int visit_problem(struct reading *reading, const struct problem *problem)
{
    char *path;
    int result = 0;
    if (problem->format == PROBLEM_TORCH) {
        path = mem_printf("%s/tests/%s.fast.py", problem->directory, problem->name);
        result = visit_solution(reading, problem, path);
        mem_free(path);
        return result;
    }
    const struct language *language;
    for (size_t i = 0; (language = language_at(i)) && result == 0; i++) {
        if (language->format != PROBLEM_NATIVE)
            continue;
        path = mem_printf("%s/tests/fast%s", problem->directory, language->endings[0]);
        result = visit_solution(reading, problem, path);
        mem_free(path);
    }
    path = mem_printf("%s/tests/device.cu", problem->directory);
    if (result == 0)
        result = visit_solution(reading, problem, path);
    mem_free(path);
    return result;
}

int corpus_problems(struct reading *reading, const char *path, struct err *err)
{
    struct suite suite;
    int result = open_suite(&suite, path, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < suite.count && result == 0; i++) {
        struct problem problem;
        struct err inner;
        if (problem_load(&problem, suite.entries[i].path, suite.entries[i].id, &inner) < 0) {
            reading_complain(reading, &inner);
            continue;
        }
        result = visit_problem(reading, &problem);
        problem_deinit(&problem);
    }
    suite_close(&suite);
    return result;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool is_reference(const char *name)
{
    return strncmp(name, REFERENCE, strlen(REFERENCE)) == 0 && language_has_ending(NULL, name);
}

/* The path of a folder's reference (the caller's), or NULL. */
static char *find_reference(const char *folder)
{
    char *path = NULL;
    DIR *stream = opendir(folder);
    struct dirent *entry;
    while (stream && !path && (entry = readdir(stream)))
        if (is_reference(entry->d_name))
            path = mem_printf("%s/%s", folder, entry->d_name);
    if (stream)
        closedir(stream);
    return path;
}

bool corpus_is_folders(const char *directory)
{
    bool found = false;
    DIR *stream = opendir(directory);
    struct dirent *entry;
    while (stream && !found && (entry = readdir(stream))) {
        char *folder = mem_printf("%s/%s", directory, entry->d_name);
        char *reference = is_visible(entry) ? find_reference(folder) : NULL;
        found = reference != NULL;
        mem_free(reference);
        mem_free(folder);
    }
    if (stream)
        closedir(stream);
    return found;
}

static int read_source(const char *path, char **text, struct err *err)
{
    size_t count = 0;
    *text = NULL;
    int result = file_read(path, LIMIT_SOURCE_BYTES, text, &count, err);
    return result == 0 ? file_check_text(path, *text, count, err) : result;
}

/* Visits one file beside a reference. */
static int visit_file(struct reading *reading, const char *folder, const char *file,
                      const char *name, const char *reference)
{
    char *path = mem_printf("%s/%s", folder, file);
    char *text;
    struct err err;
    int result = 0;
    if (read_source(path, &text, &err) < 0) {
        reading_complain(reading, &err);
    } else {
        struct example example = {.name = name,
                                  .summary = "",
                                  .source = "directory",
                                  .language = language_of(NULL, file, text)->name,
                                  .category = "",
                                  .problem = "",
                                  .reference = reference,
                                  .solution = text};
        result = reading_take(reading, &example);
    }
    mem_free(text);
    mem_free(path);
    return result;
}

static int visit_folder(struct reading *reading, const char *folder, const char *name)
{
    struct dirent **files = NULL;
    char *reference = NULL;
    struct err err;
    int result = 0;
    char *path = find_reference(folder);
    if (!path)
        return 0;
    bool readable = read_source(path, &reference, &err) == 0;
    if (!readable)
        reading_complain(reading, &err);
    int count = readable ? scandir(folder, &files, is_visible, alphasort) : 0;
    for (int i = 0; i < count; i++) {
        const char *file = files[i]->d_name;
        if (result == 0 && language_has_ending(NULL, file) && !is_reference(file))
            result = visit_file(reading, folder, file, name, reference);
        free(files[i]);
    }
    free(files);
    mem_free(reference);
    mem_free(path);
    return result;
}

int corpus_folders(struct reading *reading, const char *path, struct err *err)
{
    struct dirent **names = NULL;
    int result = 0;
    int count = scandir(path, &names, is_visible, alphasort);
    if (count < 0)
        return err_sys(err, errno, "cannot list %s", path);
    for (int i = 0; i < count; i++) {
        char *folder = mem_printf("%s/%s", path, names[i]->d_name);
        if (result == 0)
            result = visit_folder(reading, folder, names[i]->d_name);
        mem_free(folder);
        free(names[i]);
    }
    free(names);
    return result;
}
