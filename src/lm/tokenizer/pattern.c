#include "lm/tokenizer/pattern.h"

#include "base/limits.h"
#include "base/mem.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define NESTING 64
#define STACK_LEAST_BYTES ((size_t)32 << 10)

struct pattern {
    pcre2_code *code;
};

struct pattern_search {
    pcre2_general_context *memory;
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

/* PCRE2's memory never fails, as ours does not. */
static void *take_memory(size_t size_bytes, void *nothing)
{
    return mem_alloc(size_bytes);
}

static void give_memory(void *memory, void *nothing)
{
    mem_free(memory);
}

static void explain(int code, char *text, size_t capacity)
{
    if (pcre2_get_error_message(code, (PCRE2_UCHAR *)text, capacity) < 0)
        text[0] = '\0';
}

static int compile(struct pattern *pattern, const char *text, size_t count, uint32_t options,
                   struct err *err)
{
    pcre2_general_context *memory = pcre2_general_context_create(take_memory, give_memory, NULL);
    pcre2_compile_context *context = pcre2_compile_context_create(memory);
    int code = 0;
    PCRE2_SIZE place = 0;
    char why[128];
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, NESTING);
    pcre2_set_max_pattern_length(context, LIMIT_PATTERN_PCRE_BYTES);
    pattern->code = pcre2_compile((PCRE2_SPTR)text, count, options, &code, &place, context);
    pcre2_compile_context_free(context);
    pcre2_general_context_free(memory);
    if (!pattern->code) {
        explain(code, why, sizeof why);
        return err_set(err, ERR_INPUT, "the pattern is not usable: %s", why);
    }
    /* Without it (a machine that forbids it, too large a pattern) the interpreter matches. */
    (void)pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
    return 0;
}

int pattern_compile(struct pattern **out, const char *text, size_t count, bool literal,
                    struct err *err)
{
    struct pattern *pattern = mem_alloc(sizeof *pattern);
    struct buf translated;
    *out = NULL;
    buf_init(&translated, LIMIT_PATTERN_PCRE_BYTES);
    int result = 0;
    if (count > LIMIT_PATTERN_BYTES)
        result = err_set(err, ERR_LIMIT, "a pattern of more than %zu bytes", LIMIT_PATTERN_BYTES);
    else if (literal)
        result = compile(pattern, text, count, PCRE2_UTF | PCRE2_LITERAL, err);
    else
        result = pattern_translate(text, count, &translated, err);
    if (result == 0 && !literal)
        result = compile(pattern, translated.data, translated.len,
                         PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, err);
    buf_deinit(&translated);
    if (result < 0)
        pattern_free(pattern);
    else
        *out = pattern;
    return result;
}

void pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    mem_free(pattern);
}

struct pattern_search *pattern_search_new(void)
{
    struct pattern_search *search = mem_alloc(sizeof *search);
    search->memory = pcre2_general_context_create(take_memory, give_memory, NULL);
    search->data = pcre2_match_data_create(1, search->memory);
    search->context = pcre2_match_context_create(search->memory);
    search->stack = pcre2_jit_stack_create(STACK_LEAST_BYTES, LIMIT_PATTERN_STACK_BYTES,
                                           search->memory);
    pcre2_set_heap_limit(search->context, LIMIT_PATTERN_STACK_BYTES >> 10);
    if (search->stack) /* else there are the 32 KiB that each search has */
        pcre2_jit_stack_assign(search->context, NULL, search->stack);
    return search;
}

void pattern_search_free(struct pattern_search *search)
{
    if (!search)
        return;
    pcre2_match_data_free(search->data);
    pcre2_match_context_free(search->context);
    pcre2_jit_stack_free(search->stack);
    pcre2_general_context_free(search->memory);
    mem_free(search);
}

int pattern_find(const struct pattern *pattern, struct pattern_search *search, const char *text,
                 size_t count, size_t from, size_t *start, size_t *end, struct err *err)
{
    char why[128];
    /* A family's pattern may look at all of a run of blanks, a few times. */
    size_t steps = LIMIT_PATTERN_STEPS + 4 * (count - from);
    uint32_t limit = steps < UINT32_MAX ? (uint32_t)steps : UINT32_MAX;
    pcre2_set_match_limit(search->context, limit);
    pcre2_set_depth_limit(search->context, limit);
    int code = pcre2_match(pattern->code, (PCRE2_SPTR)text, count, from, PCRE2_NO_UTF_CHECK,
                           search->data, search->context);
    if (code == PCRE2_ERROR_NOMATCH)
        return 0;
    if (code < 0) {
        explain(code, why, sizeof why);
        return err_set(err, ERR_LIMIT, "the tokenizer's pattern takes too long on this text: %s",
                       why);
    }
    const PCRE2_SIZE *found = pcre2_get_ovector_pointer(search->data);
    *start = found[0];
    *end = found[1];
    return 1;
}
