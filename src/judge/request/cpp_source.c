#include "judge/request/cpp_source.h"

#include <ctype.h>
#include <string.h>

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

static bool begins(const char *at, const char *word)
{
    return strncmp(at, word, strlen(word)) == 0;
}

/* Behind a comment or a quoted text; `at` itself: there is none. */
static const char *skip_other(const char *at)
{
    if (begins(at, "//"))
        return at + strcspn(at, "\n");
    if (begins(at, "/*")) {
        const char *end = strstr(at + 2, "*/");
        return end ? end + 2 : at + strlen(at);
    }
    if (*at != '"' && *at != '\'')
        return at;
    char quote = *at++;
    while (*at && *at != quote && *at != '\n')
        at += *at == '\\' && at[1] ? 2 : 1;
    return *at == quote ? at + 1 : at;
}

/* <vector> or <bits/stdc++.h>, but not <math.h>. */
static bool includes_cpp(const char *directive)
{
    if (!begins(directive, "include"))
        return false;
    const char *at = skip_blanks(directive + strlen("include"));
    size_t length = strcspn(at, ".+>\n");
    return *at == '<' && length > 1 && (at[length] == '>' || at[length] == '+');
}

/* `depth` counts the conditions that are open inside one on __cplusplus, itself included. Whether
 * the directive shows C++. */
static bool take_directive(const char *directive, int *depth)
{
    size_t length = strcspn(directive, "\n");
    const char *mark = memmem(directive, length, "__cplusplus", strlen("__cplusplus"));
    if (begins(directive, "if") && (*depth > 0 || mark))
        ++*depth;
    else if (begins(directive, "endif") && *depth > 0)
        --*depth;
    return *depth == 0 && includes_cpp(directive);
}

static bool is_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

static bool shows_at(const char *text, const char *at)
{
    if (at > text && is_word(at[-1]))
        return false;
    if (begins(at, "std::"))
        return true;
    if (!begins(at, "extern"))
        return false;
    at += strlen("extern");
    return begins(at + strspn(at, " \t\r\n"), "\"C\"");
}

bool cpp_source(const char *text)
{
    int depth = 0;
    bool first = true; /* on its line */
    const char *at = text;
    while (*at) {
        const char *behind = skip_other(at);
        if (behind > at) {
            at = behind;
            continue;
        }
        if (first && *at == '#') {
            if (take_directive(skip_blanks(at + 1), &depth))
                return true;
            at += strcspn(at, "\n");
        } else if (depth == 0 && shows_at(text, at)) {
            return true;
        } else {
            first = *at == '\n' || (first && isspace((unsigned char)*at));
            at++;
        }
    }
    return false;
}
