/* Opens prompts: reads the directories, checks every template and manifest. */
#include "gym/prompt/set.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/paths.h"
#include "base/suggest.h"
#include "gym/gym_settings.h"
#include "gym/prompt/checkout.h"
#include "gym/prompt/template.h"
#include "judge/request/language.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEMPLATE_ENDING ".txt"

const struct prompt_file *prompt_file_find(const struct prompts *prompts, const char *name)
{
    for (size_t i = 0; i < prompts->file_count; i++)
        if (strcmp(prompts->files[i].name, name) == 0)
            return &prompts->files[i];
    return NULL;
}

const struct prompt_style *prompt_style_find(const struct prompts *prompts, const char *name)
{
    for (size_t i = 0; i < prompts->style_count; i++)
        if (strcmp(prompts->styles[i].name, name) == 0)
            return &prompts->styles[i];
    return NULL;
}

const struct prompt_language *prompt_language_find(const struct prompts *prompts, const char *name)
{
    for (size_t i = 0; i < prompts->language_count; i++)
        if (strcmp(prompts->languages[i].name, name) == 0)
            return &prompts->languages[i];
    return NULL;
}

bool prompt_names_have(const struct prompt_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

bool prompt_style_has(const struct prompt_style *style, const char *language)
{
    return style->languages.count == 0 || prompt_names_have(&style->languages, language);
}

static const struct prompt_file *find_in(const struct prompts *prompts, const char *part,
                                         const char *file)
{
    char name[2 * LIMIT_NAME_BYTES];
    snprintf(name, sizeof name, "%s/%s", part, file);
    return prompt_file_find(prompts, name);
}

/* A file of a language's, or of the language whose files stand for those that it lacks. */
static const struct prompt_file *find_of_language(const struct prompts *prompts, const char *name,
                                                  const char *file)
{
    const struct prompt_file *found = NULL;
    while (name && !(found = find_in(prompts, name, file))) {
        const struct language *row = language_named(name);
        name = row ? row->prompts_of : NULL;
    }
    return found;
}

/* The style and language whose parts an include may use. */
struct finder {
    const struct prompts *prompts;
    const char *style, *language;
};

static void missing_file_error(const struct prompts *prompts, const char *name, struct err *err)
{
    const char *names[LIMIT_TEMPLATES];
    size_t count = 0;
    for (; count < prompts->file_count && count < LIMIT_TEMPLATES; count++)
        names[count] = prompts->files[count].name;
    err_unknown(err, "template", name, names, count);
    err->code = ERR_MISSING;
}

static const char *find_include(void *context, const char **name, struct err *err)
{
    const struct finder *finder = context;
    const struct {
        const char *word, *stands_for;
    } words[] = {{"style/", finder->style}, {"language/", finder->language}};
    char file[2 * LIMIT_NAME_BYTES];
    snprintf(file, sizeof file, "%s" TEMPLATE_ENDING, *name);
    const struct prompt_file *found = prompt_file_find(finder->prompts, file);
    for (size_t i = 0; i < COUNT(words); i++) {
        size_t length = strlen(words[i].word);
        if (strncmp(*name, words[i].word, length) != 0)
            continue;
        found = find_of_language(finder->prompts, words[i].stands_for, file + length);
        snprintf(file, sizeof file, "%s/%s" TEMPLATE_ENDING, words[i].stands_for, *name + length);
    }
    if (!found) {
        missing_file_error(finder->prompts, file, err);
        return NULL;
    }
    *name = found->called;
    return found->text;
}

int prompt_render(const struct prompts *prompts, const struct prompt_style *style,
                  const struct prompt_language *language, const char *name, const json_t *values,
                  struct buf *out, struct err *err)
{
    struct finder finder = {prompts, style->name, language->name};
    struct template_source source = {.find = find_include, .context = &finder};
    const char *text = find_include(&finder, &name, err);
    return text ? template_render(name, text, values, &source, out, err) : ERR_MISSING;
}

static int add_file(struct prompts *prompts, const char *path, const char *name, bool own,
                    struct err *err)
{
    char *text;
    size_t bytes;
    struct prompt_file *before = (struct prompt_file *)prompt_file_find(prompts, name);
    if (before) {
        before->replaces = true;
        return 0;
    }
    if (prompts->file_count == LIMIT_TEMPLATES)
        return err_set(err, ERR_LIMIT, "%s: there are more than %d templates", path,
                       LIMIT_TEMPLATES);
    int result = file_read(path, LIMIT_TEMPLATE_BYTES, &text, &bytes, err);
    if (result < 0)
        return result;
    struct prompt_file *file = &prompts->files[prompts->file_count];
    *file = (struct prompt_file){
        .name = arena_strdup(&prompts->arena, name),
        .called = arena_strdup(&prompts->arena, own ? name : path),
        .text = arena_strndup(&prompts->arena, text, bytes),
        .bytes = bytes,
        .own = own,
    };
    mem_free(text);
    result = file_check_text(file->called, file->text, bytes, err);
    if (result == 0)
        prompts->file_count++;
    return result;
}

/* Neither hidden files nor editors' backups. */
static int is_listed(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && entry->d_name[length - 1] != '~' && length < LIMIT_NAME_BYTES;
}

/* The entries of a directory by name: the result must not depend on the file system's order. */
static int list(const char *path, struct dirent ***entries, struct err *err)
{
    int count = scandir(path, entries, is_listed, alphasort);
    return count < 0 ? err_sys(err, errno, "%s: cannot list the directory", path) : count;
}

static void list_free(struct dirent **entries, int count)
{
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

/* The files of DIRECTORY/SUB. */
static int add_part(struct prompts *prompts, const char *directory, const char *sub, bool own,
                    struct err *err)
{
    struct dirent **entries;
    char *part = mem_printf("%s/%s", directory, sub);
    int count = list(part, &entries, err);
    int result = count < 0 ? count : 0;
    for (int i = 0; result == 0 && i < count; i++) {
        char *path = mem_printf("%s/%s", part, entries[i]->d_name);
        char *name = mem_printf("%s/%s", sub, entries[i]->d_name);
        if (!file_is_directory(path))
            result = add_file(prompts, path, name, own, err);
        mem_free(name);
        mem_free(path);
    }
    if (count >= 0)
        list_free(entries, count);
    mem_free(part);
    return result;
}

static int add_directory(struct prompts *prompts, const char *directory, bool own, struct err *err)
{
    struct dirent **entries;
    int count = list(directory, &entries, err);
    int result = count < 0 ? count : 0;
    for (int i = 0; result == 0 && i < count; i++) {
        char *path = mem_printf("%s/%s", directory, entries[i]->d_name);
        if (file_is_directory(path))
            result = add_part(prompts, directory, entries[i]->d_name, own, err);
        mem_free(path);
    }
    if (count >= 0)
        list_free(entries, count);
    return result;
}

/* "SUB" of "SUB/FILE" if that is the file's name; NULL: another file. */
static const char *manifest_directory(struct prompts *prompts, size_t index, const char *file)
{
    const char *name = prompts->files[index].name;
    const char *slash = strchr(name, '/');
    if (strcmp(slash + 1, file) != 0)
        return NULL;
    return arena_strndup(&prompts->arena, name, (size_t)(slash - name));
}

/* The manifest of a part, with its allowed keys. */
static int read_manifest(const struct prompt_file *file, const char *const *keys, size_t count,
                         json_t **manifest, struct err *err)
{
    int result = json_parse(file->called, file->text, file->bytes, manifest, err);
    if (result < 0)
        return result;
    result = json_check_keys(*manifest, keys, count, err);
    if (result < 0) {
        json_decref(*manifest);
        return err_prefix(err, "%s", file->called);
    }
    return 0;
}

/* A list of names; none where the key is absent. */
static int read_names(struct prompts *prompts, const json_t *manifest, const char *key,
                      struct prompt_names *names, struct err *err)
{
    json_t *list_of = NULL;
    int result = json_find_array(manifest, key, &list_of, err);
    for (size_t i = 0; result == 0 && i < json_array_size(list_of); i++) {
        const char *name = json_string_value(json_array_get(list_of, i));
        if (!name || i == PROMPT_NAMES)
            return err_set(err, ERR_INPUT, "%s is a list of at most %d names", key, PROMPT_NAMES);
        names->items[names->count++] = arena_strdup(&prompts->arena, name);
    }
    return result;
}

static int read_style(struct prompts *prompts, struct prompt_style *style, struct err *err)
{
    static const char *const keys[] = {"history", "recent_turns", "shots", "verbatim", "languages"};
    const struct prompt_file *file = find_in(prompts, style->name, "style.json");
    const char *history = "all";
    json_t *manifest;
    if (!file)
        return 0;
    int result = read_manifest(file, keys, COUNT(keys), &manifest, err);
    if (result < 0)
        return result;
    result = json_find_string(manifest, "history", &history, err);
    if (result == 0)
        result = json_find_int(manifest, "recent_turns", &style->recent_turns, err);
    if (result == 0)
        result = json_find_int(manifest, "shots", &style->shots, err);
    if (result == 0)
        result = read_names(prompts, manifest, "verbatim", &style->verbatim, err);
    if (result == 0)
        result = read_names(prompts, manifest, "languages", &style->languages, err);
    style->last_only = strcmp(history, "last") == 0;
    if (result == 0 && !style->last_only && strcmp(history, "all") != 0)
        result = err_set(err, ERR_INPUT, "history is \"all\" or \"last\", not \"%.40s\"", history);
    if (result == 0 && (style->recent_turns < 0 || style->shots < 0))
        result = err_set(err, ERR_INPUT, "recent_turns and shots are not negative");
    json_decref(manifest);
    return result < 0 ? err_prefix(err, "%s", file->called) : 0;
}

/* The text of an example's file, without trailing line breaks. */
static int example_text(struct prompts *prompts, const struct prompt_language *language,
                        const json_t *example, const char *key, const char **text, struct err *err)
{
    const char *name;
    int result = json_get_string(example, key, &name, err);
    if (result < 0)
        return result;
    const struct prompt_file *file = find_of_language(prompts, language->name, name);
    if (!file)
        return err_set(err, ERR_MISSING, "there is no %s/%.100s", language->name, name);
    size_t bytes = file->bytes;
    while (bytes > 0 && file->text[bytes - 1] == '\n')
        bytes--;
    *text = arena_strndup(&prompts->arena, file->text, bytes);
    return 0;
}

static int read_examples(struct prompts *prompts, struct prompt_language *language,
                         const json_t *list_of, struct err *err)
{
    static const char *const keys[] = {"problem", "reference", "solution"};
    if (json_array_size(list_of) > PROMPT_EXAMPLES)
        return err_set(err, ERR_LIMIT, "at most %d examples", PROMPT_EXAMPLES);
    for (size_t i = 0; i < json_array_size(list_of); i++) {
        const json_t *row = json_array_get(list_of, i);
        struct prompt_example *example = &language->examples[i];
        const char *problem = "";
        int result = json_is_object(row) ? json_check_keys(row, keys, COUNT(keys), err)
                                         : err_set(err, ERR_INPUT, "an example is an object");
        if (result == 0)
            result = json_get_string(row, "problem", &problem, err);
        if (result == 0)
            result = example_text(prompts, language, row, "reference", &example->reference, err);
        if (result == 0)
            result = example_text(prompts, language, row, "solution", &example->solution, err);
        if (result < 0)
            return err_prefix(err, "example %zu", i + 1);
        example->problem = arena_strdup(&prompts->arena, problem);
        language->example_count++;
    }
    return 0;
}

/* What the judge's table says of a language; its manifest may say otherwise. */
static void take_row(struct prompt_language *language, const struct language *row)
{
    language->title = row->title;
    language->fence = row->fence;
    language->native = row->format == PROBLEM_NATIVE;
}

static int read_format(const json_t *manifest, struct prompt_language *language, struct err *err)
{
    const char *format = language->native ? "native" : "torch";
    int result = language->title ? json_find_string(manifest, "format", &format, err)
                                 : json_get_string(manifest, "format", &format, err);
    if (result < 0)
        return result;
    language->native = strcmp(format, "native") == 0;
    if (!language->native && strcmp(format, "torch") != 0)
        return err_set(err, ERR_INPUT, "format is \"native\" or \"torch\", not \"%.40s\"", format);
    return 0;
}

/* Keys that the judge's table answers are optional. */
static int read_language(struct prompts *prompts, struct prompt_language *language, struct err *err)
{
    static const char *const keys[] = {"title", "fence", "format", "examples"};
    const struct prompt_file *file = find_in(prompts, language->name, "language.json");
    const struct language *row = language_named(language->name);
    json_t *manifest, *examples = NULL;
    if (row)
        take_row(language, row);
    int result = read_manifest(file, keys, COUNT(keys), &manifest, err);
    if (result < 0)
        return result;
    int (*find)(const json_t *, const char *, const char **, struct err *) = row ? json_find_string
                                                                                 : json_get_string;
    result = read_format(manifest, language, err);
    if (result == 0)
        result = find(manifest, "title", &language->title, err);
    if (result == 0)
        result = find(manifest, "fence", &language->fence, err);
    if (result == 0)
        result = json_find_array(manifest, "examples", &examples, err);
    if (result == 0) {
        language->title = arena_strdup(&prompts->arena, language->title);
        language->fence = arena_strdup(&prompts->arena, language->fence);
        result = read_examples(prompts, language, examples, err);
    }
    json_decref(manifest);
    return result < 0 ? err_prefix(err, "%s", file->called) : 0;
}

/* Those that need no directory, because another language's prompts are theirs. */
static void add_rows(struct prompts *prompts)
{
    const struct language *row;
    for (size_t i = 0; (row = language_at(i)); i++) {
        if (!row->prompts_of || prompt_language_find(prompts, row->name) ||
            prompts->language_count == PROMPT_KINDS)
            continue;
        struct prompt_language *one = &prompts->languages[prompts->language_count++];
        one->name = row->name;
        take_row(one, row);
    }
}

/* Templates without which some turn would be empty. */
static int check_style(const struct prompts *prompts, const struct prompt_style *style,
                       struct err *err)
{
    static const char *const needed[] = {"later.txt", "feedback.txt"};
    for (size_t i = 0; i < COUNT(needed); i++)
        if (!find_in(prompts, style->name, needed[i]))
            return err_set(err, ERR_MISSING, "style '%s' has a first.txt and no %s", style->name,
                           needed[i]);
    return 0;
}

/* A directory with first.txt is a style, one with language.json a language. */
static int read_parts(struct prompts *prompts, struct err *err)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < prompts->file_count; i++) {
        const char *style = manifest_directory(prompts, i, "first.txt");
        const char *language = manifest_directory(prompts, i, "language.json");
        if ((style && prompts->style_count == PROMPT_KINDS) ||
            (language && prompts->language_count == PROMPT_KINDS))
            return err_set(err, ERR_LIMIT, "more than %d styles or languages of prompts",
                           PROMPT_KINDS);
        if (style) {
            struct prompt_style *one = &prompts->styles[prompts->style_count++];
            one->name = style;
            result = read_style(prompts, one, err);
            if (result == 0)
                result = check_style(prompts, one, err);
        } else if (language) {
            struct prompt_language *one = &prompts->languages[prompts->language_count++];
            one->name = language;
            result = read_language(prompts, one, err);
        }
    }
    if (result == 0)
        add_rows(prompts);
    return result;
}

static int check_templates(const struct prompts *prompts, struct err *err)
{
    for (size_t i = 0; i < prompts->file_count; i++) {
        const struct prompt_file *file = &prompts->files[i];
        size_t ending = strlen(file->name) - strlen(TEMPLATE_ENDING);
        if (strlen(file->name) <= strlen(TEMPLATE_ENDING) ||
            strcmp(file->name + ending, TEMPLATE_ENDING) != 0)
            continue;
        int result = template_check(file->called, file->text, err);
        if (result < 0)
            return result;
    }
    return 0;
}

static bool has_style(const char *directory, const char *style)
{
    char *path = mem_printf("%s/%s/first.txt", directory, style);
    bool there = file_exists(path);
    mem_free(path);
    return there;
}

/* The styles of a directory of templates, in `arena`; returns the new count. */
static size_t list_styles(const char *directory, struct arena *arena, const char **styles,
                          size_t count)
{
    struct dirent **entries;
    struct err ignored;
    int found = list(directory, &entries, &ignored);
    for (int i = 0; i < found && count < PROMPT_KINDS; i++)
        if (has_style(directory, entries[i]->d_name))
            styles[count++] = arena_strdup(arena, entries[i]->d_name);
    if (found >= 0)
        list_free(entries, found);
    return count;
}

/* "kernelbench", or "kernelbench-few_shot". */
static bool is_option_of(const char *checkout, const char *style)
{
    size_t length = strlen(checkout);
    return strncmp(style, checkout, length) == 0 && (style[length] == '\0' || style[length] == '-');
}

/* Their own directory, or what a checkout of another project stands for. */
static int add_theirs(struct prompts *prompts, const char *directory, struct err *err)
{
    return checkout_style(directory) ? checkout_add(prompts, directory, err)
                                     : add_directory(prompts, directory, false, err);
}

int prompts_check_style(const char *path, const char *style, struct err *err)
{
    const char *styles[PROMPT_KINDS];
    struct arena arena = {0};
    size_t count = 0;
    if (*path && !file_is_directory(path))
        return err_set(err, ERR_MISSING, "prompts.path: '%s' is not a directory", path);
    char *ours = paths_prompts(err);
    int result = 0;
    const char *checkout = *path ? checkout_style(path) : NULL;
    if (checkout && is_option_of(checkout, style)) {
        /* its options are known once it is read */
    } else if (ours && !has_style(ours, style) && !(*path && has_style(path, style))) {
        count = *path && !checkout ? list_styles(path, &arena, styles, count) : 0;
        if (checkout)
            styles[count++] = checkout;
        count = list_styles(ours, &arena, styles, count);
        result = err_unknown(err, "style", style, styles, count);
    }
    arena_deinit(&arena);
    mem_free(ours);
    return result;
}

int prompts_open(struct prompts **out, const struct settings *settings, struct err *err)
{
    const char *theirs = prompts_settings(settings)->path;
    *out = NULL;
    if (theirs[0] && !file_is_directory(theirs))
        return err_set(err, ERR_MISSING, "prompts.path: '%s' is not a directory", theirs);
    char *ours = paths_prompts(err);
    if (!ours)
        return ERR_MISSING;
    struct prompts *prompts = mem_alloc(sizeof *prompts);
    prompts->files = mem_alloc(LIMIT_TEMPLATES * sizeof *prompts->files);
    int result = theirs[0] ? add_theirs(prompts, theirs, err) : 0;
    if (result == 0)
        result = add_directory(prompts, ours, true, err);
    if (result == 0)
        result = check_templates(prompts, err);
    if (result == 0)
        result = read_parts(prompts, err);
    mem_free(ours);
    if (result < 0)
        prompts_close(prompts);
    else
        *out = prompts;
    return result;
}

void prompts_close(struct prompts *prompts)
{
    if (!prompts)
        return;
    arena_deinit(&prompts->arena);
    mem_free(prompts->withheld);
    mem_free(prompts->files);
    mem_free(prompts);
}

void prompts_withhold(struct prompts *prompts, const char *id, const char *reference)
{
    size_t count = prompts->withheld_count++;
    prompts->withheld = mem_resize(prompts->withheld, (count + 1) * sizeof *prompts->withheld);
    prompts->withheld[count] = (struct prompt_withheld){arena_strdup(&prompts->arena, id),
                                                        arena_strdup(&prompts->arena, reference)};
}

size_t prompts_describe(const struct prompts *prompts, struct buf *out)
{
    size_t count = 0;
    for (size_t i = 0; i < prompts->file_count; i++) {
        const struct prompt_file *file = &prompts->files[i];
        if (file->own)
            continue;
        buf_printf(out, "%s: %s\n", file->name,
                   file->replaces ? "replaces a built-in template" : "new");
        count++;
    }
    return count;
}
