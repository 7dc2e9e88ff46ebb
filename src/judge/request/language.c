#include "judge/request/language.h"

#include "base/array.h"
#include "judge/reference/native.h"
#include "judge/reference/torch.h"

#include <stdio.h>
#include <string.h>

/* The first row that fits is it, and the last one fits everything. */
static const struct language rows[] = {
    {.name = "torch-cuda",
     .family = "Python",
     .file = "candidate.py",
     .endings = {".py"},
     .markers = {"cuda_sources", "__global__"},
     .format = PROBLEM_TORCH,
     .open = torch_open},
    {.name = "triton",
     .family = "Python",
     .file = "candidate.py",
     .endings = {".py"},
     .markers = {"@triton.jit"},
     .format = PROBLEM_TORCH,
     .interpreted = true,
     .decoys = true,
     .open = torch_open},
    {.name = "python",
     .family = "Python",
     .file = "candidate.py",
     .endings = {".py"},
     .format = PROBLEM_TORCH,
     .open = torch_open},
    {.name = "cuda",
     .family = "C or CUDA",
     .file = "candidate.cu",
     .endings = {".cu", ".cuh"},
     .format = PROBLEM_NATIVE,
     .gpu = true,
     .open = native_open},
    {.name = "cuda", /* whatever its file is called */
     .family = "C or CUDA",
     .file = "candidate.cu",
     .markers = {"__global__"},
     .format = PROBLEM_NATIVE,
     .gpu = true,
     .open = native_open},
    {.name = "c",
     .family = "C or CUDA",
     .file = "candidate.c",
     .endings = {".c"},
     .format = PROBLEM_NATIVE,
     .open = native_open},
};

#define ROWS COUNT(rows)

static bool has_ending(const struct language *row, const char *path)
{
    const char *dot = strrchr(path, '.');
    for (const char *const *ending = row->endings; dot && *ending; ending++)
        if (strcmp(dot, *ending) == 0)
            return true;
    return false;
}

static bool has_marker(const struct language *row, const char *text)
{
    for (const char *const *marker = row->markers; *marker; marker++)
        if (strstr(text, *marker))
            return true;
    return false;
}

static bool fits(const struct language *row, const char *path, const char *text)
{
    return (!row->endings[0] || has_ending(row, path)) &&
           (!row->markers[0] || has_marker(row, text));
}

const struct language *language_of(const struct languages *more, const char *path, const char *text)
{
    for (size_t i = 0; more && i < more->count; i++)
        if (fits(&more->rows[i], path, text))
            return &more->rows[i];
    const struct language *row = rows;
    while (row < &rows[ROWS - 1] && !fits(row, path, text))
        row++;
    return row;
}

const char *language_foreign_ending(const struct language *row, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    bool has_one = dot && dot > name && dot[1];
    return has_one && row->endings[0] && !has_ending(row, name) ? dot : NULL;
}

const struct language *language_named(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

bool language_owns(const char *ending)
{
    for (size_t i = 0; i < ROWS; i++)
        if (has_ending(&rows[i], ending))
            return true;
    return false;
}

bool language_has_ending(const struct languages *more, const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && more && i < more->count; i++)
        if (has_ending(&more->rows[i], path))
            return true;
    for (size_t i = 0; dot && i < ROWS; i++)
        if (strcmp(dot, strrchr(rows[i].file, '.')) == 0)
            return true;
    return false;
}

void language_names(char *text, size_t text_bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = ROWS; i-- > 0 && used < text_bytes;)
        if (language_named(rows[i].name) == &rows[i])
            used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", used ? ", " : "",
                                     rows[i].name);
}
