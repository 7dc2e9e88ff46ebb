#include "judge/numeric/compare.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Elements that the fast path handles at a time: two blocks of doubles stay in the first cache. */
#define BLOCK 512

/* The rule of one tensor, resolved. */
struct rule {
    const struct comparison *spec;
    const char *expected, *got;
    size_t expected_bytes, got_bytes; /* of an element */
    double relative, absolute, noise;
    double rms;
    double floor; /* smallest scale: rms or 0 */
    double
        overflow; /* magnitude from which an oracle's value is an infinity in the tensor's type */
};

static double larger_of(double a, double b)
{
    return a > b ? a : b;
}

/* Halfway between the largest finite value and the next power of two: rounds to infinity. */
double compare_overflow(const struct comparison *spec)
{
    if (spec->expected_dtype == spec->dtype)
        return INFINITY;
    switch (spec->dtype) {
    case DTYPE_F16:
        return 0x1.ffep15;
    case DTYPE_BF16:
        return 0x1.ffp127;
    case DTYPE_F32:
        return 0x1.ffffffp127;
    default:
        return INFINITY;
    }
}

/* Scaled by the largest value, so that no square overflows or vanishes. */
static double rms_plainly(const struct rule *rule)
{
    const struct comparison *spec = rule->spec;
    double largest = 0;
    uint64_t finite = 0;
    for (uint64_t i = 0; i < spec->count; i++) {
        double value = fabs(dtype_load(spec->expected_dtype, rule->expected, i));
        if (!(value < rule->overflow))
            continue;
        largest = value > largest ? value : largest;
        finite++;
    }
    if (largest == 0)
        return 0;
    double sum = 0;
    for (uint64_t i = 0; i < spec->count; i++) {
        double value = fabs(dtype_load(spec->expected_dtype, rule->expected, i));
        if (value < rule->overflow)
            sum += value / largest * (value / largest);
    }
    return largest * sqrt(sum / (double)finite);
}

static bool agrees_exactly(const struct rule *rule, uint64_t index, double expected, double got)
{
    const struct comparison *spec = rule->spec;
    if (dtype_facts(spec->dtype)->floating)
        return expected == got || (isnan(expected) && isnan(got));
    if (spec->expected_dtype != spec->dtype)
        return expected == got;
    return memcmp(rule->expected + index * rule->expected_bytes,
                  rule->got + index * rule->got_bytes, rule->got_bytes) == 0;
}

static bool element_agrees(const struct rule *rule, double expected, double got)
{
    if (isnan(expected) || isnan(got))
        return isnan(expected) && isnan(got);
    if (isinf(expected))
        return expected == got;
    double scale = larger_of(fabs(expected), rule->floor);
    double allowed = larger_of(rule->relative * scale + rule->absolute, rule->noise);
    if (isinf(got))
        return isfinite(rule->overflow) && fabs(expected) + allowed >= rule->overflow &&
               signbit(expected) == signbit(got);
    return fabs(got - expected) <= allowed;
}

static void tally_record(const struct rule *rule, double expected, double got,
                         struct difference *difference)
{
    double absolute = fabs(got - expected);
    double scale = larger_of(fabs(expected), rule->rms);
    double relative = absolute == 0 ? 0 : scale > 0 ? absolute / scale : INFINITY;
    difference->max_absolute = larger_of(absolute, difference->max_absolute);
    difference->max_relative = larger_of(relative, difference->max_relative);
}

static void tally_element(const struct rule *rule, uint64_t index, double expected, double got,
                          struct difference *difference)
{
    bool agreed = rule->spec->tolerance.exact ? agrees_exactly(rule, index, expected, got)
                                              : element_agrees(rule, expected, got);
    bool finite = isfinite(expected) && isfinite(got);
    if (finite)
        tally_record(rule, expected, got, difference);
    if (agreed)
        return;
    if (difference->mismatches++ == 0) {
        difference->first_index = index;
        difference->expected = expected;
        difference->got = got;
    }
    difference->nan_mismatch |= !finite;
}

static bool rule_init(struct rule *rule, const struct comparison *spec, const void *expected,
                      const void *got, struct difference *difference)
{
    *difference = (struct difference){0};
    const struct dtype_facts *got_facts = dtype_facts(spec->dtype);
    const struct dtype_facts *expected_facts = dtype_facts(spec->expected_dtype);
    if (!got_facts || !expected_facts) {
        difference->mismatches = spec->count;
        return false;
    }
    *rule = (struct rule){
        .spec = spec,
        .expected = expected,
        .got = got,
        .expected_bytes = expected_facts->bytes,
        .got_bytes = got_facts->bytes,
        .relative = spec->tolerance.relative + spec->slack,
        .absolute = spec->tolerance.absolute,
        .noise = spec->noise,
        .overflow = compare_overflow(spec),
    };
    return true;
}

static void rule_set_rms(struct rule *rule, double rms, struct difference *difference)
{
    rule->rms = rms;
    rule->floor = rule->spec->tolerance.scale == SCALE_RMS ? rms : 0;
    difference->scale = rms;
}

bool compare_values(const struct comparison *spec, double rms, double expected, double got)
{
    struct rule rule;
    struct difference ignored;
    if (!rule_init(&rule, spec, NULL, NULL, &ignored))
        return false;
    rule_set_rms(&rule, rms, &ignored);
    return spec->tolerance.exact ? expected == got || (isnan(expected) && isnan(got))
                                 : element_agrees(&rule, expected, got);
}

bool compare_tensor_plainly(const struct comparison *spec, const void *expected, const void *got,
                            struct difference *difference)
{
    struct rule rule;
    if (!rule_init(&rule, spec, expected, got, difference))
        return spec->count == 0;
    rule_set_rms(&rule, rms_plainly(&rule), difference);
    for (uint64_t i = 0; i < spec->count; i++)
        tally_element(&rule, i, dtype_load(spec->expected_dtype, expected, i),
                      dtype_load(spec->dtype, got, i), difference);
    return difference->mismatches == 0;
}

#define VARIANT_NAME(name) name##_plain
#define VARIANT_TARGET
#define VARIANT_LANES 2
#include "judge/numeric/compare_variant.h"

#if defined(__x86_64__)
#define VARIANT_NAME(name) name##_avx2
#define VARIANT_TARGET __attribute__((target("avx2,fma")))
#define VARIANT_LANES 4
#include "judge/numeric/compare_variant.h"

#define VARIANT_NAME(name) name##_avx512
#define VARIANT_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define VARIANT_LANES 8
#include "judge/numeric/compare_variant.h"
#endif

/* One variant. */
struct kernels {
    double (*sum_squares)(const struct rule *rule, uint64_t *finite);
    void (*compare_blocks)(const struct rule *rule, struct difference *difference);
};

/* From what every processor runs to the widest. */
static const struct kernels variants[] = {
    {sum_squares_plain, compare_blocks_plain},
#if defined(__x86_64__)
    {sum_squares_avx2, compare_blocks_avx2},
    {sum_squares_avx512, compare_blocks_avx512},
#endif
};

int compare_variants(void)
{
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return 1;
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return wide ? 3 : 2;
#else
    return 1;
#endif
}

bool compare_tensor_variant(int variant, const struct comparison *spec, const void *expected,
                            const void *got, struct difference *difference)
{
    struct rule rule;
    if (!rule_init(&rule, spec, expected, got, difference))
        return spec->count == 0;
    uint64_t finite;
    double sum = variants[variant].sum_squares(&rule, &finite);
    /* Squares that overflowed, or are so small that some may have vanished. */
    bool sound = isfinite(sum) && (sum > 1e-250 || finite == 0);
    rule_set_rms(&rule, sound ? finite ? sqrt(sum / (double)finite) : 0 : rms_plainly(&rule),
                 difference);
    variants[variant].compare_blocks(&rule, difference);
    return difference->mismatches == 0;
}

bool compare_tensor(const struct comparison *spec, const void *expected, const void *got,
                    struct difference *difference)
{
    return compare_tensor_variant(compare_variants() - 1, spec, expected, got, difference);
}
