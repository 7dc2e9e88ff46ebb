/* A script is read whole or refused with its place; what is found in it fits the question, and no
 * file that it names lies outside its directory. */
#include "policy/script.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static void check_line(const struct script_line *line)
{
    check(line->turn >= 0 && line->sample >= SCRIPT_ANY && line->delay_ms >= 0);
    check((line->text != NULL) != (line->file != NULL) && line->finish);
    if (!line->file)
        return;
    check(line->file[0] && line->file[0] != '/' && !strstr(line->file, "/../"));
    check(strncmp(line->file, "../", 3) != 0 && strcmp(line->file, "..") != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script script;
    struct err err = {0};
    int result = script_parse(&script, "script", (const char *)data, size, &err);
    check(result <= 0 && (result == 0 || strstr(err.text, "script")));
    if (result < 0)
        return 0;
    check(script.count > 0);
    for (size_t i = 0; i < script.count; i++) {
        const struct script_line *line = &script.lines[i];
        check_line(line);
        const char *problem = line->problem ? line->problem : "";
        const struct script_line *found = script_find(&script, problem, line->sample, line->turn);
        check(found && found->turn == line->turn);
        check(!line->problem || (found->problem && strcmp(found->problem, problem) == 0));
    }
    script_deinit(&script);
    return 0;
}
