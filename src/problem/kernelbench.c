#include "problem/kernelbench.h"

#include <string.h>

#define DIGITS 9

/* What follows the number that stands behind `word`; NULL: there is none. */
static const char *read_number(const char *text, const char *word, int64_t *number)
{
    size_t length = strlen(word);
    if (!text || strncmp(text, word, length) != 0)
        return NULL;
    size_t digits = strspn(text + length, "0123456789");
    if (digits == 0 || digits > DIGITS)
        return NULL;
    *number = 0;
    for (size_t i = 0; i < digits; i++)
        *number = 10 * *number + (text[length + i] - '0');
    return text + length + digits;
}

bool kernelbench_answer_named(const char *path, struct kernelbench_answer *answer)
{
    const char *slash = strrchr(path, '/');
    const char *at = strstr(slash ? slash + 1 : path, "level_");
    *answer = (struct kernelbench_answer){0};
    at = read_number(at, "level_", &answer->level);
    at = read_number(at, "_problem_", &answer->problem);
    read_number(at, "_sample_", &answer->sample);
    return at != NULL;
}
