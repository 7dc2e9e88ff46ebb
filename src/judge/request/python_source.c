#include "judge/request/python_source.h"

#include "base/array.h"

#include <string.h>

static bool begins(const char *at, const char *word)
{
    return strncmp(at, word, strlen(word)) == 0;
}

static bool is_directive(const char *line)
{
    static const char *const words[] = {"#include", "#define", "#pragma", "#if",
                                        "#undef",   "#error",  "#line",   "#warning"};
    for (size_t i = 0; i < COUNT(words); i++)
        if (begins(line, words[i]))
            return true;
    return false;
}

/* Behind blank lines and Python's comments. */
static const char *first_line(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\r\n\f");
        if (*at != '#' || is_directive(at))
            return at;
        at += strcspn(at, "\n");
    }
}

/* A statement of several languages, which ends otherwise in C++: `import std;`, `class X {`. */
static bool ends_as_python(const char *line)
{
    size_t length = strcspn(line, "\r\n");
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t'))
        length--;
    return length > 0 && line[length - 1] != ';' && line[length - 1] != '{';
}

bool python_source(const char *text)
{
    static const char *const words[] = {"import ", "from ",  "def ", "class ",
                                        "@",       "\"\"\"", "'''",  "async def "};
    const char *line = first_line(text);
    for (size_t i = 0; i < COUNT(words); i++)
        if (begins(line, words[i]))
            return ends_as_python(line);
    return strstr(text, "class ModelNew(") != NULL;
}
