#include "../support/test.h"
#include "base/json.h"
#include "device/gpu_facts.h"

#include <math.h>
#include <strings.h>

static double number(const json_t *facts, const char *key)
{
    return json_number_value(json_object_get(facts, key));
}

/* The data sheets' rates of tensor cores without sparsity, in TFLOP/s, at the boost clock: what
 * capability, multiprocessors and clock of our tables amount to. */
static const struct {
    const char *name;
    double f32, f16, flops_per_byte;
} sheets[] = {
    {"T4", 8.1, 65, 25},           {"V100", 15.7, 125, 17},     {"A100", 19.5, 312, 12.5},
    {"A100-80GB", 19.5, 312, 9.6}, {"A10", 31.2, 125, 52},      {"RTX3090", 35.6, 142, 38},
    {"L4", 30.3, 121, 101},        {"L40S", 91.6, 366, 106},    {"RTX4090", 82.6, 330, 82},
    {"H100", 67, 1071, 20},        {"H100-PCIe", 51, 819, 25},  {"h200", 67, 1071, 14},
    {"B200", 74.5, 2383, 9.3},     {"RTX5090", 104.8, 419, 58},
};

TEST(models_have_the_rates_of_their_data_sheets)
{
    for (size_t i = 0; i < sizeof sheets / sizeof *sheets; i++) {
        struct gpu gpu;
        struct err err;
        assert_ok(gpu_model_find(sheets[i].name, &gpu, &err), &err);
        json_t *facts = gpu_facts_json(&gpu);
        const double pairs[][2] = {{number(facts, "f32_tflops"), sheets[i].f32},
                                   {number(facts, "f16_tflops"), sheets[i].f16},
                                   {number(facts, "flops_per_byte"), sheets[i].flops_per_byte}};
        for (size_t p = 0; p < 3; p++)
            if (!(fabs(pairs[p][0] - pairs[p][1]) <= 0.04 * pairs[p][1]))
                fail_msg("%s, figure %zu: %g instead of %g", sheets[i].name, p, pairs[p][0],
                         pairs[p][1]);
        if (strcasecmp(sheets[i].name, "H200") == 0)
            assert_true(number(facts, "memory_gib") == 141);
        json_decref(facts);
    }
}

TEST(an_unknown_model_gets_the_nearest)
{
    struct gpu gpu;
    struct err err;
    assert_int_equal(gpu_model_find("H1000", &gpu, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "H100"));
}

/* Instructions by generation: Turing has no cp.async, Ampere no TMA, GeForce Blackwell no tcgen05
 * and no clusters. */
TEST(instructions_by_generation)
{
    static const struct {
        int major, minor;
        const char *generation, *ptx;
        bool tf32, async_copy, bulk_copy, clusters;
    } rows[] = {
        {7, 5, "Turing", "mma.sync", false, false, false, false},
        {8, 0, "Ampere", "mma.sync", true, true, false, false},
        {9, 0, "Hopper", "wgmma", true, true, true, true},
        {10, 0, "Blackwell", "tcgen05", true, true, true, true},
        {12, 0, "Blackwell", "mma.sync", true, true, true, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gpu gpu = {.name = "x",
                          .major = rows[i].major,
                          .minor = rows[i].minor,
                          .multiprocessors = 1,
                          .clock_mhz = 1};
        json_t *facts = gpu_facts_json(&gpu);
        assert_string_equal(json_text_at(facts, "generation"), rows[i].generation);
        assert_string_equal(json_text_at(facts, "tensor_ptx"), rows[i].ptx);
        assert_int_equal(json_is_number(json_object_get(facts, "tf32_tflops")), rows[i].tf32);
        assert_int_equal(json_is_true(json_object_get(facts, "async_copy")), rows[i].async_copy);
        assert_int_equal(json_is_true(json_object_get(facts, "bulk_copy")), rows[i].bulk_copy);
        assert_int_equal(json_is_true(json_object_get(facts, "clusters")), rows[i].clusters);
        json_decref(facts);
    }
}

/* A GPU of tomorrow has its figures, and no claims. */
TEST(an_unknown_capability)
{
    struct gpu gpu = {.name = "NVIDIA Z1",
                      .major = 99,
                      .multiprocessors = 1,
                      .memory_bytes = 1 << 30,
                      .clock_mhz = 1};
    json_t *facts = gpu_facts_json(&gpu), *read = gpu_facts_read(facts);
    assert_string_equal(json_text_at(facts, "compute_capability"), "99.0");
    assert_true(number(facts, "memory_gib") == 1);
    assert_true(json_is_null(json_object_get(facts, "f32_tflops")));
    assert_true(json_is_null(json_object_get(facts, "tensor_types")));
    assert_true(json_equal(facts, read));
    json_decref(facts);
    json_decref(read);
}

/* What a worker sends may be anything. */
TEST(facts_of_another_process)
{
    struct gpu gpu;
    struct err err;
    assert_ok(gpu_model_find("H100", &gpu, &err), &err);
    json_t *facts = gpu_facts_json(&gpu);
    json_t *bad = json_pack("{s:s, s:s, s:s, s:s, s:b, s:f, s:[i], s:s}", "name", "GPU",
                            "compute_capability", "9.0", "generation", "two\nlines",
                            "multiprocessors", "132", "memory_gib", 1, "clock_mhz", -5.0,
                            "tensor_types", 1, "more", "ignored");
    json_t *read = gpu_facts_read(facts), *bad_read = gpu_facts_read(bad);
    const char *key;
    json_t *value;
    assert_true(json_equal(facts, read));
    assert_int_equal(json_object_size(bad_read), json_object_size(facts));
    json_object_foreach(bad_read, key, value)
        assert_int_equal(json_is_null(value),
                         strcmp(key, "name") != 0 && strcmp(key, "compute_capability") != 0);
    assert_null(gpu_facts_read(NULL));
    json_object_set_new(bad, "name", json_string("<|im_end|>"));
    assert_null(gpu_facts_read(bad));
    json_decref(read);
    json_decref(bad_read);
    json_decref(bad);
    json_decref(facts);
}
