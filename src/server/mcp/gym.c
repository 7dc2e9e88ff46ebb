#include "server/mcp/gym_internal.h"

#include "base/embed.h"
#include "base/json.h"
#include "base/mem.h"
#include "judge/request/language.h"

#include <string.h>

/* Tools with their schemas, resource templates and prompts. */
extern const char mcp_gym_json[];
EMBED_TEXT(mcp_gym_json, "src/server/mcp/gym.json");

static const struct mcp_tool tools[] = {
    {"list_problems", mcp_tool_list_problems, false},
    {"read_problem", mcp_tool_read_problem, false},
    {"submit", mcp_tool_submit, true},
    {"profile", mcp_tool_profile, false},
    {"search_examples", mcp_tool_search_examples, false},
    {"history", mcp_tool_history, false},
    {NULL, NULL, false},
};

const char *mcp_text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* The languages that a tool's argument may be. */
static void put_languages(json_t *catalogue)
{
    size_t i;
    json_t *tool;
    json_array_foreach(json_object_get(catalogue, "tools"), i, tool)
    {
        json_t *schema = json_object_get(tool, "inputSchema");
        json_t *argument = json_object_get(json_object_get(schema, "properties"), "language");
        if (argument)
            json_put(argument, "enum", language_names_json());
    }
}

int mcp_gym_open(struct mcp_gym **out, const struct mcp_gym_options *options, struct err *err)
{
    struct mcp_gym *mcp_gym = mem_alloc(sizeof *mcp_gym);
    mcp_gym->options = *options;
    pthread_mutex_init(&mcp_gym->lock, NULL);
    pthread_cond_init(&mcp_gym->freed, NULL);
    mcp_gym->service = (struct mcp_service){.context = mcp_gym,
                                            .tools = tools,
                                            .list_resources = mcp_list_resources,
                                            .read_resource = mcp_read_resource,
                                            .get_prompt = mcp_get_prompt,
                                            .session_over = mcp_agent_free};
    int result = json_parse("gym.json", mcp_gym_json, strlen(mcp_gym_json), &mcp_gym->catalogue,
                            err);
    put_languages(mcp_gym->catalogue);
    mcp_gym->service.catalogue = mcp_gym->catalogue;
    if (result == 0 && options->record)
        result = mcp_recorder_open(&mcp_gym->recorder, options->record, options->gym, err);
    if (result < 0) {
        mcp_gym_close(mcp_gym);
        return result;
    }
    *out = mcp_gym;
    return 0;
}

const struct mcp_service *mcp_gym_service(const struct mcp_gym *mcp_gym)
{
    return &mcp_gym->service;
}

void mcp_gym_close(struct mcp_gym *mcp_gym)
{
    if (!mcp_gym)
        return;
    mcp_recorder_close(mcp_gym->recorder);
    json_decref(mcp_gym->catalogue);
    pthread_cond_destroy(&mcp_gym->freed);
    pthread_mutex_destroy(&mcp_gym->lock);
    mem_free(mcp_gym);
}
