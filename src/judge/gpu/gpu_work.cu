// What the judge itself computes on a GPU. Compiled when it is first needed (gpu_work.c).
// The structs are those of problem/fill_plan.h and judge/gpu/gpu_work.h.

typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;

enum { F16, BF16, F32, F64, I8, U8, I16, I32, I64, U32, U64, BOOL };
enum { NORMAL = 2, UNIFORM = 3, INTEGER = 4 };

struct fill_plan {
    u64 key;
    u32 kind, dtype;
    u64 bytes;
    double offset, scale, bottom, top;
    u64 range;
    u32 draw_shift, reserved;
};

__device__ static u64 mix(u64 x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}

__device__ static int draw(const fill_plan &plan, u64 i)
{
    u64 hash = mix(plan.key + i * 0x9E3779B97F4A7C15ull);
    if (plan.kind == NORMAL) {
        u64 pairs = (hash & 0x0000FFFF0000FFFFull) + (hash >> 16 & 0x0000FFFF0000FFFFull);
        u32 sum = (u32)pairs + (u32)(pairs >> 32);
        int inner = (int)(sum << 6 | ((u32)hash & 63)) - (131070 * 64 + 32);
        return (hash >> 32 & 255) == 0 ? inner * 7 / 4 : inner;
    }
    if (plan.kind == UNIFORM)
        return (int)(hash >> plan.draw_shift);
    return (int)((hash >> 32) * (plan.range & 0xFFFFFFFFull) >> 32);
}

__device__ static u16 half_of(float value)
{
    int bits = __float_as_int(value);
    int magnitude = bits & 0x7FFFFFFF;
    int subnormal = __float_as_int(__fadd_rn(fabsf(value), 0.5f)) - 0x3F000000;
    int normal = (magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13;
    normal = normal > 0x7C00 ? 0x7C00 : normal;
    return (u16)((bits >> 16 & 0x8000) | (magnitude < 0x38800000 ? subnormal : normal));
}

__device__ static u16 bfloat_of(float value)
{
    u32 bits = __float_as_uint(value);
    return (u16)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

__device__ static void store_whole(const fill_plan &plan, long long value, u64 i, void *to)
{
    if (plan.bytes == 1)
        ((signed char *)to)[i] = (signed char)value;
    else if (plan.bytes == 2)
        ((short *)to)[i] = (short)value;
    else if (plan.bytes == 4)
        ((int *)to)[i] = (int)value;
    else
        ((long long *)to)[i] = value;
}

enum { BATCH = 64 };

struct keys {
    u64 of[BATCH];
};

// An array for each blockIdx.y, `stride` bytes behind each other.
extern "C" __global__ void fill(fill_plan plan, keys slots, u64 count, char *first, u64 stride)
{
    u64 step = (u64)gridDim.x * blockDim.x;
    void *to = first + blockIdx.y * stride;
    plan.key = slots.of[blockIdx.y];
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        int k = draw(plan, i);
        if (plan.dtype > F64) {
            store_whole(plan, (long long)(int)plan.offset + k, i, to);
            continue;
        }
        double value = __dadd_rn(plan.offset, __dmul_rn(plan.scale, (double)k));
        value = value < plan.bottom ? plan.bottom : value;
        value = value > plan.top ? plan.top : value;
        if (plan.dtype == F64)
            ((double *)to)[i] = value;
        else if (plan.dtype == F32)
            ((float *)to)[i] = (float)value;
        else
            ((u16 *)to)[i] = plan.dtype == F16 ? half_of((float)value) : bfloat_of((float)value);
    }
}

struct comparison {
    u64 count;
    u32 dtype, expected_dtype, exact, scale_rms;
    double relative, absolute, noise, overflow;
};

enum { TINY, PLAIN, HUGE_ONES, SUMS };

struct finding {
    double squares[SUMS]; // of the expected values below `overflow`
    u64 finite;        // how many those are
    u64 mismatches;
    u64 first;         // ~index of the first mismatch
    u64 absolute, relative; // the largest errors, as the bits of doubles
    u64 lopsided;      // mismatches with a NaN or an infinity
    u64 doubts;        // those that may be mismatches
};

__device__ static double half_value(u16 bits)
{
    int exponent = bits >> 10 & 31, digits = bits & 1023;
    double size = exponent == 31 ? (digits ? nan("") : __longlong_as_double(0x7FF0000000000000ll))
                                 : exponent ? ldexp((double)(digits + 1024), exponent - 25)
                                            : ldexp((double)digits, -24);
    return bits & 0x8000 ? -size : size;
}

__device__ static double load(u32 dtype, const void *from, u64 i)
{
    switch (dtype) {
    case F16: return half_value(((const u16 *)from)[i]);
    case BF16: return (double)__uint_as_float((u32)((const u16 *)from)[i] << 16);
    case F32: return (double)((const float *)from)[i];
    case F64: return ((const double *)from)[i];
    case I8: return (double)((const signed char *)from)[i];
    case U8: case BOOL: return (double)((const unsigned char *)from)[i];
    case I16: return (double)((const short *)from)[i];
    case I32: return (double)((const int *)from)[i];
    case I64: return (double)((const long long *)from)[i];
    case U32: return (double)((const u32 *)from)[i];
    case U64: return (double)((const u64 *)from)[i];
    default: return 0;
    }
}

__device__ static u32 bytes_of(u32 dtype)
{
    return dtype == F16 || dtype == BF16 || dtype == I16 ? 2
           : dtype == I8 || dtype == U8 || dtype == BOOL ? 1
           : dtype == F64 || dtype == I64 || dtype == U64 ? 8 : 4;
}

__device__ static bool same_bytes(u32 bytes, const char *a, const char *b)
{
    bool same = true;
    for (u32 i = 0; i < bytes; i++)
        same = same && a[i] == b[i];
    return same;
}

__device__ static bool same_whole(const comparison &rule, const void *a, const void *b, u64 i)
{
    u32 bytes = bytes_of(rule.dtype);
    return same_bytes(bytes, (const char *)a + i * bytes, (const char *)b + i * bytes);
}

// The squares of very large and very small values leave the range of doubles: these are scaled by
// 2^-600 and 2^600 and have sums of their own.
__device__ static int size_of(double size)
{
    return size > 1e120 ? HUGE_ONES : size < 1e-120 ? TINY : PLAIN;
}

__device__ static double scaled(double size, int kind)
{
    return ldexp(size, kind == TINY ? 600 : kind == HUGE_ONES ? -600 : 0);
}

__device__ static double rms_of(const finding &found)
{
    const double *sums = found.squares;
    double count = (double)found.finite;
    if (sums[HUGE_ONES] > 0)
        return ldexp(sqrt((sums[HUGE_ONES] + ldexp(sums[PLAIN], -1200)) / count), 600);
    if (sums[PLAIN] > 0)
        return sqrt((sums[PLAIN] + ldexp(sums[TINY], -1200)) / count);
    return sums[TINY] > 0 ? ldexp(sqrt(sums[TINY] / count), -600) : 0;
}

// What one thread has seen of the expected elements' magnitude.
struct sizes {
    double squares[SUMS];
    u32 finite;
};

// `narrow`: its square does not leave the range of doubles.
__device__ static void add_size(const comparison &rule, double size, bool narrow, sizes *seen)
{
    if (!(size < rule.overflow))
        return;
    seen->finite++;
    if (narrow) {
        seen->squares[PLAIN] += size * size;
        return;
    }
    int kind = size_of(size);
    for (int k = 0; k < SUMS; k++) { // by numbers known beforehand it stays in registers
        double part = k == kind ? scaled(size, kind) : 0;
        seen->squares[k] += part * part;
    }
}

// Of a whole warp.
__device__ static void give_sizes(sizes seen, finding *found)
{
    for (int lane = 16; lane > 0; lane /= 2) {
        for (int k = 0; k < SUMS; k++)
            seen.squares[k] += __shfl_down_sync(0xFFFFFFFFu, seen.squares[k], lane);
        seen.finite += __shfl_down_sync(0xFFFFFFFFu, seen.finite, lane);
    }
    if (threadIdx.x % 32)
        return;
    for (int k = 0; k < SUMS; k++)
        if (seen.squares[k] > 0)
            atomicAdd(&found->squares[k], seen.squares[k]);
    atomicAdd(&found->finite, (u64)seen.finite);
}

extern "C" __global__ void magnitude(comparison rule, const void *expected, finding *found)
{
    sizes seen = {{0, 0, 0}, 0};
    u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < rule.count; i += step)
        add_size(rule, fabs(load(rule.expected_dtype, expected, i)), false, &seen);
    give_sizes(seen, found);
}

__device__ static double allowed_at(const comparison &rule, double scale)
{
    return fmax(rule.relative * scale + rule.absolute, rule.noise);
}

__device__ static bool agrees(const comparison &rule, double floor, double expected, double got)
{
    if (isnan(expected) || isnan(got))
        return isnan(expected) && isnan(got);
    if (isinf(expected) || rule.exact)
        return expected == got;
    double scale = fmax(fabs(expected), floor);
    double allowed = allowed_at(rule, scale);
    if (isinf(got))
        return isfinite(rule.overflow) && fabs(expected) + allowed >= rule.overflow &&
               signbit(expected) == signbit(got);
    return fabs(got - expected) <= allowed;
}

// What one thread has seen.
struct tally {
    u64 mismatches, first, lopsided;
    double absolute, relative;
};

__device__ static void look(const comparison &rule, double rms, const void *expected,
                            const void *got, u64 i, tally *seen)
{
    double want = load(rule.expected_dtype, expected, i);
    double have = load(rule.dtype, got, i);
    bool whole = rule.dtype > F64 && rule.expected_dtype == rule.dtype;
    bool same = whole ? same_whole(rule, expected, got, i)
                      : agrees(rule, rule.scale_rms ? rms : 0, want, have);
    bool finite = isfinite(want) && isfinite(have);
    if (finite) {
        double error = fabs(have - want), scale = fmax(fabs(want), rms);
        double part = error == 0 ? 0 : scale > 0 ? error / scale
                                                 : __longlong_as_double(0x7FF0000000000000ll);
        seen->absolute = fmax(error, seen->absolute);
        seen->relative = fmax(part, seen->relative);
    }
    if (same)
        return;
    seen->mismatches++;
    seen->lopsided += !finite;
    seen->first = ~i > seen->first ? ~i : seen->first;
}

extern "C" __global__ void compare(comparison rule, const void *expected, const void *got,
                                   finding *found)
{
    double rms = rms_of(*found);
    tally seen = {0, 0, 0, 0, 0};
    u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < rule.count; i += step)
        look(rule, rms, expected, got, i, &seen);
    for (int lane = 16; lane > 0; lane /= 2) {
        seen.absolute = fmax(seen.absolute, __shfl_down_sync(0xFFFFFFFFu, seen.absolute, lane));
        seen.relative = fmax(seen.relative, __shfl_down_sync(0xFFFFFFFFu, seen.relative, lane));
    }
    if (threadIdx.x % 32 == 0) {
        atomicMax(&found->absolute, (u64)__double_as_longlong(seen.absolute));
        atomicMax(&found->relative, (u64)__double_as_longlong(seen.relative));
    }
    if (seen.mismatches) {
        atomicAdd(&found->mismatches, seen.mismatches);
        atomicAdd(&found->lopsided, seen.lopsided);
        atomicMax(&found->first, seen.first);
    }
}

// Whether pairs agree, and nothing else of them: one for each blockIdx.y. What is within the
// tolerance of an element's own size alone is right in any case; only where some are not all are
// looked at again, now that the mean square is known.
struct pairs {
    const void *expected[BATCH], *got[BATCH];
};

enum { PLAIN_F32 = F32, PLAIN_F16 = F16, PLAIN_BF16 = BF16, ANY = 100 };

// Not of infinities and NaNs, which become NaNs here.
__device__ static float half_number(u16 bits)
{
    float size = __uint_as_float((u32)(bits & 0x7FFF) << 13) * 0x1p112f;
    size = (bits & 0x7C00) == 0x7C00 ? nanf("") : size;
    return bits & 0x8000 ? -size : size;
}

template <int KIND> __device__ static double number(u32 dtype, const void *from, u64 i)
{
    if (KIND == PLAIN_F32)
        return (double)((const float *)from)[i];
    if (KIND == PLAIN_F16)
        return (double)half_number(((const u16 *)from)[i]);
    if (KIND == PLAIN_BF16)
        return (double)__uint_as_float((u32)((const u16 *)from)[i] << 16);
    return load(dtype, from, i);
}

// Comparing with a NaN is false, so what it is part of is doubted; infinities are, too.
__device__ static bool within(const comparison &rule, double scale, double want, double have)
{
    return fabs(have - want) <= allowed_at(rule, scale) && fabs(want) < 1e308 &&
           fabs(have) < 1e308 && !rule.exact;
}

template <int KIND>
__device__ static void doubt_kind(const comparison &rule, const void *expected, const void *got,
                                  finding *found)
{
    sizes seen = {{0, 0, 0}, 0};
    u32 doubts = 0;
    bool whole = rule.dtype > F64 && rule.expected_dtype == rule.dtype;
    u64 step = (u64)gridDim.x * blockDim.x;
#pragma unroll 4
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < rule.count; i += step) {
        double want = number<KIND>(rule.expected_dtype, expected, i);
        double have = number<KIND>(rule.dtype, got, i);
        doubts += KIND == ANY && whole ? !same_whole(rule, expected, got, i)
                                       : !within(rule, fabs(want), want, have);
        add_size(rule, fabs(want), KIND != ANY, &seen);
    }
    give_sizes(seen, found);
    for (int lane = 16; lane > 0; lane /= 2)
        doubts += __shfl_down_sync(0xFFFFFFFFu, doubts, lane);
    if (threadIdx.x % 32 == 0 && doubts)
        atomicAdd(&found->doubts, (u64)doubts);
}

__device__ static int kind_of(const comparison &rule)
{
    return rule.dtype == rule.expected_dtype && rule.dtype <= F32 ? (int)rule.dtype : (int)ANY;
}

extern "C" __global__ void doubt(comparison rule, pairs of, finding *found)
{
    const void *expected = of.expected[blockIdx.y], *got = of.got[blockIdx.y];
    found += blockIdx.y;
    switch (kind_of(rule)) {
    case PLAIN_F32: doubt_kind<PLAIN_F32>(rule, expected, got, found); break;
    case PLAIN_F16: doubt_kind<PLAIN_F16>(rule, expected, got, found); break;
    case PLAIN_BF16: doubt_kind<PLAIN_BF16>(rule, expected, got, found); break;
    default: doubt_kind<ANY>(rule, expected, got, found);
    }
}

template <int KIND>
__device__ static void settle_kind(const comparison &rule, const void *expected, const void *got,
                                   finding *found)
{
    double rms = rule.scale_rms ? rms_of(*found) : 0;
    bool whole = rule.dtype > F64 && rule.expected_dtype == rule.dtype;
    u32 mismatches = 0;
    u64 step = (u64)gridDim.x * blockDim.x;
#pragma unroll 4
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < rule.count; i += step) {
        double want = number<KIND>(rule.expected_dtype, expected, i);
        double have = number<KIND>(rule.dtype, got, i);
        if (!whole && within(rule, fmax(fabs(want), rms), want, have))
            continue;
        mismatches += whole ? !same_whole(rule, expected, got, i)
                            : !agrees(rule, rms, load(rule.expected_dtype, expected, i),
                                      load(rule.dtype, got, i));
    }
    if (mismatches)
        atomicAdd(&found->mismatches, (u64)mismatches);
}

extern "C" __global__ void settle(comparison rule, pairs of, finding *found)
{
    const void *expected = of.expected[blockIdx.y], *got = of.got[blockIdx.y];
    found += blockIdx.y;
    if (found->doubts == 0)
        return;
    switch (kind_of(rule)) {
    case PLAIN_F32: settle_kind<PLAIN_F32>(rule, expected, got, found); break;
    case PLAIN_F16: settle_kind<PLAIN_F16>(rule, expected, got, found); break;
    case PLAIN_BF16: settle_kind<PLAIN_BF16>(rule, expected, got, found); break;
    default: settle_kind<ANY>(rule, expected, got, found);
    }
}

// `count` bytes that should all be `value`, behind an argument: of each blockIdx.x, `stride` bytes
// behind each other.
extern "C" __global__ void guard(const unsigned char *first, u64 stride, u32 count, u32 value,
                                 finding *found)
{
    const unsigned char *at = first + blockIdx.x * stride;
    if (threadIdx.x < count && at[threadIdx.x] != value)
        atomicAdd(&found[blockIdx.x].mismatches, 1ull);
}

enum { PLACES = 32, BYTES_EACH = 64 };

struct places {
    const unsigned char *at[PLACES];
    u32 bytes[PLACES];
};

struct alignas(16) piece {
    u64 low, high;
};

extern "C" __global__ void copy(const piece *from, piece *to, u64 count)
{
    u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        to[i] = from[i];
}

// A few bytes from each place, one block for each, into memory of the host.
extern "C" __global__ void gather(places from, unsigned char *to)
{
    if (threadIdx.x < from.bytes[blockIdx.x])
        to[blockIdx.x * BYTES_EACH + threadIdx.x] = from.at[blockIdx.x][threadIdx.x];
}

// What an audit does to a tensor (judge/measure/tensor_work.h says what each gives).
__device__ static u64 first_index()
{
    return (u64)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ static u64 index_step()
{
    return (u64)gridDim.x * blockDim.x;
}

extern "C" __global__ void total(u32 dtype, const void *from, u64 count, double *sum)
{
    double seen = 0;
    for (u64 i = first_index(); i < count; i += index_step())
        seen += load(dtype, from, i);
    for (int lane = 16; lane > 0; lane /= 2)
        seen += __shfl_down_sync(0xFFFFFFFFu, seen, lane);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, seen);
}

// Words of 8 bytes; the last may be shorter.
extern "C" __global__ void digest(const unsigned char *from, u64 bytes, u64 *sum)
{
    u64 words = bytes / 8, seen = 0;
    for (u64 i = first_index(); i < words + (bytes % 8 > 0); i += index_step()) {
        u64 word = 0;
        if (i < words)
            word = ((const u64 *)from)[i];
        for (u64 k = 0; i == words && k < bytes % 8; k++)
            word |= (u64)from[i * 8 + k] << 8 * k;
        seen += mix(word + mix(i + 0x9E3779B97F4A7C15ull));
    }
    for (int lane = 16; lane > 0; lane /= 2)
        seen += __shfl_down_sync(0xFFFFFFFFu, seen, lane);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, seen);
}

extern "C" __global__ void pick(u32 dtype, const void *from, u64 every, u64 count, double *to)
{
    for (u64 i = first_index(); i < count; i += index_step())
        to[i] = load(dtype, from, i * every);
}

__device__ static void store_zero(u32 bytes, void *to, u64 i)
{
    switch (bytes) {
    case 1: ((unsigned char *)to)[i] = 0; break;
    case 2: ((u16 *)to)[i] = 0; break;
    case 4: ((u32 *)to)[i] = 0; break;
    default: ((u64 *)to)[i] = 0;
    }
}

extern "C" __global__ void trim(u32 dtype, void *data, u64 count, double size, u64 *seen)
{
    u64 kept = 0, lost = 0;
    for (u64 i = first_index(); i < count; i += index_step()) {
        double value = fabs(load(dtype, data, i));
        kept += !(value < size);
        lost += value < size && value > 0;
        if (value < size)
            store_zero(bytes_of(dtype), data, i);
    }
    for (int lane = 16; lane > 0; lane /= 2) {
        kept += __shfl_down_sync(0xFFFFFFFFu, kept, lane);
        lost += __shfl_down_sync(0xFFFFFFFFu, lost, lane);
    }
    if (threadIdx.x % 32)
        return;
    atomicAdd(&seen[0], kept);
    atomicAdd(&seen[1], lost);
}

extern "C" __global__ void coarsen(u32 dtype, void *data, u64 count, int bits)
{
    for (u64 i = first_index(); i < count; i += index_step()) {
        double value = load(dtype, data, i);
        int exponent;
        if (!isfinite(value))
            continue;
        double part = frexp(value, &exponent);
        value = ldexp(nearbyint(ldexp(part, bits + 1)), exponent - bits - 1);
        switch (dtype) {
        case F16: ((u16 *)data)[i] = half_of((float)value); break;
        case BF16: ((u16 *)data)[i] = bfloat_of((float)value); break;
        case F32: ((float *)data)[i] = (float)value; break;
        case F64: ((double *)data)[i] = value; break;
        }
    }
}

// `rows` of so many units each.
extern "C" __global__ void clear(char *first, u64 rows, u64 stride, u32 unit, u64 units)
{
    for (u64 i = first_index(); i < rows * units; i += index_step())
        store_zero(unit, first + i / units * stride, i % units);
}
