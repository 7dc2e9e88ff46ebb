/* sections: all sections of settings, in the order of pages and files. Declared in base/setting.h,
 * because base/ may not know the modules. */
#include "base/log_settings.h"
#include "base/setting.h"
#include "client/client_settings.h"
#include "config/kernelgym.h"
#include "gym/gym_settings.h"
#include "judge/request/judge_settings.h"
#include "policy/policy_settings.h"
#include "problem/problem_settings.h"
#include "queue/queue_settings.h"
#include "retrieval/retrieval_settings.h"
#include "rl/method/method_settings.h"
#include "rl/train/train_settings.h"
#include "server/server_settings.h"
#include "server/tinker/tinker_settings.h"
#include "worker/worker_settings.h"

#include <string.h>

static const struct setting_section *const sections[] = {
    &log_section,    &cache_section,    &compile_section,   &run_section,     &check_section,
    &audit_section,  &timing_section,   &gpu_section,       &torch_section,   &python_section,
    &queue_section,  &worker_section,   &languages_section, &gym_section,     &train_section,
    &method_section, &problems_section, &retrieval_section, &prompts_section, &server_section,
    &mcp_section,    &tinker_section,   &client_section,    &policy_section,  NULL,
};

static const char *short_variable(const char *variable)
{
    return strcmp(variable, "TOKEN") == 0 ? "server.token"
           : strcmp(variable, "LOG") == 0 ? "log.level"
                                          : NULL;
}

const struct setting_registry setting_registry = {
    .sections = sections,
    .short_variable = short_variable,
    .read_foreign = kernelgym_read_environment,
    .foreign_variable = kernelgym_variable,
};
