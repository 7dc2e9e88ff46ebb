#include "rl/train/token_schedule.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MOST 16777216UL

/* Moves *text past it. */
static bool read_number(const char **text, unsigned long *number)
{
    const char *at = *text + strspn(*text, " \t");
    char *end;
    if (*at < '0' || *at > '9')
        return false;
    *number = strtoul(at, &end, 10);
    *text = end;
    return *number <= NUMBER_MOST;
}

int token_schedule_read(struct token_schedule *schedule, const char *text, struct err *err)
{
    const char *at = text;
    *schedule = (struct token_schedule){0};
    while (*at) {
        unsigned long step, tokens;
        bool read = read_number(&at, &step) && *at++ == ':' && read_number(&at, &tokens) &&
                    tokens > 0;
        at += strspn(at, " \t");
        if (!read || (*at && *at != ',') || (*at && !at[1]))
            return err_set(err, ERR_INPUT,
                           "'%.100s' is not STEP:TOKENS, separated by commas, such as "
                           "\"30:16384, 60:22528\"",
                           text);
        if (schedule->count == TOKEN_SCHEDULE_MOST)
            return err_set(err, ERR_LIMIT, "more than %d changes", TOKEN_SCHEDULE_MOST);
        if (schedule->count > 0 && schedule->changes[schedule->count - 1].step >= step)
            return err_set(err, ERR_INPUT, "'%.100s': each step must be above the one before",
                           text);
        schedule->changes[schedule->count++] = (struct token_change){step, tokens};
        at += *at == ',';
    }
    return 0;
}

size_t token_schedule_at(const struct token_schedule *schedule, size_t first, uint64_t step)
{
    size_t tokens = first;
    for (size_t i = 0; i < schedule->count && schedule->changes[i].step <= step; i++)
        tokens = schedule->changes[i].tokens;
    return tokens;
}
