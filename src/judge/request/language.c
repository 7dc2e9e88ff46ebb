#include "judge/request/language.h"

#include "base/array.h"
#include "judge/request/cpp_source.h"
#include "judge/request/python_source.h"

#include <stdio.h>
#include <string.h>

#define LABELS_PYTHON " python py python3 python2 py3 pytorch torch triton ipython "

/* The last row that fits is it, and the first one fits everything. */
static const struct language rows[] = {
    {.name = "c",
     .title = "C",
     .file = "candidate.c",
     .endings = {".c"},
     .fence = "c",
     .labels = " c h c89 c90 c99 c11 c17 c18 c23 gnu17 ",
     .near = " cpp cuda openmp simd ",
     .syntax = SYNTAX_C,
     .format = PROBLEM_NATIVE,
     .standard = true,
     .compile = COMPILE_C},
    {.name = "cpp",
     .title = "C++",
     .file = "candidate.cpp",
     .endings = {".cpp", ".cc", ".cxx"},
     .shows = cpp_source,
     .fence = "cpp",
     .labels = " cpp c++ cc cxx hpp c++11 c++14 c++17 c++20 ",
     .near = " c cuda openmp simd ",
     .syntax = SYNTAX_C,
     .prompts_of = "c",
     .format = PROBLEM_NATIVE,
     .compile = COMPILE_CPP},
    {.name = "cuda",
     .title = "CUDA",
     .file = "candidate.cu",
     .endings = {".cu"},
     .also = {".cuh"},
     .decisive = {"__global__"},
     .fence = "cuda",
     .labels = " cuda cu cuh cuda-c cuda_c cudac cuda-c++ cuda-cpp cuda_cpp ",
     .near = " cpp c ",
     .syntax = SYNTAX_CUDA,
     .format = PROBLEM_NATIVE,
     .compile = COMPILE_CUDA,
     .gpu = true},
    {.name = "python",
     .title = "PyTorch",
     .file = "candidate.py",
     .endings = {".py"},
     .shows = python_source,
     .fence = "python",
     .labels = LABELS_PYTHON,
     .near = " ",
     .syntax = SYNTAX_PYTHON,
     .format = PROBLEM_TORCH},
    {.name = "triton",
     .title = "Triton",
     .file = "candidate.py",
     .endings = {".py"},
     .shows = python_source,
     .markers = {"@triton.jit"},
     .fence = "python",
     .labels = LABELS_PYTHON,
     .near = " ",
     .syntax = SYNTAX_PYTHON,
     .format = PROBLEM_TORCH,
     .standard = true,
     .interpreted = true,
     .decoys = true},
    {.name = "torch-cuda",
     .title = "CUDA",
     .file = "candidate.py",
     .endings = {".py"},
     .shows = python_source,
     .markers = {"cuda_sources", "__global__"},
     .fence = "python",
     .labels = LABELS_PYTHON,
     .near = " cuda cpp ",
     .syntax = SYNTAX_PYTHON,
     .format = PROBLEM_TORCH},
    {.name = NULL},
};

#define ROWS (COUNT(rows) - 1)

const struct word_table language_words = WORD_TABLE_OF(rows, name);

/* Of a file's name: ".c"; NULL: it has none. */
static const char *ending_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot && dot > name && dot[1] ? dot : NULL;
}

static bool is_listed(const char *const *words, const char *word)
{
    for (; word && *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

static bool has_one(const char *const *words, const char *text)
{
    for (; *words; words++)
        if (strstr(text, *words))
            return true;
    return false;
}

static bool row_fits(const struct language *row, const char *ending, const char *text)
{
    if (is_listed(row->endings, ending) || is_listed(row->also, ending))
        return !row->markers[0] || has_one(row->markers, text);
    bool shows = !ending && row->shows && row->shows(text);
    return has_one(row->decisive, text) ||
           (shows && (!row->markers[0] || has_one(row->markers, text)));
}

const struct language *language_of(const struct languages *more, const char *path, const char *text)
{
    const char *ending = ending_of(path);
    for (size_t i = 0; more && i < more->count; i++)
        if (row_fits(&more->rows[i], ending, text))
            return &more->rows[i];
    const struct language *row = &rows[ROWS - 1];
    while (row > rows && !row_fits(row, ending, text))
        row--;
    return row;
}

const char *language_foreign_ending(const struct language *row, const char *path)
{
    const char *ending = ending_of(path);
    return row == rows && !is_listed(row->endings, ending) ? ending : NULL;
}

const struct language *language_named(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

const struct language *language_at(size_t index)
{
    return index < ROWS ? &rows[index] : NULL;
}

const struct language *language_any(const struct languages *more, size_t index)
{
    if (index < ROWS)
        return &rows[index];
    return more && index - ROWS < more->count ? &more->rows[index - ROWS] : NULL;
}

const struct language *language_standard(enum problem_format format)
{
    const struct language *row = rows;
    while (row < &rows[ROWS - 1] && (row->format != format || !row->standard))
        row++;
    return row;
}

bool language_owns(const struct languages *more, const char *ending)
{
    const struct language *row;
    for (size_t i = 0; (row = language_any(more, i)); i++)
        if (is_listed(row->endings, ending) || is_listed(row->also, ending))
            return true;
    return false;
}

static const struct language *first_with(const struct languages *more, const char *ending)
{
    size_t i = 0;
    while (!is_listed(language_any(more, i)->endings, ending))
        i++;
    return language_any(more, i);
}

void language_endings(const struct languages *more, char *text, size_t text_bytes)
{
    const struct language *row;
    size_t used = 0;
    for (size_t i = 0; (row = language_any(more, i)); i++)
        for (const char *const *ending = row->endings; *ending && used < text_bytes; ending++)
            if (first_with(more, *ending) == row)
                used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", used ? ", " : "",
                                         *ending);
}

bool language_has_ending(const struct languages *more, const char *path)
{
    const char *ending = ending_of(path);
    const struct language *row;
    for (size_t i = 0; (row = language_any(more, i)); i++)
        if (is_listed(row->endings, ending))
            return true;
    return false;
}

void language_names(char *text, size_t text_bytes)
{
    size_t used = 0;
    for (size_t i = 0; i < ROWS && used < text_bytes; i++)
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", i ? ", " : "",
                                 rows[i].name);
}

json_t *language_names_json(void)
{
    json_t *names = json_array();
    for (size_t i = 0; i < ROWS; i++)
        json_array_append_new(names, json_string(rows[i].name));
    return names;
}

void language_titles(enum problem_format format, char *text, size_t text_bytes)
{
    size_t used = 0, count = 0, seen = 0;
    for (size_t i = 0; i < ROWS; i++)
        count += rows[i].format == format;
    for (size_t i = 0; i < ROWS && used < text_bytes; i++) {
        if (rows[i].format != format)
            continue;
        seen++;
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%s",
                                 seen == 1       ? ""
                                 : seen == count ? " or "
                                                 : ", ",
                                 rows[i].title);
    }
}

int language_unknown(const char *name, struct err *err)
{
    char names[256];
    language_names(names, sizeof names);
    return err_set(err, ERR_INPUT, "'language' is '%.64s'; it must be one of %s", name, names);
}
