/* The shapes of the routes about the service itself: every key that KernelGYM's have. */
#include "server/kernelgym/report.h"

#include "../support/test.h"
#include "base/json.h"

#define NOW_MS 1769860800000
#define NOW "2026-01-31T12:00:00.000Z"

static void assert_json(json_t *got, const char *expected)
{
    json_t *wanted;
    assert_int_equal(json_parse("expected", expected, strlen(expected), &wanted, NULL), 0);
    if (!json_equal(got, wanted))
        fail_msg("%s\ninstead of\n%s", json_dumps(got, 0), expected);
    json_decref(wanted);
    json_decref(got);
}

static json_t *workers_of(const char *device, bool draining)
{
    json_t *worker = json_pack("{s:s, s:s, s:b, s:s, s:[o]}", "name", "w", "host", "h", "draining",
                               draining, "heartbeat_at", NOW, "devices", support_json(device));
    return json_pack("[o]", worker);
}

#define GOOD                                                                                       \
    "{\"kind\": \"cuda\", \"name\": \"NVIDIA H200\", \"memory_bytes\": 1000, \"state\": "          \
    "\"good\", "                                                                                   \
    "\"why\": null}"
#define QUARANTINED                                                                                \
    "{\"kind\": \"cuda\", \"name\": \"NVIDIA H200\", \"memory_bytes\": \"?\", \"state\": "         \
    "\"quarantined\", \"why\": \"fell off the bus\"}"
#define CPU "{\"kind\": \"cpu\", \"name\": \"fake CPU\", \"state\": \"good\"}"

static const struct queue_stats stats = {
    .priorities =
        {[QUEUE_URGENT] = {.depth = 1}, [QUEUE_NORMAL] = {.depth = 2}, [QUEUE_LOW] = {.depth = 3}},
    .running = 2,
    .ended = {{"passed", 5},
              {"compile_error", 1},
              {"load_error", 1},
              {"runtime_error", 1},
              {"timeout", 2}},
    .ended_count = 5,
};

TEST(health)
{
    json_t *workers = workers_of(GOOD, false), *more = workers_of(QUARANTINED, true);
    json_array_extend(workers, more);
    struct kernelgym_facts facts = {.now_ms = NOW_MS,
                                    .workers = workers,
                                    .stats = stats,
                                    .load = {.memory = 8, .memory_available = 6},
                                    .cpu_percent = 50,
                                    .uptime_s = 1.5};
    assert_json(
        kernelgym_health(&facts),
        "{\"status\":\"healthy\",\"timestamp\":\"" NOW "\",\"gpu_status\":{\"cuda:0\":{\"name\":"
        "\"NVIDIA H200\",\"memory_total\":1000,\"memory_allocated\":null,\"memory_reserved\":null,"
        "\"memory_used_percent\":null,\"available\":true},\"cuda:1\":{\"error\":\"fell off the "
        "bus\",\"name\":\"NVIDIA H200\",\"memory_total\":null,\"memory_allocated\":null,"
        "\"memory_reserved\":null,\"memory_used_percent\":null,\"available\":false}},"
        "\"queue_status\":{\"pending\":6,\"processing\":2,\"completed\":10},\"memory_usage\":{"
        "\"cpu_percent\":50,\"memory_percent\":25,\"memory_available\":6,\"memory_total\":8},"
        "\"active_tasks\":2,\"total_processed\":10,\"uptime\":1.5}");
    facts.trouble = "no worker answers";
    facts.load = (struct load){0};
    json_t *answer = kernelgym_health(&facts);
    assert_string_equal(json_text_at(answer, "status"), "unhealthy");
    assert_string_equal(json_text_at(answer, "detail"), "no worker answers");
    const json_t *usage = json_object_get(answer, "memory_usage");
    assert_true(json_is_null(json_object_get(usage, "memory_percent")));
    assert_true(json_is_null(json_object_get(usage, "memory_total")));
    json_decref(answer);
    json_decref(more);
    json_decref(workers);
}

TEST(metrics)
{
    const struct kernelgym_facts facts = {.now_ms = NOW_MS,
                                          .stats = stats,
                                          .load = {.memory = 8, .memory_available = 6},
                                          .cpu_percent = -1};
    assert_json(kernelgym_metrics(&facts),
                "{\"timestamp\":\"" NOW "\",\"performance_metrics\":{\"avg_processing_time\":0.0,"
                "\"throughput_per_hour\":0.0,\"success_rate\":0.5},\"resource_metrics\":{"
                "\"avg_gpu_utilization\":0.0,\"memory_usage_percent\":25.0,"
                "\"cpu_usage_percent\":0.0},\"queue_metrics\":{\"pending_tasks\":6,"
                "\"active_tasks\":2,\"completed_tasks\":10},\"error_metrics\":{"
                "\"compilation_errors\":2,\"runtime_errors\":1,\"timeout_errors\":2}}");
}

TEST(queue_and_workers)
{
    static const struct {
        const char *device, *wanted;
        bool draining, health;
    } rows[] = {
        {GOOD,
         "{\"w\":{\"device\":\"cuda:0\",\"status\":\"online\",\"last_heartbeat\":\"" NOW
         "\",\"node_id\":\"h\",\"hostname\":\"h\"}}",
         false, false},
        {CPU,
         "{\"w\":{\"device\":\"cpu\",\"status\":\"offline\",\"last_heartbeat\":\"" NOW
         "\",\"node_id\":\"h\",\"hostname\":\"h\"}}",
         true, false},
        {QUARANTINED,
         "{\"status\":\"success\",\"workers\":{\"w\":{\"device\":\"cuda:0\",\"status\":"
         "\"offline\",\"last_heartbeat\":\"" NOW "\",\"node_id\":\"h\",\"hostname\":"
         "\"h\",\"cuda_error_shutdown\":true,\"shutdown_reason\":\"fell off the bus\","
         "\"shutdown_time\":\"" NOW "\"}}}",
         true, true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *workers = workers_of(rows[i].device, rows[i].draining);
        assert_json(kernelgym_workers(workers, rows[i].health), rows[i].wanted);
        json_decref(workers);
    }
    assert_json(kernelgym_queue(&stats),
                "{\"pending\":6,\"pending_by_prefix\":{\"warpgym\":6},\"pending_by_priority\":{"
                "\"high\":1,\"normal\":2,\"low\":3},\"worker_queues\":{}}");
    assert_json(kernelgym_workers(NULL, false), "{}");
    assert_json(kernelgym_node("node-1", "host"), "{\"node_id\":\"node-1\",\"hostname\":\"host\"}");
}

TEST(monitoring)
{
    assert_json(kernelgym_problematic(3),
                "{\"status\":\"success\",\"min_errors_threshold\":3,\"problematic_codes\":[],"
                "\"total_count\":0}");
    assert_json(kernelgym_retries(),
                "{\"status\":\"success\",\"retry_queue_size\":0,\"next_retries\":[]}");
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
