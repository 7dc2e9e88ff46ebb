#include "policy/tinker_archive.h"

#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/http_flow.h"
#include "lm/weights/safetensors.h"
#include "policy/policy_settings.h"
#include "policy/tinker_session.h"
#include "policy/tinker_wire.h"
#include "policy/untar.h"

#include <string.h>

#define STALL_MS 60000 /* between two pieces of the archive */
#define CONFIG "adapter_config.json"
#define TENSORS "adapter_model.safetensors"

/* *address: where the archive is; NULL: the server has no such route, or no such checkpoint. */
static int request_address(struct tinker_link *link, const char *target, char **address,
                           struct err *err)
{
    struct tinker_sent sent;
    json_t *answer = NULL;
    const struct tinker_call call = {.method = "GET",
                                     .target = target,
                                     .accepted = 302,
                                     .location = address};
    *address = NULL;
    int result = tinker_send(link, &call, &answer, &sent, err);
    if (result == 0 && !*address)
        result = tinker_read_text(answer, "archive", "url", address, err);
    json_decref(answer);
    return sent.status == 404 || sent.status == 405 ? 0 : result; /* SkyRL has a DELETE there */
}

static int find_address(struct tinker_link *link, const struct tinker_path *path, char **address,
                        struct err *err)
{
    static const char *const kinds[] = {"sampler_weights/", ""};
    int result = 0;
    *address = NULL;
    for (size_t i = 0; i < 2 && result == 0 && !*address; i++) {
        char *target = mem_printf("/api/v1/training_runs/%s/checkpoints/%s%s/archive", path->run,
                                  kinds[i], path->name);
        result = request_address(link, target, address, err);
        mem_free(target);
    }
    if (result == 0 && !*address)
        result = err_set(err, ERR_INPUT,
                         "the server has no archive of '%.100s': it was deleted, or saved before "
                         "archives were; take another checkpoint",
                         path->name);
    return result;
}

/* Splits an address into the server and what is asked of it. */
static int split_address(const char *url, const char *address, char **server, const char **target,
                         struct err *err)
{
    const char *host = strstr(address, "://");
    const bool secure = strncmp(url, "https:", 6) == 0;
    *server = NULL;
    if (!host || strlen(address) > LIMIT_CLIENT_URL_BYTES ||
        (strncmp(address, "https:", 6) != 0 && (secure || strncmp(address, "http:", 5) != 0)))
        return err_set(err, ERR_PROTOCOL, "%.200s: the archive's address '%.200s' is not followed",
                       url, address);
    host += 3;
    const size_t count = (size_t)(host - address) + strcspn(host, "/?#");
    *server = mem_printf("%.*s", (int)count, address);
    *target = address[count] ? address + count : "/";
    return 0;
}

static int take_piece(void *context, const char *bytes, size_t count, struct err *err)
{
    int result = untar_write(context, bytes, count, err);
    return result < 0 ? result : HTTP_FLOW_PROGRESS;
}

static int download(const struct tinker_archive_options *options, const char *server,
                    const char *target, const char *directory, struct err *err)
{
    const struct policy_settings *policy = policy_settings(options->settings);
    const struct http_flow_options to = {.url = server,
                                         .accept = "*/*",
                                         .ca_file = policy->ca_file,
                                         .connect_timeout_ms = policy->connect_timeout_ms,
                                         .cancelled = options->cancelled};
    const struct untar_options into = {directory, LIMIT_TINKER_ARCHIVE_BYTES,
                                       LIMIT_TINKER_ARCHIVE_FILES};
    struct http_flow *flow = NULL;
    struct untar *untar = NULL;
    struct http_flow_answer answer = {0};
    int result = untar_open(&untar, &into, err);
    if (result == 0)
        result = http_flow_open(&flow, &to, err);
    if (result == 0) {
        const struct http_flow_call call = {.method = "GET",
                                            .target = target,
                                            .first_ms = STALL_MS,
                                            .between_ms = STALL_MS,
                                            .max_bytes = LIMIT_TINKER_ARCHIVE_BYTES,
                                            .on_bytes = take_piece,
                                            .context = untar};
        result = http_flow_send(flow, &call, &answer, err);
    }
    if (result == 0 && answer.status != 200)
        result = err_set(err, ERR_IO, "%.200s: the archive is not there (%d)", server,
                         answer.status);
    http_flow_answer_deinit(&answer);
    http_flow_close(flow);
    return untar_close(untar, result, err);
}

/* "q_proj" of "….self_attn.q_proj.lora_A.weight", once each. */
static json_t *target_modules(const struct safetensors *set)
{
    json_t *names = json_object(), *list = json_array();
    for (size_t i = 0; i < safetensors_count(set); i++) {
        const char *name = safetensors_at(set, i)->name, *end = strstr(name, ".lora_A.");
        const char *begin = end;
        while (begin && begin > name && begin[-1] != '.')
            begin--;
        if (!end || begin == end)
            continue;
        char *module = mem_printf("%.*s", (int)(end - begin), begin);
        if (!json_object_get(names, module) && json_object_set_new(names, module, json_true()) == 0)
            json_array_append_new(list, json_text(module));
        mem_free(module);
    }
    json_decref(names);
    return list;
}

static int complete_config(const char *directory, struct err *err)
{
    char *config = mem_printf("%s/%s", directory, CONFIG);
    char *tensors = mem_printf("%s/%s", directory, TENSORS);
    json_t *document = NULL;
    struct safetensors *set = NULL;
    int result = 0;
    if (!file_exists(config) || !file_exists(tensors))
        result = err_set(err, ERR_INPUT, "the server's archive holds no adapter (%s and %s)",
                         CONFIG, TENSORS);
    if (result == 0)
        result = json_file_read(config, LIMIT_LM_JSON_BYTES, &document, err);
    if (result == 0)
        result = safetensors_open(&set, tensors, err);
    const json_t *modules = json_object_get(document, "target_modules");
    if (result == 0 && !json_is_string(modules) && json_array_size(modules) == 0) {
        json_put(document, "target_modules", target_modules(set));
        result = json_file_write(config, document, true, err);
    }
    safetensors_close(set);
    json_decref(document);
    mem_free(config);
    mem_free(tensors);
    return result;
}

static int fetch_over(struct tinker_link *link, const struct tinker_archive_options *options,
                      const struct tinker_path *path, const char *directory, struct err *err)
{
    char *address = NULL, *server = NULL;
    const char *target = "/";
    int result = find_address(link, path, &address, err);
    if (result == 0)
        result = split_address(options->url, address, &server, &target, err);
    if (result == 0)
        result = download(options, server, target, directory, err);
    if (result == 0)
        result = complete_config(directory, err);
    mem_free(server);
    mem_free(address);
    return result;
}

int tinker_archive_fetch(const struct tinker_archive_options *options, const char *where,
                         const char *directory, struct err *err)
{
    struct tinker_path path;
    struct tinker_token token;
    struct tinker_link *link = NULL;
    const struct tinker_link_options to = {.url = options->url,
                                           .token = &token,
                                           .settings = options->settings,
                                           .cancelled = options->cancelled,
                                           .at_once = 1,
                                           .known = true};
    tinker_token_init(&token);
    int result = tinker_path_parse(&path, where, err);
    if (result == 0)
        result = tinker_link_open(&link, &to, err);
    if (result == 0)
        result = tinker_session_configure(NULL, link, &to, err);
    if (result == 0)
        result = fetch_over(link, options, &path, directory, err);
    tinker_link_close(link);
    tinker_token_deinit(&token);
    tinker_path_deinit(&path);
    return result;
}
