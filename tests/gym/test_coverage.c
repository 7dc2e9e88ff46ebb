/* Shares of a profile by each measure, names that deceive, and profiles that say nothing. */
#include "../support/test.h"
#include "../support/verdicts.h"
#include "gym/reward/coverage.h"

#include <math.h>

#define TOTALS(own, all)                                                                           \
    "\"calls\": 1, \"kernelgym\": {\"num_custom_kernels\": " #own ", \"num_total_kernels\": " #all \
    "}"

static const struct {
    const char *verdict;
    double shares[COVERAGE_MEASURE_COUNT]; /* time, kernels, named_time, named_kernels */
} rows[] = {
    /* A lazy one: its kernel is called as PyTorch's are. */
    {"{\"profile\": {\"own_time_fraction\": 0.125, \"time_us\": 80, " TOTALS(
         1, 4) ", \"kernels\": ["
               "{\"name\": \"void at::native::vectorized_elementwise_kernel<Add_Kernel>\", "
               "\"time_us\": 50, "
               "\"own\": false},"
               "{\"name\": \"sgemm\", \"time_us\": 10, \"own\": false},"
               "{\"name\": \"add_kernel\", \"time_us\": 10, \"own\": true}]}}",
     {0.125, 0.25, 0.75, 0.5}},
    /* The other way round: a long name has short ones of others in it. */
    {"{\"profile\": {\"own_time_fraction\": 0.5, \"time_us\": 40, " TOTALS(
         1, 3) ", \"kernels\": ["
               "{\"name\": \"my_SGEMM_fast\", \"time_us\": 20, \"own\": true},"
               "{\"name\": \"sgemm\", \"time_us\": 10, \"own\": false},"
               "{\"name\": \"softmax\", \"time_us\": 10, \"own\": false}]}}",
     {0.5, 1. / 3, 0.75, 2. / 3}},
    /* Names of its own: no rule is wrong. */
    {"{\"profile\": {\"own_time_fraction\": 0.75, \"time_us\": 40, " TOTALS(
         1, 2) ", \"kernels\": ["
               "{\"name\": \"fused\", \"time_us\": 30, \"own\": true},"
               "{\"name\": \"sgemm\", \"time_us\": 10, \"own\": false}]}}",
     {0.75, 0.5, 0.75, 0.5}},
    {"{\"profile\": {\"own_time_fraction\": 0, \"time_us\": 10, " TOTALS(
         0, 1) ", \"kernels\": ["
               "{\"name\": \"sgemm\", \"time_us\": 10, \"own\": false}]}}",
     {0, 0, 0, 0}},
    /* Without a launch trace, as on a CPU; nothing ran; a server's nonsense. */
    {"{\"profile\": {\"kernels\": [], \"own_time_fraction\": null}}", {NAN, NAN, NAN, NAN}},
    {"{\"profile\": {\"own_time_fraction\": null, \"time_us\": 0, " TOTALS(0,
                                                                           0) ", \"kernels\": []}}",
     {NAN, NAN, NAN, NAN}},
    {"{\"profile\": {\"own_time_fraction\": 7, \"calls\": 1, \"time_us\": -1}}",
     {1, NAN, NAN, NAN}},
    {"{\"profile\": {\"own_time_fraction\": null, \"time_us\": 1, " TOTALS(
         9, 1) ", \"kernels\": ["
               "{\"name\": \"\", \"own\": true, \"time_us\": 1}, {\"own\": true}]}}",
     {NAN, 1, 0, 0}},
    {"{}", {NAN, NAN, NAN, NAN}},
};

TEST(shares)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct verdict verdict;
        verdict_of(rows[i].verdict, &verdict);
        for (size_t m = 0; m < COVERAGE_MEASURE_COUNT; m++) {
            double share = coverage_read((enum coverage_measure)m, &verdict);
            double wanted = rows[i].shares[m];
            if (isnan(wanted) ? !isnan(share) : !(fabs(share - wanted) < 1e-12))
                fail_msg("row %zu, measure %zu: %g", i, m, share);
        }
        verdict_deinit(&verdict);
    }
}

TEST(names)
{
    static const char *const names[COVERAGE_MEASURE_COUNT] = {"time", "kernels", "named_time",
                                                              "named_kernels"};
    struct err err = {0};
    int measure;
    for (int m = 0; m < COVERAGE_MEASURE_COUNT; m++) {
        assert_int_equal(word_find(WORDS(coverage_names), "coverage", names[m], &measure, &err), 0);
        assert_int_equal(measure, m);
    }
    assert_int_equal(word_find(WORDS(coverage_names), "coverage", "named_tme", &measure, &err),
                     ERR_INPUT);
    assert_non_null(strstr(err.text, "did you mean 'named_time'?"));
}
