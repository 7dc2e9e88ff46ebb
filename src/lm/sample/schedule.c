#include "lm/sample/schedule.h"

#include "base/mem.h"

#include <string.h>

#include <utlist.h>

static bool is_older(const struct sequence *a, const struct sequence *b)
{
    return a->group == b->group ? a->index < b->index : a->group->id < b->group->id;
}

/* From the end: what comes is mostly the youngest. */
static void insert(struct sequence **list, struct sequence *sequence)
{
    struct sequence *at = *list ? (*list)->prev : NULL;
    while (at && is_older(sequence, at))
        at = at == *list ? NULL : at->prev;
    if (at)
        DL_APPEND_ELEM(*list, at, sequence);
    else
        DL_PREPEND(*list, sequence);
}

static size_t pages_for(const struct schedule *schedule, size_t positions)
{
    return (positions + schedule->page - 1) / schedule->page;
}

static void hold(struct sequence *sequence, int32_t page)
{
    sequence->pages = mem_resize(sequence->pages,
                                 (sequence->page_count + 1) * sizeof *sequence->pages);
    sequence->pages[sequence->page_count++] = page;
}

/* The last one first: a page is of no use without those before it, so it is to be given away before
 * them. */
static void let_go(struct schedule *schedule, struct sequence *sequence)
{
    while (sequence->page_count > 0)
        pages_release(schedule->pages, sequence->pages[--sequence->page_count]);
    sequence->computed = sequence->kept_pages = sequence->planned = 0;
    sequence->mark = PAGES_START;
    sequence->mixed = false;
}

void schedule_add(struct schedule *schedule, struct sequence *sequence)
{
    sequence->state = SEQUENCE_WAITING;
    insert(&schedule->waiting, sequence);
    schedule->waiting_count++;
}

static void run(struct schedule *schedule, struct sequence *sequence)
{
    DL_DELETE(schedule->waiting, sequence);
    schedule->waiting_count--;
    sequence->state = SEQUENCE_RUNNING;
    insert(&schedule->running, sequence);
    schedule->running_count++;
}

static void stop(struct schedule *schedule, struct sequence *sequence)
{
    if (sequence->group->leader == sequence)
        sequence->group->leader = NULL;
    let_go(schedule, sequence);
    DL_DELETE(schedule->running, sequence);
    schedule->running_count--;
}

void schedule_end(struct schedule *schedule, struct sequence *sequence)
{
    if (sequence->state == SEQUENCE_RUNNING) {
        stop(schedule, sequence);
    } else if (sequence->state == SEQUENCE_WAITING) {
        DL_DELETE(schedule->waiting, sequence);
        schedule->waiting_count--;
    }
    sequence->state = SEQUENCE_ENDED;
}

static const int32_t *page_tokens(const struct schedule *schedule, const struct sequence *sequence,
                                  size_t index)
{
    for (size_t i = 0; i < schedule->page; i++)
        schedule->tokens[i] = sequence_token(sequence, index * schedule->page + i);
    return schedule->tokens;
}

/* Takes the pages that are there of its beginning. The last token is always computed, for its
 * logits, and so are rows whose log-probabilities are wanted. */
static void find_pages(struct schedule *schedule, struct sequence *sequence)
{
    const struct group *group = sequence->group;
    size_t most = sequence_known(sequence) - 1;
    if (group_is_scoring(group) && group->scored_count - 1 < most)
        most = group->scored_count - 1;
    for (size_t i = 0; i < most / schedule->page; i++) {
        uint64_t mark;
        int32_t page = pages_find(schedule->pages, sequence->mark,
                                  page_tokens(schedule, sequence, i), &mark);
        if (page == PAGES_NONE)
            break;
        hold(sequence, page);
        sequence->mark = mark;
    }
    sequence->kept_pages = sequence->page_count;
    sequence->computed = sequence->page_count * schedule->page;
}

/* Pages that a sequence lacks for what is known of it, and one token more. */
static size_t lacking(const struct schedule *schedule, const struct sequence *sequence)
{
    size_t needed = pages_for(schedule, sequence_known(sequence) + 1);
    return needed > sequence->page_count ? needed - sequence->page_count : 0;
}

/* Beside others only where it would not push them out at once; alone it fits. */
static bool fits_cache(const struct schedule *schedule, const struct sequence *sequence)
{
    size_t needed = lacking(schedule, sequence);
    const struct sequence *other;
    if (!schedule->running)
        return true;
    DL_FOREACH (schedule->running, other)
        needed += lacking(schedule, other);
    return needed <= pages_available(schedule->pages);
}

static void admit(struct schedule *schedule)
{
    struct sequence *sequence, *next;
    DL_FOREACH_SAFE (schedule->waiting, sequence, next) {
        const bool fresh = sequence->sample.count == 0;
        if (schedule->running_count == schedule->places)
            return;
        if (fresh && sequence->group->leader)
            continue;
        find_pages(schedule, sequence);
        if (!fits_cache(schedule, sequence)) {
            let_go(schedule, sequence);
            return;
        }
        run(schedule, sequence);
        if (fresh) {
            sequence->group->leader = sequence;
            schedule->shared_tokens += sequence->computed;
        }
    }
}

/* Pages for the next `rows` positions, none of them written by others. False: there are no more
 * pages; what was taken stays. */
static bool take_pages(struct schedule *schedule, struct sequence *sequence, size_t rows)
{
    size_t first = sequence->computed / schedule->page;
    if (first < sequence->page_count && pages_is_shared(schedule->pages, sequence->pages[first])) {
        int32_t own = pages_take(schedule->pages);
        if (own == PAGES_NONE)
            return false;
        if (schedule->forward)
            forward_copy_page(schedule->forward, sequence->pages[first], own);
        pages_release(schedule->pages, sequence->pages[first]);
        sequence->pages[first] = own;
    }
    while (sequence->page_count < pages_for(schedule, sequence->computed + rows)) {
        int32_t page = pages_take(schedule->pages);
        if (page == PAGES_NONE)
            return false;
        hold(sequence, page);
    }
    return true;
}

static struct sequence *preempt_youngest(struct schedule *schedule)
{
    struct sequence *youngest = schedule->running->prev;
    stop(schedule, youngest);
    schedule->preempted++;
    schedule_add(schedule, youngest);
    return youngest;
}

/* Decoding goes first: each has one row, and prompts share what is left. */
static size_t rows_for_prompts(const struct schedule *schedule)
{
    size_t rows = schedule->rows;
    const struct sequence *sequence;
    DL_FOREACH (schedule->running, sequence)
        rows -= sequence_known(sequence) - sequence->computed == 1;
    return rows;
}

void schedule_plan(struct schedule *schedule)
{
    admit(schedule);
    size_t left = rows_for_prompts(schedule);
    struct sequence *sequence = schedule->running;
    while (sequence) {
        size_t wanted = sequence_known(sequence) - sequence->computed;
        const bool decoding = wanted == 1;
        if (!decoding && wanted > left)
            wanted = left;
        sequence->planned = wanted;
        struct sequence *preempted = NULL;
        while (wanted > 0 && preempted != sequence && !take_pages(schedule, sequence, wanted))
            preempted = preempt_youngest(schedule);
        if (preempted == sequence)
            return; /* it was the last one */
        left -= decoding ? 0 : wanted;
        sequence = sequence->next;
    }
}

void schedule_computed(struct schedule *schedule, struct sequence *sequence)
{
    const size_t page = schedule->page;
    sequence->computed += sequence->planned;
    sequence->planned = 0;
    while (!sequence->mixed && (sequence->kept_pages + 1) * page <= sequence->computed) {
        size_t index = sequence->kept_pages++;
        sequence->mark = pages_keep(schedule->pages, sequence->mark, sequence->pages[index],
                                    page_tokens(schedule, sequence, index));
    }
}

bool schedule_fork(struct schedule *schedule, const struct sequence *leader,
                   struct sequence *sequence)
{
    if (schedule->running_count == schedule->places)
        return false;
    run(schedule, sequence);
    for (size_t i = 0; i < pages_for(schedule, leader->computed); i++) {
        pages_share(schedule->pages, leader->pages[i]);
        hold(sequence, leader->pages[i]);
    }
    sequence->computed = leader->computed;
    sequence->kept_pages = leader->kept_pages;
    sequence->mark = leader->mark;
    sequence->mixed = leader->mixed;
    schedule->shared_tokens += leader->computed;
    return true;
}

void schedule_forget(struct schedule *schedule)
{
    struct sequence *sequence;
    pages_forget(schedule->pages);
    DL_FOREACH (schedule->running, sequence)
        sequence->mixed = true;
}
