#include "problem/signature.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct scanner {
    struct arena *arena;
    const char *text;
    const char *at;
    uint32_t *column;
    struct err *err;
};

__attribute__((format(printf, 3, 4))) static int
fail_signature(const struct scanner *scanner, const char *at, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    *scanner->column = (uint32_t)(at - scanner->text) + 1;
    return err_set(scanner->err, ERR_INPUT, "%s", text);
}

static void skip_blanks(struct scanner *scanner)
{
    while (*scanner->at == ' ' || *scanner->at == '\t')
        scanner->at++;
}

static size_t word_length(const char *at)
{
    static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    if (*at == '\0' || !strchr(name_bytes, *at))
        return 0;
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
}

/* The next word, or NULL where there is none. */
static const char *take_word(struct scanner *scanner)
{
    skip_blanks(scanner);
    size_t length = word_length(scanner->at);
    if (length == 0)
        return NULL;
    const char *word = arena_strndup(scanner->arena, scanner->at, length);
    scanner->at += length;
    return word;
}

static bool take_mark(struct scanner *scanner, char mark)
{
    skip_blanks(scanner);
    if (*scanner->at != mark)
        return false;
    scanner->at++;
    return true;
}

static bool take_this_word(struct scanner *scanner, const char *wanted)
{
    skip_blanks(scanner);
    size_t length = word_length(scanner->at);
    if (length != strlen(wanted) || strncmp(scanner->at, wanted, length) != 0)
        return false;
    scanner->at += length;
    return true;
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

static int parse_parameter(struct scanner *scanner, struct parameter *parameter)
{
    static const char *const vague[] = {"unsigned", "signed", "long", "short", "struct", NULL};
    skip_blanks(scanner);
    const char *start = scanner->at;
    parameter->column = (uint32_t)(start - scanner->text) + 1;
    parameter->constant = take_this_word(scanner, "const");
    parameter->type = take_word(scanner);
    if (!parameter->type)
        return fail_signature(scanner, scanner->at,
                              "expected a parameter such as 'const float *x'");
    if (is_one_of(parameter->type, vague))
        return fail_signature(scanner, start,
                              "write a type of one word, such as uint32_t or int64_t");
    if (take_this_word(scanner, "const"))
        parameter->constant = true;
    parameter->pointer = take_mark(scanner, '*');
    if (parameter->pointer && !take_this_word(scanner, "restrict"))
        (void)take_this_word(scanner, "__restrict");
    if (take_mark(scanner, '*'))
        return fail_signature(scanner, scanner->at - 1, "a pointer to a pointer is no array");
    parameter->name = take_word(scanner);
    if (!parameter->name)
        return fail_signature(scanner, scanner->at, "expected the parameter's name");
    if (strlen(parameter->name) >= LIMIT_NAME_BYTES)
        return fail_signature(scanner, start, "the parameter's name is too long");
    if (take_mark(scanner, '['))
        return fail_signature(scanner, scanner->at - 1, "write an array parameter with '*'");
    return 0;
}

int signature_parse(struct arena *arena, const char *text, struct signature *signature,
                    uint32_t *column, struct err *err)
{
    struct scanner scanner = {arena, text, text, column, err};
    memset(signature, 0, sizeof *signature);
    if (!take_this_word(&scanner, "void"))
        return fail_signature(&scanner, scanner.at,
                              "expected 'void solution(...)': it returns nothing");
    if (!take_this_word(&scanner, "solution"))
        return fail_signature(&scanner, scanner.at, "expected the name 'solution'");
    if (!take_mark(&scanner, '('))
        return fail_signature(&scanner, scanner.at, "expected '('");
    do {
        if (signature->count == LIMIT_ARGUMENTS)
            return fail_signature(&scanner, scanner.at, "more than %d parameters", LIMIT_ARGUMENTS);
        int result = parse_parameter(&scanner, &signature->parameters[signature->count]);
        if (result < 0)
            return result;
        signature->count++;
    } while (take_mark(&scanner, ','));
    if (!take_mark(&scanner, ')'))
        return fail_signature(&scanner, scanner.at, "expected ',' or ')'");
    skip_blanks(&scanner);
    if (*scanner.at != '\0')
        return fail_signature(&scanner, scanner.at, "expected the end after ')'");
    return 0;
}
