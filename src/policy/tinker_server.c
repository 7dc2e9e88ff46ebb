#include "policy/tinker_server.h"

#include "base/json.h"
#include "base/mem.h"

#include <string.h>

#define TRIES 3 /* each of a few seconds */

static bool is_skyrl(const json_t *answer)
{
    return strncmp(json_text_at(answer, "name"), "Tinker API", 10) == 0 &&
           json_is_object(json_object_get(answer, "endpoints"));
}

int tinker_server_recognise(struct tinker_server *server, struct tinker_link *link,
                            enum train_reduction reduction, struct err *err)
{
    /* Anything may be at the root of another server: only an answer at all is needed. */
    const struct tinker_call call = {.method = "GET", .target = "/", .once = true};
    struct tinker_sent sent = {0};
    json_t *answer = NULL;
    int result = ERR_IO;
    for (int i = 0; i < TRIES && result < 0 && sent.status == 0; i++)
        result = tinker_send(link, &call, &answer, &sent, err);
    *server = (struct tinker_server){.skyrl = result == 0 && is_skyrl(answer),
                                     .chosen = reduction != TRAIN_REDUCTION_AUTO};
    server->mean = server->chosen ? reduction == TRAIN_REDUCTION_MEAN : server->skyrl;
    server->clips = !server->skyrl;
    if (server->skyrl)
        tinker_link_set_plain(link);
    json_decref(answer);
    return result == ERR_CANCELLED || sent.status == 0 ? result : 0;
}

static bool has_metric(const json_t *metrics, const char *begin)
{
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)metrics, name,
                        value) if (strncmp(name, begin, strlen(begin)) == 0) return true;
    return false;
}

int tinker_server_check(const struct tinker_server *server, const json_t *result, struct err *err)
{
    const json_t *metrics = json_object_get(result, "metrics");
    if (server->chosen)
        return 0;
    if (server->mean && has_metric(metrics, "total_loss:"))
        return err_set(err, ERR_PROTOCOL,
                       "this SkyRL server adds up its losses, as its backends for GPUs do, and the "
                       "pass was made for one that averages; nothing was trained: set "
                       "train.reduction=sum");
    if (!server->mean && has_metric(metrics, "skyrl.ai/"))
        return err_set(err, ERR_PROTOCOL,
                       "this is SkyRL's server, which was not seen when the run began, and its "
                       "step may have been too small: set train.reduction (mean on JAX, sum on "
                       "GPUs) and resume");
    return 0;
}

/* The advantages (weights, where the loss has those) times `factor`. */
static void scale_datum(struct lm_datum *datum, bool ratio, float factor, float *values)
{
    const float *from = ratio ? datum->advantages : datum->weights;
    for (size_t i = 0; i < datum->count; i++)
        values[i] = (from ? from[i] : 1) * factor;
    datum->weights = NULL;
    datum->advantages = values;
}

void tinker_mean_init(struct tinker_mean *mean, const struct loss *loss,
                      const struct loss_config *config, const struct lm_datum *datums, size_t count,
                      size_t whole)
{
    size_t rows = 0, most = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        rows += datums[i].count;
        most = datums[i].count > most ? datums[i].count : most;
    }
    *mean = (struct tinker_mean){.loss = loss,
                                 .config = *config,
                                 .datums = mem_alloc((count + 1) * sizeof *mean->datums),
                                 .values = mem_alloc((rows + most + 1) * sizeof *mean->values)};
    float *zeros = mean->values + rows;
    if (!loss->ratio) {
        mean->loss = loss_find("cispo");
        mean->config = loss_config_defaults;
        mean->config.clip_low = mean->config.clip_high = 1;
    }
    for (size_t i = 0; i < count; i++) {
        mean->datums[i] = datums[i];
        scale_datum(&mean->datums[i], loss->ratio, (float)datums[i].count * (float)whole,
                    mean->values + at);
        if (!loss->ratio)
            mean->datums[i].sampled = zeros;
        at += datums[i].count;
    }
}

void tinker_mean_deinit(struct tinker_mean *mean)
{
    mem_free(mean->datums);
    mem_free(mean->values);
    *mean = (struct tinker_mean){0};
}
