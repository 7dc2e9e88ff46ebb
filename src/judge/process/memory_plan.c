#include "judge/process/memory_plan.h"

#include "base/mem.h"
#include "judge/process/memory_budget.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE_COPIES 8                    /* slots, staging, answers, draws: measured */
#define CACHE_PART 0.5                      /* of a GPU's memory: a plan of a new problem is low */
#define PROCESS_BYTES ((uint64_t)768 << 20) /* of PyTorch, most of it shared */

void memory_plans_init(struct memory_plans *plans)
{
    plans->entries = mem_alloc(MEMORY_PLANS * sizeof *plans->entries);
    pthread_mutex_init(&plans->lock, NULL);
}

void memory_plans_deinit(struct memory_plans *plans)
{
    mem_free(plans->entries);
    pthread_mutex_destroy(&plans->lock);
}

static struct memory_plan *plan_of(struct memory_plans *plans, const char *hash)
{
    char digits[8] = {0};
    memcpy(digits, hash, strnlen(hash, sizeof digits - 1));
    return &plans->entries[strtoul(digits, NULL, 16) % MEMORY_PLANS];
}

/* Its entry, which may have been another's. */
static struct memory_plan *take_plan(struct memory_plans *plans, const char *hash)
{
    struct memory_plan *plan = plan_of(plans, hash);
    if (strcmp(plan->hash, hash) != 0)
        *plan = (struct memory_plan){0};
    snprintf(plan->hash, sizeof plan->hash, "%s", hash);
    return plan;
}

void memory_plans_note(struct memory_plans *plans, const char *hash, uint64_t bytes)
{
    pthread_mutex_lock(&plans->lock);
    struct memory_plan *plan = take_plan(plans, hash);
    if (bytes > plan->bytes)
        plan->bytes = bytes;
    pthread_mutex_unlock(&plans->lock);
}

uint64_t memory_plans_find(struct memory_plans *plans, const char *hash)
{
    pthread_mutex_lock(&plans->lock);
    const struct memory_plan *plan = plan_of(plans, hash);
    uint64_t bytes = strcmp(plan->hash, hash) == 0 ? plan->bytes : 0;
    pthread_mutex_unlock(&plans->lock);
    return bytes;
}

bool memory_plans_sized(struct memory_plans *plans, const char *hash, uint64_t *argument_bytes,
                        uint64_t *weight_bytes)
{
    pthread_mutex_lock(&plans->lock);
    const struct memory_plan *plan = plan_of(plans, hash);
    bool sized = plan->sized && strcmp(plan->hash, hash) == 0;
    *argument_bytes = sized ? plan->argument_bytes : 0;
    *weight_bytes = sized ? plan->weight_bytes : 0;
    pthread_mutex_unlock(&plans->lock);
    return sized;
}

void memory_plans_size(struct memory_plans *plans, const char *hash, uint64_t argument_bytes,
                       uint64_t weight_bytes)
{
    pthread_mutex_lock(&plans->lock);
    struct memory_plan *plan = take_plan(plans, hash);
    plan->argument_bytes = argument_bytes;
    plan->weight_bytes = weight_bytes;
    plan->sized = true;
    pthread_mutex_unlock(&plans->lock);
}

/* Answers are taken to be as large as arguments. */
uint64_t memory_plan_least(uint64_t argument_bytes, uint64_t weight_bytes)
{
    return MEMORY_BUDGET_COPIES * argument_bytes + MEMORY_BUDGET_CHILDREN * weight_bytes;
}

uint64_t memory_plan_opened(uint64_t argument_bytes, uint64_t peak_bytes)
{
    return peak_bytes + (MEMORY_BUDGET_COPIES - 1) * argument_bytes;
}

uint64_t memory_plan_machine_least(uint64_t argument_bytes, uint64_t weight_bytes)
{
    return MACHINE_COPIES * argument_bytes + MEMORY_BUDGET_CHILDREN * weight_bytes;
}

uint64_t memory_plan_machine(uint64_t argument_bytes, uint64_t peak_bytes)
{
    uint64_t known = PROCESS_BYTES + argument_bytes;
    uint64_t own = peak_bytes > known ? peak_bytes - known : 0;
    return memory_plan_machine_least(argument_bytes, own);
}

uint64_t memory_plan_spare(uint64_t planned_bytes, uint64_t gpu_bytes)
{
    double spare = MEMORY_BUDGET_PART * (double)gpu_bytes - (double)planned_bytes;
    double most = CACHE_PART * (double)gpu_bytes;
    return spare < 0 ? 0 : (uint64_t)(spare < most ? spare : most);
}

int memory_plan_slots(uint64_t bytes, uint64_t gpu_bytes, int slots)
{
    if (gpu_bytes == 0)
        return 1;
    double wanted = ceil((double)bytes * slots / (MEMORY_BUDGET_PART * (double)gpu_bytes));
    return wanted < 1 ? 1 : wanted > slots ? slots : (int)wanted;
}
