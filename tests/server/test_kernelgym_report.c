/* The shapes of the routes about the service itself: every key that KernelGYM's have. */
#include "server/kernelgym/report.h"

#include "../support/test.h"
#include "base/json.h"

#define NOW_MS 1769860800000
#define NOW "2026-01-31T12:00:00.000Z"

static void assert_json(json_t *got, const char *expected)
{
    json_t *wanted;
    struct err err;
    assert_int_equal(json_parse("expected", expected, strlen(expected), &wanted, &err), 0);
    if (!json_equal(got, wanted))
        fail_msg("%s\ninstead of\n%s", json_dumps(got, 0), expected);
    json_decref(wanted);
    json_decref(got);
}

TEST(health)
{
    static const struct kernelgym_gpu gpus[] = {{"cuda:0", "NVIDIA H200", 1000, 250, true, NULL},
                                                {"cuda:1", "NVIDIA H200", -1, -1, false,
                                                 "fell off the bus"}};
    struct kernelgym_health health = {.now_ms = NOW_MS,
                                      .gpus = gpus,
                                      .gpu_count = 2,
                                      .pending = 3,
                                      .processing = 2,
                                      .completed = 9,
                                      .cpu_percent = 50,
                                      .memory_percent = -1,
                                      .memory_available_bytes = 7,
                                      .memory_total_bytes = 8,
                                      .uptime_s = 1.5};
    assert_json(
        kernelgym_health(&health),
        "{\"status\":\"healthy\",\"timestamp\":\"" NOW "\",\"gpu_status\":{\"cuda:0\":{\"name\":"
        "\"NVIDIA H200\",\"memory_total\":1000,\"memory_allocated\":250,\"memory_reserved\":250,"
        "\"memory_used_percent\":25.0,\"available\":true},\"cuda:1\":{\"error\":\"fell off the "
        "bus\",\"name\":\"NVIDIA H200\",\"memory_total\":null,\"memory_allocated\":null,"
        "\"memory_reserved\":null,\"memory_used_percent\":null,\"available\":false}},"
        "\"queue_status\":{\"pending\":3,\"processing\":2,\"completed\":9},\"memory_usage\":{"
        "\"cpu_percent\":50,\"memory_percent\":null,\"memory_available\":7,\"memory_total\":8},"
        "\"active_tasks\":2,\"total_processed\":9,\"uptime\":1.5}");
    health.trouble = "no worker answers";
    json_t *answer = kernelgym_health(&health);
    assert_string_equal(json_string_value(json_object_get(answer, "status")), "unhealthy");
    assert_string_equal(json_string_value(json_object_get(answer, "detail")), "no worker answers");
    json_decref(answer);
}

TEST(metrics)
{
    const struct kernelgym_metrics metrics = {.now_ms = NOW_MS,
                                              .processing_time_s = 1.5,
                                              .throughput_per_hour = -1,
                                              .success_rate = 0.5,
                                              .gpu_percent = 10,
                                              .memory_percent = 20,
                                              .cpu_percent = 30,
                                              .pending = 1,
                                              .active = 2,
                                              .completed = 3,
                                              .compilation_errors = 4,
                                              .runtime_errors = 5,
                                              .timeout_errors = 6};
    assert_json(kernelgym_metrics(&metrics),
                "{\"timestamp\":\"" NOW "\",\"performance_metrics\":{\"avg_processing_time\":1.5,"
                "\"throughput_per_hour\":0.0,\"success_rate\":0.5},\"resource_metrics\":{"
                "\"avg_gpu_utilization\":10.0,\"memory_usage_percent\":20.0,"
                "\"cpu_usage_percent\":30.0},\"queue_metrics\":{\"pending_tasks\":1,"
                "\"active_tasks\":2,\"completed_tasks\":3},\"error_metrics\":{"
                "\"compilation_errors\":4,\"runtime_errors\":5,\"timeout_errors\":6}}");
}

TEST(queue_and_workers)
{
    static const struct kernelgym_worker workers[] = {{"w0", "cuda:0", "online", "node-1", "host",
                                                       NOW_MS, NULL, 0},
                                                      {"w1", "cuda:1", "offline", "node-1", "host",
                                                       NOW_MS, "fell off the bus", NOW_MS}};
    assert_json(kernelgym_queue(1, 2, 3),
                "{\"pending\":6,\"pending_by_prefix\":{\"warpgym\":6},\"pending_by_priority\":{"
                "\"high\":1,\"normal\":2,\"low\":3},\"worker_queues\":{}}");
    assert_json(kernelgym_workers(workers, 1, false),
                "{\"w0\":{\"device\":\"cuda:0\",\"status\":\"online\",\"last_heartbeat\":\"" NOW
                "\",\"node_id\":\"node-1\",\"hostname\":\"host\"}}");
    assert_json(kernelgym_workers(workers + 1, 1, true),
                "{\"status\":\"success\",\"workers\":{\"w1\":{\"device\":\"cuda:1\",\"status\":"
                "\"offline\",\"last_heartbeat\":\"" NOW "\",\"node_id\":\"node-1\",\"hostname\":"
                "\"host\",\"cuda_error_shutdown\":true,\"shutdown_reason\":\"fell off the bus\","
                "\"shutdown_time\":\"" NOW "\"}}}");
    assert_json(kernelgym_workers(NULL, 0, false), "{}");
    assert_json(kernelgym_node("node-1", "host"), "{\"node_id\":\"node-1\",\"hostname\":\"host\"}");
}

TEST(monitoring)
{
    static const struct kernelgym_code_errors codes[] = {{"a", 3}, {"b", 2}, {"c", 9}};
    struct kernelgym_retry retries[12];
    for (size_t i = 0; i < 12; i++)
        retries[i] = (struct kernelgym_retry){"t", 1, NOW_MS};
    assert_json(kernelgym_problematic(codes, 3, 3),
                "{\"status\":\"success\",\"min_errors_threshold\":3,\"problematic_codes\":[{"
                "\"code_hash\":\"c\",\"error_count\":9},{\"code_hash\":\"a\",\"error_count\":3}],"
                "\"total_count\":2}");
    json_t *answer = kernelgym_retries(retries, 12);
    assert_int_equal(json_integer_value(json_object_get(answer, "retry_queue_size")), 12);
    assert_int_equal(json_array_size(json_object_get(answer, "next_retries")), 10);
    json_decref(answer);
    assert_json(kernelgym_retries(retries, 1),
                "{\"status\":\"success\",\"retry_queue_size\":1,\"next_retries\":[{\"task_id\":"
                "\"t\",\"retry_count\":1,\"scheduled_for\":\"" NOW "\"}]}");
    assert_json(kernelgym_cleared("abc"),
                "{\"status\":\"success\",\"message\":\"Error history of abc cleared\"}");
}

TEST(root)
{
    json_t *answer = kernelgym_root(NOW_MS);
    json_object_del(answer, "server");
    assert_json(answer, "{\"name\":\"KernelGym\",\"version\":\"1.0.0\",\"description\":\"GPU "
                        "Kernel Evaluation Service\",\"timestamp\":\"" NOW "\"}");
}
