#include "retrieval/retrieval_settings.h"

#include "base/setting.h"
#include "client/http_flow.h"

static int check_url(const char *url, struct err *err)
{
    return http_flow_check_url(url, "retrieval.embeddings_token", err);
}

#define SECTION retrieval
static const struct setting_row retrieval_rows[] = {
    SETTING_TEXT(directory, "none", "Index of solved examples for prompts (`warpgym index build`)",
                 .absent = "none"),
    SETTING_TEXT(embeddings_url, "none",
                 "OpenAI-compatible endpoint for embeddings, http://host:8000/v1; none: warpgym "
                 "runs the model itself",
                 .absent = "none", .check = check_url),
    SETTING_TEXT(embeddings_model, "",
                 "Model for embeddings, which the index was built with: its name at the endpoint, "
                 "or its directory; none: search by words only"),
    SETTING_SECRET(embeddings_token, "none", "Bearer token for that endpoint", .absent = "none"),
    SETTING_WORD(ranking, "both", WORDS_IN(RETRIEVAL_RANKINGS),
                 "What a search ranks by, where index and settings have embeddings"),
};

static void retrieval_check(const struct settings *settings, struct setting_errors *errors)
{
    const struct retrieval_settings *retrieval = retrieval_settings(settings);
    if (*retrieval->embeddings_url && !*retrieval->embeddings_model)
        settings_refuse(errors, settings, "retrieval.embeddings_url",
                        "retrieval.embeddings_url needs a model: set retrieval.embeddings_model");
    if (retrieval->ranking == RETRIEVAL_VECTORS && !*retrieval->embeddings_model)
        settings_refuse(errors, settings, "retrieval.ranking",
                        "retrieval.ranking is vectors, which needs a model: set "
                        "retrieval.embeddings_model");
}
SETTING_SECTION(retrieval, retrieval_rows, .check = retrieval_check);
