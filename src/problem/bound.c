#include "problem/bound.h"

#include "problem/dtype.h"
#include "problem/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPACE " \t"

/* KernelBench: get_tolerance_for_precision; KernelGYM: the correctness of its kernelbench toolkit.
 * Both atol and rtol. */
static const struct {
    double full, half; /* of 16 bits */
} presets[] = {[BOUND_KERNELBENCH] = {1e-4, 1e-2}, [BOUND_KERNELGYM] = {1e-2, 1e-2}};

static int refuse(const char *text, struct err *err)
{
    return err_set(err, ERR_INPUT,
                   "'%.60s' is no tolerance; write strict, kernelbench, kernelgym, or "
                   "{rtol: 1e-3, atol: 1e-4}",
                   text);
}

/* `"rtol": 1e-3`, and what separates it from the next one. */
static bool parse_member(const char **at, struct answer_bound *bound)
{
    const char *name = *at + strspn(*at, SPACE "\"'");
    double *value = strncmp(name, "rtol", 4) == 0   ? &bound->rtol
                    : strncmp(name, "atol", 4) == 0 ? &bound->atol
                                                    : NULL;
    if (!value || !isnan(*value))
        return false;
    name += 4 + strspn(name + 4, "\"'" SPACE);
    if (*name != ':' && *name != '=')
        return false;
    char *end;
    *value = strtod(name + 1, &end);
    if (end == name + 1 || !(*value >= 0 && *value < 1e30))
        return false;
    end += strspn(end, SPACE);
    if (*end != ',' && *end != '}')
        return false;
    *at = end + (*end == ',');
    return true;
}

int bound_parse(const char *text, struct answer_bound *bound, struct err *err)
{
    int kind;
    struct err ignored;
    *bound = (struct answer_bound){.kind = BOUND_GIVEN, .rtol = NAN, .atol = NAN};
    if (text[0] != '{') {
        if (word_find(WORDS_IN(BOUND_KINDS), "tolerance", text, &kind, &ignored) < 0)
            return refuse(text, err);
        *bound = (struct answer_bound){.kind = (enum bound_kind)kind};
        return 0;
    }
    const char *at = text + 1;
    bool good = true;
    while (good && *at != '}')
        good = parse_member(&at, bound);
    if (!good || at[1] != '\0' || (isnan(bound->rtol) && isnan(bound->atol)))
        return refuse(text, err);
    bound->rtol = isnan(bound->rtol) ? 0 : bound->rtol;
    bound->atol = isnan(bound->atol) ? 0 : bound->atol;
    return 0;
}

void bound_apply(const struct answer_bound *bound, uint32_t dtype, struct tolerance *tolerance)
{
    if (bound->kind == BOUND_STRICT || tolerance->exact)
        return;
    bool half = dtype == DTYPE_F16 || dtype == DTYPE_BF16;
    bool given = bound->kind == BOUND_GIVEN;
    double preset = given ? 0 : half ? presets[bound->kind].half : presets[bound->kind].full;
    *tolerance = (struct tolerance){.relative = given ? bound->rtol : preset,
                                    .absolute = given ? bound->atol : preset,
                                    .scale = SCALE_NONE};
}
