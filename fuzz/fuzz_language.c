/* Any bytes as a language's file: refused with a place, or something that can be started. */
#include "base/file.h"
#include "base/limits.h"
#include "judge/request/external_language.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12: see fuzz_problem_yaml.c. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml\n";
}

/* Words that exec takes, the first of which is a path. */
static void check_command(const char *const *words)
{
    size_t count = 0;
    while (words[count])
        count++;
    if (count == 0 || count > LIMIT_LANGUAGE_WORDS || words[0][0] != '/')
        abort();
}

static void check_language(const struct language *language)
{
    const struct external *external = language->external;
    if (!external || language_named(language->name) || strchr(language->name, '/') ||
        !language->endings[0] || !strrchr(language->file, '.'))
        abort();
    for (const char *const *ending = language->endings; *ending; ending++)
        if ((*ending)[0] != '.' || language_owns(NULL, *ending))
            abort();
    check_command(external->run);
    if (external->compile)
        check_command(external->compile);
    for (const char *const *path = external->readable; *path; path++)
        if ((*path)[0] != '/')
            abort();
    for (const char *const *word = external->environment; *word; word++)
        if (!strchr(*word, '=') || (*word)[0] == '=')
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char name[] = "languages/fuzz.yaml";
    struct arena arena = {0};
    struct language language;
    struct err err = {0};
    char *text = mem_copy(data, size);
    if (external_parse(&language, &arena, name, "/languages", text, size, &err) == 0)
        check_language(&language);
    else if (err.code != ERR_INPUT || strncmp(err.text, name, sizeof name - 1) != 0 ||
             file_check_text("error", err.text, strlen(err.text), NULL) < 0)
        abort();
    arena_deinit(&arena);
    mem_free(text);
    return 0;
}
