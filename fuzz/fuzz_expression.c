/* Any text as an expression: it parses and evaluates, or is refused with a column inside of it. */
#include "problem/expression.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"rows", "cols", "n"};
    static const int64_t values[][3] = {{1, 1, 1}, {3, 17, 0}, {2048, INT64_MAX, -5}};
    const struct expression *expression, *again;
    struct arena arena = {0};
    struct err err = {0};
    uint32_t column = 0;
    char *text = mem_copy(data, size);
    if (expression_parse_placed(&arena, text, names, 3, &expression, &column, &err) == 0) {
        /* Its own text gives the same expression. */
        if (expression_parse(&arena, expression_text(expression), names, 3, &again, &err) < 0)
            abort();
        for (size_t i = 0; i < 3; i++) {
            double a = expression_value(expression, values[i]);
            double b = expression_value(again, values[i]);
            if (isnan(a) ? !isnan(b) : a != b)
                abort();
        }
    } else if (err.code != ERR_INPUT || err.text[0] == '\0' || column < 1 ||
               column > strlen(text) + 1) {
        abort();
    }
    mem_free(text);
    arena_deinit(&arena);
    return 0;
}
