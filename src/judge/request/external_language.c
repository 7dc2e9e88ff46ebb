#include "judge/request/external_language.h"

#include "base/array.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/yaml.h"
#include "sandbox/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+"

/* What every program wants that is not linked statically. */
static const char *const system_paths[] = {"/lib", "/lib64", "/usr/lib", "/usr/lib64",
                                           "/etc/ld.so.cache"};
static const char *const system_words[] = {"PATH=/usr/bin:/bin", "HOME=" SANDBOX_SCRATCH,
                                           "TMPDIR=" SANDBOX_SCRATCH, "LC_ALL=C.UTF-8"};

struct reading {
    struct yaml yaml;
    struct arena *arena;
    const char *directory;
};

static bool is_word(const char *text, const char *characters)
{
    size_t length = strspn(text, characters);
    return length > 0 && text[length] == '\0' && length < LIMIT_NAME_BYTES;
}

/* Absolute, or beside the file; NULL with an error. */
static const char *read_path(struct reading *reading, const struct yaml_node *node)
{
    if (node->text[0] == '/')
        return arena_strdup(reading->arena, node->text);
    if (strncmp(node->text, "./", 2) == 0)
        return arena_printf(reading->arena, "%s/%s", reading->directory, node->text + 2);
    (void)yaml_fail(&reading->yaml, node,
                    "'%.100s' must be an absolute path, or begin with ./ (beside this file)",
                    node->text);
    return NULL;
}

/* Scalars of a sequence; NULL with an error. `reserved`: entries to leave free before them. */
static const char **read_list(struct reading *reading, const struct yaml_node *node,
                              const char *what, size_t reserved)
{
    if (yaml_expect(&reading->yaml, node, YAML_SEQUENCE, what) < 0)
        return NULL;
    if (node->count == 0 || node->count > LIMIT_LANGUAGE_WORDS) {
        (void)yaml_fail(&reading->yaml, node, "%s has 1 to %d entries", what, LIMIT_LANGUAGE_WORDS);
        return NULL;
    }
    const char **words = arena_alloc(reading->arena, (reserved + node->count + 1) * sizeof *words);
    for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
        if (yaml_expect(&reading->yaml, entry, YAML_SCALAR, what) < 0)
            return NULL;
        words[reserved++] = entry->text;
    }
    return words;
}

/* A program's words, the first of which is its path. */
static const char *const *read_command(struct reading *reading, const char *key)
{
    const struct yaml_node *node = yaml_get(reading->yaml.root, key);
    const char **words = read_list(reading, node, key, 0);
    const char *path = words ? read_path(reading, node->first) : NULL;
    if (path)
        words[0] = path;
    return path ? words : NULL;
}

static int read_name(struct reading *reading, struct language *language)
{
    const struct yaml_node *node = yaml_get(reading->yaml.root, "name");
    int result = yaml_expect(&reading->yaml, node, YAML_SCALAR, "name");
    if (result < 0)
        return result;
    if (!is_word(node->text, NAME_CHARACTERS))
        return yaml_fail(&reading->yaml, node, "a name is letters, digits and _-+");
    if (language_named(node->text))
        return yaml_fail(&reading->yaml, node, "'%s' is one of warpgym's own languages",
                         node->text);
    language->name = language->title = node->text;
    return 0;
}

static int read_endings(struct reading *reading, struct language *language)
{
    const struct yaml_node *node = yaml_get(reading->yaml.root, "endings");
    const char **endings = read_list(reading, node, "endings", 0);
    if (!endings)
        return ERR_INPUT;
    if (node->count > LANGUAGE_ENDINGS)
        return yaml_fail(&reading->yaml, node, "%d endings are the most", LANGUAGE_ENDINGS);
    for (size_t i = 0; endings[i]; i++) {
        if (endings[i][0] != '.' || !is_word(endings[i] + 1, NAME_CHARACTERS))
            return yaml_fail(&reading->yaml, node, "an ending is like .cl, not '%.32s'",
                             endings[i]);
        if (language_owns(NULL, endings[i]))
            return yaml_fail(&reading->yaml, node, "%s is a file of warpgym's own languages",
                             endings[i]);
        language->endings[i] = endings[i];
    }
    language->file = arena_printf(reading->arena, "candidate%s", endings[0]);
    return 0;
}

/* The system's, the programs themselves, and what the file names. */
static const char *const *read_readable(struct reading *reading, const struct external *external)
{
    size_t count = COUNT(system_paths) + 2;
    const struct yaml_node *node = yaml_get(reading->yaml.root, "readable");
    const char **paths = node ? read_list(reading, node, "readable", count)
                              : arena_alloc(reading->arena, (count + 1) * sizeof *paths);
    if (!paths)
        return NULL;
    memcpy(paths, system_paths, sizeof system_paths);
    paths[count - 2] = external->run[0];
    paths[count - 1] = external->compile ? external->compile[0] : external->run[0];
    for (const struct yaml_node *entry = node ? node->first : NULL; entry; entry = entry->next)
        if (!(paths[count++] = read_path(reading, entry)))
            return NULL;
    return paths;
}

static const char *const *read_environment(struct reading *reading)
{
    size_t count = COUNT(system_words);
    const struct yaml_node *node = yaml_get(reading->yaml.root, "environment");
    if (node && yaml_expect(&reading->yaml, node, YAML_MAPPING, "environment") < 0)
        return NULL;
    const char **words = arena_alloc(reading->arena,
                                     (count + (node ? node->count : 0) + 1) * sizeof *words);
    memcpy(words, system_words, sizeof system_words);
    for (const struct yaml_node *entry = node ? node->first : NULL; entry; entry = entry->next) {
        if (yaml_expect(&reading->yaml, entry, YAML_SCALAR, "environment") < 0)
            return NULL;
        if (!is_word(entry->key->text, NAME_CHARACTERS)) {
            (void)yaml_fail(&reading->yaml, entry->key, "no name of a variable");
            return NULL;
        }
        words[count++] = arena_printf(reading->arena, "%s=%s", entry->key->text, entry->text);
    }
    return words;
}

static int read_language(struct reading *reading, struct language *language,
                         struct external *external)
{
    static const char *const keys[] = {"name",    "endings",  "run",
                                       "compile", "readable", "environment"};
    const struct yaml_node *root = reading->yaml.root;
    int result = yaml_expect_keys(&reading->yaml, root, "a language", keys, COUNT(keys));
    for (size_t i = 0; result == 0 && i < 3; i++)
        if (!yaml_get(root, keys[i]))
            result = yaml_fail(&reading->yaml, root, "the key '%s' is missing", keys[i]);
    if (result == 0)
        result = read_name(reading, language);
    if (result == 0)
        result = read_endings(reading, language);
    if (result < 0)
        return result;
    bool compiles = yaml_get(root, "compile") != NULL;
    external->run = read_command(reading, "run");
    if (external->run && compiles)
        external->compile = read_command(reading, "compile");
    if (!external->run || (compiles && !external->compile))
        return ERR_INPUT;
    external->readable = read_readable(reading, external);
    external->environment = external->readable ? read_environment(reading) : NULL;
    return external->environment ? 0 : ERR_INPUT;
}

static int parse_file(struct reading *reading, struct language *language, struct external *external,
                      const char *name, const char *text, size_t bytes, struct err *err)
{
    *language = (struct language){.name = "", .format = PROBLEM_NATIVE, .external = external};
    int result = yaml_parse(&reading->yaml, reading->arena, name, text, bytes, err);
    return result < 0 ? result : read_language(reading, language, external);
}

int external_parse(struct language *language, struct arena *arena, const char *name,
                   const char *directory, const char *text, size_t bytes, struct err *err)
{
    struct reading reading = {.arena = arena, .directory = directory};
    return parse_file(&reading, language, arena_alloc(arena, sizeof(struct external)), name, text,
                      bytes, err);
}

static int check_program(const char *name, const char *path, struct err *err)
{
    struct stat facts;
    if (stat(path, &facts) < 0 || !S_ISREG(facts.st_mode) || access(path, X_OK) < 0)
        return err_set(err, ERR_MISSING, "%s: there is no program %s", name, path);
    return 0;
}

/* What a build depends on: the description, and which version of the files lies there. */
static void identify_build(struct external *external, const char *text)
{
    struct stat facts;
    char version[96];
    struct hash *hash = hash_new();
    hash_update_string(hash, text);
    for (const char *const *path = external->readable + COUNT(system_paths); *path; path++) {
        if (stat(*path, &facts) < 0)
            continue;
        snprintf(version, sizeof version, "%lld %lld.%09ld", (long long)facts.st_size,
                 (long long)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
        hash_update_string(hash, *path);
        hash_update_string(hash, version);
    }
    hash_finish(hash, external->hash);
}

static int check_unique(const struct languages *languages, const struct language *language,
                        const char *path, struct err *err)
{
    for (size_t i = 0; i < languages->count; i++)
        if (strcmp(languages->rows[i].name, language->name) == 0)
            return err_set(err, ERR_INPUT, "%s: there is another language '%s'", path,
                           language->name);
    for (size_t i = 0; language->endings[i]; i++)
        if (language_owns(languages, language->endings[i]))
            return err_set(err, ERR_INPUT, "%s: another language has the ending %s", path,
                           language->endings[i]);
    return 0;
}

static int load_file(struct languages *languages, struct language *language, struct arena *arena,
                     const char *directory, const char *path, struct err *err)
{
    char *text = NULL;
    size_t bytes;
    struct reading reading = {.arena = arena, .directory = directory};
    struct external *external = arena_alloc(arena, sizeof *external);
    int result = file_read(path, LIMIT_YAML_BYTES, &text, &bytes, err);
    if (result == 0)
        result = parse_file(&reading, language, external, path, text, bytes, err);
    if (result == 0)
        result = check_program(path, external->run[0], err);
    if (result == 0 && external->compile)
        result = check_program(path, external->compile[0], err);
    if (result == 0)
        result = check_unique(languages, language, path, err);
    if (result == 0)
        identify_build(external, text);
    mem_free(text);
    return result;
}

static int is_yaml(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 5 &&
           strcmp(entry->d_name + length - 5, ".yaml") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int load_directory(struct languages *languages, struct language *rows, struct arena *arena,
                          const char *directory, struct err *err)
{
    struct dirent **names;
    int result = 0;
    int count = scandir(directory, &names, is_yaml, by_name);
    if (count < 0)
        return err_sys(err, errno, "%s: cannot list languages", directory);
    for (int i = 0; i < count; i++) {
        const char *path = arena_printf(arena, "%s/%s", directory, names[i]->d_name);
        if (result == 0 && languages->count == LIMIT_LANGUAGES)
            result = err_set(err, ERR_LIMIT, "%s: %d languages are the most", path,
                             LIMIT_LANGUAGES);
        if (result == 0)
            result = load_file(languages, &rows[languages->count], arena, directory, path, err);
        if (result == 0)
            languages->count++;
        free(names[i]);
    }
    free(names);
    return result;
}

int external_load(struct languages *languages, struct arena *arena, const char *path,
                  struct err *err)
{
    struct language *rows = arena_alloc(arena, LIMIT_LANGUAGES * sizeof *rows);
    int result = 0;
    *languages = (struct languages){.rows = rows};
    while (result == 0 && *path) {
        size_t length = strcspn(path, ":");
        char *named = arena_strndup(arena, path, length);
        char *real = *named ? realpath(named, NULL) : NULL;
        if (*named && !real)
            result = err_sys(err, errno, "%s: no directory of languages", named);
        else if (real)
            result = load_directory(languages, rows, arena, arena_strdup(arena, real), err);
        free(real);
        path += length + (path[length] == ':');
    }
    return result;
}
