#include "base/yaml_check.h"

#include <stdbool.h>
#include <string.h>

static bool is_among(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

int yaml_check(const char *name, const char *text, size_t count, struct err *err)
{
    int line = 1;
    int column = 1;
    bool comment = false;
    for (size_t i = 0; i < count; i++, column++) {
        char before = i > 0 ? text[i - 1] : '\n';
        char after = i + 1 < count ? text[i + 1] : '\n';
        if (text[i] == '\n') {
            line++;
            column = 0;
            comment = false;
        } else if (text[i] == '%' && is_among(before, "\r\n")) {
            return err_set(err, ERR_INPUT,
                           "%s:%d:%d: a directive (%%) is not read here: quote a percent sign with "
                           "which a line begins",
                           name, line, column);
        } else if (text[i] == '#' && is_among(before, " \t\r\n")) {
            comment = true;
        } else if (text[i] == '?' && !comment && is_among(before, " \t\r\n{[,-:") &&
                   is_among(after, " \t\r\n")) {
            return err_set(err, ERR_INPUT,
                           "%s:%d:%d: an explicit key (`? key`) is not read here: write `key: "
                           "value`, and quote a question mark that stands alone",
                           name, line, column);
        }
    }
    return 0;
}
