/* KernelBench's prompts.toml, composed as its own constructor of prompts does. */
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/toml.h"
#include "gym/prompt/checkout_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Our languages and its backends. */
static const struct {
    const char *language, *backend;
} backends[] = {{"torch-cuda", "cuda"}, {"triton", "triton"}};

/* One prompt: a backend and an option of a prompts.toml. */
struct bench {
    struct prompts *prompts;
    const char *root, *file; /* the checkout, the path of prompts.toml */
    const json_t *toml, *backend, *option;
    const char *display; /* backend_display */
    struct buf examples, intro;
};

static const json_t *walk(const json_t *value, const char *path)
{
    while (value && *path) {
        char name[LIMIT_NAME_BYTES];
        size_t length = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        value = json_object_get(value, name);
        path += length + (path[length] == '.');
    }
    return value;
}

static int text_of(const struct bench *bench, const char *path, const char **text, struct err *err)
{
    *text = json_string_value(walk(bench->toml, path));
    return *text ? 0 : err_set(err, ERR_INPUT, "%s: there is no text %s", bench->file, path);
}

/* Python's strip(). */
static void strip(const char **text, size_t *length)
{
    while (*length > 0 && isspace((unsigned char)**text)) {
        ++*text;
        --*length;
    }
    while (*length > 0 && isspace((unsigned char)(*text)[*length - 1]))
        --*length;
}

static void strip_end(struct buf *text)
{
    while (text->len > 0 && isspace((unsigned char)text->data[text->len - 1]))
        text->data[--text->len] = '\0';
}

static void put_stripped(struct buf *out, const char *text)
{
    size_t length = strlen(text);
    strip(&text, &length);
    buf_append(out, text, length);
}

/* A file that prompts.toml names, from the checkout's root. */
static int read_example(const struct bench *bench, const json_t *path, char **text, struct err *err)
{
    size_t bytes;
    const char *name = json_string_value(path);
    if (!name || name[0] == '/' || strstr(name, ".."))
        return err_set(err, ERR_INPUT, "%s: an example is no path within the checkout",
                       bench->file);
    char *whole = mem_printf("%s/%s", bench->root, name);
    int result = file_read(whole, LIMIT_TEMPLATE_BYTES, text, &bytes, err);
    if (result == 0 && (result = file_check_text(whole, *text, bytes, err)) < 0)
        mem_free(*text);
    mem_free(whole);
    return result;
}

static int put_example(struct bench *bench, const json_t *input, const json_t *output,
                       const char *label, struct err *err)
{
    const char *entry;
    char *texts[2] = {0};
    struct buf stripped;
    int result = text_of(bench, "templates.common.example_entry_template", &entry, err);
    if (result == 0)
        result = read_example(bench, input, &texts[0], err);
    if (result == 0)
        result = read_example(bench, output, &texts[1], err);
    const struct checkout_placeholder known[] = {{"example_label", NULL, label},
                                                 {"input_code", NULL, texts[0]},
                                                 {"output_code", NULL, texts[1]},
                                                 {"backend_display", NULL, bench->display}};
    buf_init(&stripped, LIMIT_TEMPLATE_BYTES);
    if (result == 0) {
        put_stripped(&stripped, entry);
        buf_puts(&bench->examples, bench->examples.len ? "\n\n" : "");
        result = checkout_put_format(&bench->examples, bench->file, stripped.data, known,
                                     COUNT(known), err);
    }
    buf_deinit(&stripped);
    mem_free(texts[0]);
    mem_free(texts[1]);
    return result;
}

static int put_one_shot(struct bench *bench, struct err *err)
{
    const json_t *input = walk(bench->backend, "few_shot_example_arch");
    if (!input)
        input = walk(bench->toml, "shared.few_shot_example_arch");
    return put_example(bench, input, walk(bench->backend, "one_shot_new_arch"), "Example:", err);
}

/* The examples of the option, if it requires some. */
static int put_examples(struct bench *bench, struct err *err)
{
    const json_t *rows = walk(bench->backend, "few_shot_examples");
    const char *wants = json_text_at(bench->option, "requires_example"), *intro;
    bool few = strcmp(wants, "few_shot") == 0 && json_array_size(rows) > 0;
    if (!*wants)
        return 0;
    int result = few ? 0 : put_one_shot(bench, err);
    for (size_t i = 0; few && result == 0 && i < json_array_size(rows); i++) {
        char label[32];
        const json_t *row = json_array_get(rows, i);
        snprintf(label, sizeof label, "Example %zu:", i + 1);
        result = put_example(bench, json_array_get(row, 0), json_array_get(row, 1), label, err);
    }
    strip_end(&bench->examples);
    if (result == 0)
        result = text_of(bench,
                         few ? "templates.common.example_intro_few_shot"
                             : "templates.common.example_intro_one_shot",
                         &intro, err);
    const struct checkout_placeholder known[] = {{"backend_display", NULL, bench->display}};
    struct buf stripped;
    buf_init(&stripped, LIMIT_TEMPLATE_BYTES);
    if (result == 0) {
        put_stripped(&stripped, intro);
        result = checkout_put_format(&bench->intro, bench->file, stripped.data, known, 1, err);
    }
    buf_deinit(&stripped);
    return result;
}

/* Shared texts are inserted as they are, the others stripped and ended by a line break. */
static int put_component(const struct bench *bench, const char *name, struct buf *out,
                         struct err *err)
{
    char path[2 * LIMIT_NAME_BYTES];
    const char *text;
    bool shared = strcmp(name, "problem_statement") == 0 || strcmp(name, "instruction") == 0;
    if (strncmp(name, "hardware_", 9) == 0)
        return err_set(err, ERR_INPUT, "%s: the component %s needs KernelBench's table of GPUs",
                       bench->file, name);
    snprintf(path, sizeof path, "%s.%.100s", shared ? "shared" : "templates.common", name);
    int result = text_of(bench, path, &text, err);
    if (result < 0)
        return result;
    if (shared) {
        buf_puts(out, text);
    } else {
        put_stripped(out, text);
        buf_puts(out, "\n");
    }
    return 0;
}

/* The whole message in Python's format. */
static int compose(const struct bench *bench, struct buf *out, struct err *err)
{
    const json_t *components = json_object_get(bench->option, "components");
    int result = json_array_size(components) > 0
                     ? 0
                     : err_set(err, ERR_INPUT, "%s: an option has no components", bench->file);
    for (size_t i = 0; result == 0 && i < json_array_size(components); i++) {
        const char *name = json_string_value(json_array_get(components, i));
        buf_puts(out, i ? "\n" : "");
        result = put_component(bench, name ? name : "", out, err);
    }
    return result;
}

static int put_message(struct bench *bench, struct buf *out, struct err *err)
{
    const char *precision = json_text_at(json_object_get(bench->toml, "meta"), "default_precision");
    struct buf whole, stripped;
    char path[LIMIT_NAME_BYTES];
    snprintf(path, sizeof path, "precision.%.40s.precision_display",
             *precision ? precision : "fp32");
    const char *display = json_string_value(walk(bench->toml, path));
    buf_init(&bench->examples, LIMIT_TEMPLATE_BYTES);
    buf_init(&bench->intro, LIMIT_TEMPLATE_BYTES);
    buf_init(&whole, LIMIT_TEMPLATE_BYTES);
    buf_init(&stripped, LIMIT_TEMPLATE_BYTES);
    int result = put_examples(bench, err);
    const struct checkout_placeholder known[] = {
        {"ref_arch_src", "{{problem.reference}}", NULL},
        {"backend_display", NULL, bench->display},
        {"precision_display", NULL, display ? display : "FP32 (32-bit floating point)"},
        {"examples_intro", bench->intro.data, NULL},
        {"examples_entries", bench->examples.data, NULL},
    };
    if (result == 0)
        result = compose(bench, &whole, err);
    if (result == 0) {
        put_stripped(&stripped, whole.data);
        result = checkout_put_format(out, bench->file, stripped.data, known, COUNT(known), err);
        buf_puts(out, "\n");
    }
    if (result == 0 && (out->cut || bench->examples.cut || whole.cut))
        result = err_set(err, ERR_LIMIT, "%s: a prompt is longer than %zu bytes", bench->file,
                         LIMIT_TEMPLATE_BYTES);
    buf_deinit(&bench->examples);
    buf_deinit(&bench->intro);
    buf_deinit(&whole);
    buf_deinit(&stripped);
    return result;
}

/* STYLE/LANGUAGE.txt for each backend, and first.txt, which includes the language's. */
static int add_option(struct bench *bench, const char *style, struct err *err)
{
    struct buf first, languages;
    int result = 0;
    buf_init(&first, LIMIT_TEMPLATE_BYTES);
    buf_init(&languages, LIMIT_TEMPLATE_BYTES);
    for (size_t i = 0; result == 0 && i < COUNT(backends); i++) {
        struct buf text;
        const char *language = backends[i].language;
        bench->backend = json_object_get(json_object_get(bench->toml, "backends"),
                                         backends[i].backend);
        if (!bench->backend)
            continue;
        bench->display = json_text_at(bench->backend, "backend_display");
        buf_init(&text, LIMIT_TEMPLATE_BYTES);
        char *name = mem_printf("%s/%s.txt", style, language);
        result = put_message(bench, &text, err);
        checkout_add_text(bench->prompts, bench->file, name, &text);
        buf_printf(&first, "{{#if language.name == \"%s\"}}\n{{>%s/%s}}\n{{/if}}\n", language,
                   style, language);
        buf_printf(&languages, "%s\"%s\"", languages.len ? ", " : "", language);
        mem_free(name);
        buf_deinit(&text);
    }
    char *manifest = mem_printf("{\"verbatim\": [\"first\"], \"languages\": [%s]}", languages.data);
    checkout_add_fixed(bench->prompts, bench->file, style, "first.txt", first.data);
    checkout_add_fixed(bench->prompts, bench->file, style, "later.txt", CHECKOUT_LATER);
    checkout_add_fixed(bench->prompts, bench->file, style, "feedback.txt", CHECKOUT_FEEDBACK);
    checkout_add_fixed(bench->prompts, bench->file, style, "style.json", manifest);
    mem_free(manifest);
    buf_deinit(&first);
    buf_deinit(&languages);
    return result;
}

int checkout_add_kernelbench(struct prompts *prompts, const char *directory, const char *path,
                             const char *text, size_t bytes, struct err *err)
{
    json_t *toml, *option;
    const char *name;
    int result = toml_parse(path, text, bytes, &toml, err);
    if (result < 0)
        return result;
    struct bench bench = {.prompts = prompts, .root = directory, .file = path, .toml = toml};
    json_object_foreach(json_object_get(toml, "options"), name, option)
    {
        char style[LIMIT_NAME_BYTES];
        snprintf(style, sizeof style, "kernelbench-%.80s", name);
        bench.option = option;
        if (result == 0 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name))
            result = add_option(&bench, style, err);
        if (result == 0 && strcmp(name, "one_shot") == 0)
            result = add_option(&bench, "kernelbench", err);
    }
    json_decref(toml);
    return result;
}
