#include "base/array.h"
#include "base/file.h"
#include "base/limits.h"
#include "gym/prompt/checkout_internal.h"
#include "gym/prompt/set.h"

#include <string.h>

static void put_literal(struct buf *out, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text[i] == '{' && i + 1 < count && text[i + 1] == '{') {
            buf_puts(out, "{{\"{{\"}}");
            i++;
        } else {
            buf_append(out, &text[i], 1);
        }
}

/* A single brace before a value of ours would make three of them. */
static void put_brace(struct buf *out, const char *brace)
{
    buf_printf(out, "{{\"%s\"}}", brace);
}

static const struct checkout_placeholder *find_placeholder(const struct checkout_placeholder *known,
                                                           size_t count, const char *name,
                                                           size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(known[i].name) == length && strncmp(known[i].name, name, length) == 0)
            return &known[i];
    return NULL;
}

int checkout_put_format(struct buf *out, const char *file, const char *text,
                        const struct checkout_placeholder *known, size_t count, struct err *err)
{
    while (*text) {
        size_t plain = strcspn(text, "{}");
        buf_append(out, text, plain);
        text += plain;
        if (text[0] && text[0] == text[1]) {
            put_brace(out, *text == '{' ? "{" : "}");
            text += 2;
        } else if (*text) {
            size_t length = strcspn(text + 1, "{}");
            const struct checkout_placeholder *found = find_placeholder(known, count, text + 1,
                                                                        length);
            if (*text == '}' || text[length + 1] != '}' || !found)
                return err_set(err, ERR_INPUT, "%s: no placeholder that is known here: %.*s", file,
                               (int)(length < 40 ? length + 2 : 40), text);
            if (found->template)
                buf_puts(out, found->template);
            else
                put_literal(out, found->text, strlen(found->text));
            text += length + 2;
        }
    }
    return 0;
}

void checkout_add_text(struct prompts *prompts, const char *from, const char *name,
                       const struct buf *text)
{
    struct arena *arena = &prompts->arena;
    if (prompts->file_count < LIMIT_TEMPLATES)
        prompts->files[prompts->file_count++] = (struct prompt_file){
            .name = arena_strdup(arena, name),
            .called = arena_printf(arena, "%s (%s)", from, name),
            .text = arena_strndup(arena, text->data, text->len),
            .bytes = text->len,
        };
}

void checkout_add_fixed(struct prompts *prompts, const char *from, const char *style,
                        const char *file, const char *text)
{
    struct buf buf;
    char *name = mem_printf("%s/%s", style, file);
    buf_init(&buf, LIMIT_TEMPLATE_BYTES);
    buf_puts(&buf, text);
    checkout_add_text(prompts, from, name, &buf);
    buf_deinit(&buf);
    mem_free(name);
}

static const struct {
    const char *file, *style;
    int (*add)(struct prompts *prompts, const char *directory, const char *path, const char *text,
               size_t bytes, struct err *err);
} projects[] = {
    {"src/kernelbench/prompts/prompts.toml", "kernelbench", checkout_add_kernelbench},
    {"src/prompts/prompts.toml", "kernelbench", checkout_add_kernelbench},
    {"drkernel/kernel/config/prompt_config/multi_turn_kernel.yaml", "kernelgym",
     checkout_add_kernelgym},
    {"kernel/config/prompt_config/multi_turn_kernel.yaml", "kernelgym", checkout_add_kernelgym},
};

/* The row, or the count. */
static size_t project_of(const char *directory)
{
    size_t i = 0;
    for (bool there = false; i < COUNT(projects); i++) {
        char *path = mem_printf("%s/%s", directory, projects[i].file);
        there = file_exists(path);
        mem_free(path);
        if (there)
            break;
    }
    return i;
}

const char *checkout_style(const char *directory)
{
    size_t i = project_of(directory);
    return i < COUNT(projects) ? projects[i].style : NULL;
}

int checkout_add(struct prompts *prompts, const char *directory, struct err *err)
{
    size_t i = project_of(directory), bytes;
    char *text;
    char *path = mem_printf("%s/%s", directory, projects[i].file);
    int result = file_read(path, LIMIT_TEMPLATE_BYTES, &text, &bytes, err);
    if (result == 0) {
        result = projects[i].add(prompts, directory, path, text, bytes, err);
        mem_free(text);
    }
    mem_free(path);
    return result;
}
