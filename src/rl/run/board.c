#include "rl/run/board.h"

#include "base/mem.h"
#include "rl/run/tags.h"

#include <string.h>

int run_board_open(struct run_board *board, const char *directory, uint64_t first_step,
                   struct err *err)
{
    *board = (struct run_board){.directory = mem_printf("%s/" RUN_BOARD, directory),
                                .first_step = first_step};
    int result = events_open(&board->main, board->directory, first_step, err);
    if (result < 0) {
        mem_free(board->directory);
        *board = (struct run_board){0};
    }
    return result;
}

void run_board_close(struct run_board *board)
{
    if (!board->directory)
        return;
    events_close(&board->main);
    for (struct run_board_member *member = board->members, *next; member; member = next) {
        next = member->next;
        events_close(&member->events);
        mem_free(member->directory);
        mem_free(member);
    }
    mem_free(board->directory);
    *board = (struct run_board){0};
}

/* "tensorboard/Reward_Summary_mean", as TensorBoard's add_scalars calls it. */
static char *directory_of(const struct run_board *board, const char *group, const char *name)
{
    char *directory = mem_printf("%s/%s_%s", board->directory, group, name);
    for (char *at = directory + strlen(board->directory) + 1; *at; at++)
        if (*at == '/' || *at == ' ')
            *at = '_';
    return directory;
}

/* Opened when its first value comes. */
static int member_of(struct run_board *board, const char *group, const char *name,
                     struct events **out, struct err *err)
{
    char *directory = directory_of(board, group, name);
    for (struct run_board_member *member = board->members; member; member = member->next)
        if (strcmp(member->directory, directory) == 0) {
            mem_free(directory);
            *out = &member->events;
            return 0;
        }
    struct run_board_member *member = mem_alloc(sizeof *member);
    int result = events_open(&member->events, directory, board->first_step, err);
    if (result < 0) {
        mem_free(directory);
        mem_free(member);
        return result;
    }
    member->directory = directory;
    member->next = board->members;
    board->members = member;
    *out = &member->events;
    return 0;
}

static int put(struct run_board *board, uint64_t step, const char *metric, double value,
               struct err *err)
{
    char *tag, *group;
    const struct run_tag *row = run_tag_of(metric, &tag, &group);
    struct events *member;
    int result = events_scalar(&board->main, step, tag, value, err);
    if (result == 0 && group) {
        result = member_of(board, group, row->member, &member, err);
        if (result == 0)
            result = events_scalar(member, step, group, value, err);
    }
    mem_free(group);
    mem_free(tag);
    return result;
}

int run_board_metrics(struct run_board *board, uint64_t step, const json_t *metrics,
                      struct err *err)
{
    const char *name;
    json_t *value;
    int result = 0;
    json_object_foreach((json_t *)metrics, name, value)
    {
        if (result == 0 && json_is_number(value))
            result = put(board, step, name, json_number_value(value), err);
    }
    return result;
}
