/* compare_variant: the fast path of compare.c, once for each instruction set.
 *
 * Included several times with VARIANT_NAME(name), VARIANT_TARGET (the functions' attribute) and
 * VARIANT_LANES (doubles in a register) defined; undefines them. An inline function would not do:
 * gcc lowers vector types before it inlines, so they must meet the target where they are written.
 */
typedef double VARIANT_NAME(vector) __attribute__((vector_size(VARIANT_LANES * 8)));
typedef int64_t VARIANT_NAME(mask) __attribute__((vector_size(VARIANT_LANES * 8)));
typedef float VARIANT_NAME(single) __attribute__((vector_size(VARIANT_LANES * 4)));
typedef uint32_t VARIANT_NAME(word) __attribute__((vector_size(VARIANT_LANES * 4)));
typedef uint16_t VARIANT_NAME(half) __attribute__((vector_size(VARIANT_LANES * 2)));
#define vector VARIANT_NAME(vector)
#define mask VARIANT_NAME(mask)
#define single VARIANT_NAME(single)
#define word VARIANT_NAME(word)
#define half VARIANT_NAME(half)

/* Half precision to single: the exponent is moved by multiplying, which gets subnormals right; what
 * had the largest exponent gets the largest exponent again. */
VARIANT_TARGET static void VARIANT_NAME(load_f16)(const char *from, size_t count, double *to)
{
    for (size_t i = 0; i < count; i += VARIANT_LANES) {
        half narrow;
        memcpy(&narrow, from + i * 2, sizeof narrow);
        word bits = __builtin_convertvector(narrow, word);
        single moved = (single)((bits & 0x7fff) << 13) * 0x1p112f;
        word result = (word)moved | ((word)((bits & 0x7c00) == 0x7c00) & 0x7f800000);
        result |= (bits & 0x8000) << 16;
        vector wide = __builtin_convertvector((single)result, vector);
        memcpy(to + i, &wide, sizeof wide);
    }
}

VARIANT_TARGET static void VARIANT_NAME(load_bf16)(const char *from, size_t count, double *to)
{
    for (size_t i = 0; i < count; i += VARIANT_LANES) {
        half narrow;
        memcpy(&narrow, from + i * 2, sizeof narrow);
        word bits = __builtin_convertvector(narrow, word) << 16;
        vector wide = __builtin_convertvector((single)bits, vector);
        memcpy(to + i, &wide, sizeof wide);
    }
}

VARIANT_TARGET static void VARIANT_NAME(load_f32)(const char *from, size_t count, double *to)
{
    for (size_t i = 0; i < count; i += VARIANT_LANES) {
        single narrow;
        memcpy(&narrow, from + i * 4, sizeof narrow);
        vector wide = __builtin_convertvector(narrow, vector);
        memcpy(to + i, &wide, sizeof wide);
    }
}

/* `count` elements as doubles, and zeros up to the next multiple of the lanes. */
VARIANT_TARGET static void VARIANT_NAME(load_block)(uint32_t dtype, const char *from, size_t count,
                                                    double *to)
{
    size_t whole = count / VARIANT_LANES * VARIANT_LANES;
    memset(to + whole, 0, VARIANT_LANES * sizeof *to);
    switch (dtype) {
    case DTYPE_F16:
        VARIANT_NAME(load_f16)(from, whole, to);
        break;
    case DTYPE_BF16:
        VARIANT_NAME(load_bf16)(from, whole, to);
        break;
    case DTYPE_F32:
        VARIANT_NAME(load_f32)(from, whole, to);
        break;
    case DTYPE_F64:
        memcpy(to, from, whole * sizeof *to);
        break;
    case DTYPE_I32:
        for (size_t i = 0; i < whole; i++)
            to[i] = ((const int32_t *)from)[i];
        break;
    case DTYPE_I64:
        for (size_t i = 0; i < whole; i++)
            to[i] = (double)((const int64_t *)from)[i];
        break;
    default:
        whole = 0;
    }
    for (size_t i = whole; i < count; i++)
        to[i] = dtype_load(dtype, from, i);
}

VARIANT_TARGET static double VARIANT_NAME(sum_squares)(const struct rule *rule, uint64_t *finite)
{
    const struct comparison *spec = rule->spec;
    double values[BLOCK + VARIANT_LANES];
    double total = 0;
    *finite = spec->count;
    for (uint64_t start = 0; start < spec->count; start += BLOCK) {
        size_t count = spec->count - start < BLOCK ? spec->count - start : BLOCK;
        VARIANT_NAME(load_block)
        (spec->expected_dtype, rule->expected + start * rule->expected_bytes, count, values);
        vector sum = {0};
        mask left_out = {0};
        for (size_t i = 0; i < count; i += VARIANT_LANES) {
            vector value;
            memcpy(&value, values + i, sizeof value);
            mask keep = (vector)((mask)value & INT64_MAX) < rule->overflow;
            value = (vector)((mask)value & keep);
            sum += value * value;
            left_out += keep + 1;
        }
        for (size_t lane = 0; lane < VARIANT_LANES; lane++) {
            total += sum[lane];
            *finite -= (uint64_t)left_out[lane];
        }
    }
    return total;
}

/* The larger of each lane; a NaN in `a` loses. */
VARIANT_TARGET static inline vector VARIANT_NAME(larger)(vector a, vector b)
{
    mask take = a > b;
    return (vector)((take & (mask)a) | (~take & (mask)b));
}

/* Whether all of the block agrees and sets no record; then *largest takes its errors in. */
VARIANT_TARGET static bool VARIANT_NAME(prove_block)(const struct rule *rule,
                                                     const double *expected, const double *got,
                                                     size_t count, double record, double *largest)
{
    vector most = {0};
    vector floor = most + rule->floor, rms = most + rule->rms, noise = most + rule->noise;
    mask proven = (mask){0} - 1;
    for (size_t i = 0; i < count; i += VARIANT_LANES) {
        vector want, have;
        memcpy(&want, expected + i, sizeof want);
        memcpy(&have, got + i, sizeof have);
        vector error = (vector)((mask)(have - want) & INT64_MAX);
        vector size = (vector)((mask)want & INT64_MAX);
        vector allowed = rule->relative * VARIANT_NAME(larger)(size, floor) + rule->absolute;
        allowed = VARIANT_NAME(larger)(allowed, noise);
        /* An infinite error can meet an infinite allowance. */
        proven &= (error <= allowed) & (error <= DBL_MAX);
        proven &= error <= record * VARIANT_NAME(larger)(size, rms);
        most = VARIANT_NAME(larger)(error, most);
    }
    for (size_t lane = 0; lane < VARIANT_LANES; lane++)
        if (!proven[lane])
            return false;
    for (size_t lane = 0; lane < VARIANT_LANES; lane++)
        *largest = larger_of(most[lane], *largest);
    return true;
}

VARIANT_TARGET static void VARIANT_NAME(compare_blocks)(const struct rule *rule,
                                                        struct difference *difference)
{
    const struct comparison *spec = rule->spec;
    double want[BLOCK + VARIANT_LANES], have[BLOCK + VARIANT_LANES];
    bool bytes = spec->tolerance.exact && spec->expected_dtype == spec->dtype;
    for (uint64_t start = 0; start < spec->count; start += BLOCK) {
        size_t count = spec->count - start < BLOCK ? spec->count - start : BLOCK;
        const char *expected = rule->expected + start * rule->expected_bytes;
        const char *got = rule->got + start * rule->got_bytes;
        if (bytes && memcmp(expected, got, count * rule->got_bytes) == 0)
            continue;
        VARIANT_NAME(load_block)(spec->expected_dtype, expected, count, want);
        VARIANT_NAME(load_block)(spec->dtype, got, count, have);
        if (!spec->tolerance.exact &&
            VARIANT_NAME(prove_block)(rule, want, have, count, difference->max_relative,
                                      &difference->max_absolute))
            continue;
        for (size_t i = 0; i < count; i++)
            tally_element(rule, start + i, want[i], have[i], difference);
    }
}

#undef vector
#undef mask
#undef single
#undef word
#undef half
#undef VARIANT_NAME
#undef VARIANT_TARGET
#undef VARIANT_LANES
