/* KernelGYM's multi_turn_kernel.yaml: the words around the feedback. */
#include "base/array.h"
#include "base/limits.h"
#include "base/yaml.h"
#include "gym/prompt/checkout_internal.h"
#include "gym/prompt/set.h"

#include <stdlib.h>
#include <string.h>

/* The template of the entry "tool_response"; *history is its history_mode, or NULL. */
static const struct yaml_node *later_template(const struct yaml *yaml,
                                              const struct yaml_node **history)
{
    const struct yaml_node *turns = yaml_get(yaml->root, "per_turn_prompts");
    for (const struct yaml_node *one = turns ? turns->first : NULL; one; one = one->next) {
        const struct yaml_node *name = yaml_get(one, "name");
        if (!name || strcmp(name->text, "tool_response") != 0)
            continue;
        *history = yaml_get(one, "history_mode");
        return yaml_get(one, "template");
    }
    return NULL;
}

/* Whether a block scalar keeps its last line break (`|`, not `|-`), which our reader drops. */
static bool keeps_break(const char *text, const struct yaml_node *node)
{
    for (uint32_t line = 1; line < node->key->line; line++)
        text += strcspn(text, "\n") + 1;
    const char *mark = strchr(text, ':');
    size_t blanks = mark ? strspn(mark + 1, " ") : 0;
    return mark && (mark[1 + blanks] == '|' || mark[1 + blanks] == '>') && mark[2 + blanks] != '-';
}

/* "initial+recentN": the first message and the last N, each turn being two. */
static int recent_turns(const struct yaml *yaml, const struct yaml_node *history, long *turns)
{
    static const char prefix[] = "initial+recent";
    const char *mode = history && history->kind == YAML_SCALAR ? history->text : "all";
    char *rest = NULL;
    *turns = 0;
    if (strcmp(mode, "all") == 0)
        return 0;
    if (strncmp(mode, prefix, strlen(prefix)) == 0)
        *turns = strtol(mode + strlen(prefix), &rest, 10);
    if (!rest || *rest || *turns < 2 || *turns > 1000 || *turns % 2)
        return yaml_fail(yaml, history, "history_mode is all, or initial+recentN with an even N");
    *turns /= 2;
    return 0;
}

int checkout_add_kernelgym(struct prompts *prompts, const char *directory, const char *path,
                           const char *text, size_t bytes, struct err *err)
{
    static const struct checkout_placeholder known[] = {{"feedback", "{{feedback|trim}}", NULL}};
    struct yaml yaml;
    struct buf later;
    const struct yaml_node *history = NULL;
    long turns;
    (void)directory;
    int result = yaml_read(&yaml, &prompts->arena, path, text, bytes, err);
    if (result < 0)
        return result;
    const struct yaml_node *node = later_template(&yaml, &history);
    if (!node || node->kind != YAML_SCALAR || node->bytes == 0)
        return err_set(err, ERR_INPUT, "%s: per_turn_prompts has no tool_response with a template",
                       path);
    result = recent_turns(&yaml, history, &turns);
    buf_init(&later, LIMIT_TEMPLATE_BYTES);
    if (result == 0)
        result = checkout_put_format(&later, path, node->text, known, COUNT(known), err);
    buf_puts(&later, keeps_break(text, node) ? "\n" : "");
    char *manifest = mem_printf("{\"verbatim\": [\"later\"], \"shots\": 1, \"recent_turns\": %ld}",
                                turns);
    checkout_add_text(prompts, path, "kernelgym/later.txt", &later);
    checkout_add_fixed(prompts, path, "kernelgym", "first.txt", CHECKOUT_FIRST);
    checkout_add_fixed(prompts, path, "kernelgym", "feedback.txt", CHECKOUT_FEEDBACK);
    checkout_add_fixed(prompts, path, "kernelgym", "style.json", manifest);
    mem_free(manifest);
    buf_deinit(&later);
    return result;
}
