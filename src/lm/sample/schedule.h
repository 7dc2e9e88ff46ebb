/* schedule: which sequences run, with which pages.
 *
 * Age decides: a request is older than those that were submitted after it. Each step, sequences
 * take pages in the order of age, as many as their next rows need. Where no page is left, the
 * youngest running sequence gives all of its pages back and waits again (its tokens stay; what the
 * cache held of them is computed again later).
 *
 * Every request ends: the oldest sequence that runs never gives pages back, and alone it fits
 * (group_new), so it goes on with every step. Then a place and pages are free, and the oldest that
 * waits is the first to get them.
 */
#pragma once

#include "lm/sample/forward.h"
#include "lm/sample/group.h"
#include "lm/sample/pages.h"

struct schedule {
    struct pages *pages;
    struct sequence *waiting, *running; /* the oldest first */
    size_t waiting_count, running_count;
    size_t places, rows; /* sequences that run at once, rows of a step */
    size_t page;         /* positions of one */
    int32_t *tokens;     /* [page], scratch */
    uint64_t shared_tokens, preempted;
    /* Where a page's content goes along (NULL in tests of the schedule alone). */
    struct forward *forward;
};

void schedule_add(struct schedule *schedule, struct sequence *sequence);
/* Gives each running sequence its rows of the next step (`planned`, which may be 0) and pages for
 * them. */
void schedule_plan(struct schedule *schedule);
/* `planned` rows are in the cache now; pages that became full may be found by others. */
void schedule_computed(struct schedule *schedule, struct sequence *sequence);
/* A fresh sequence runs on from where `leader`, of the same group, has the whole prompt. False:
 * there is no place. */
bool schedule_fork(struct schedule *schedule, const struct sequence *leader,
                   struct sequence *sequence);
/* It neither waits nor runs any more. */
void schedule_end(struct schedule *schedule, struct sequence *sequence);
/* The weights are others: what was kept is forgotten. */
void schedule_forget(struct schedule *schedule);
