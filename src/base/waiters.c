#include "base/waiters.h"

#include <stddef.h>

void waiters_join(struct waiter **queue, struct waiter *self)
{
    while (*queue)
        queue = &(*queue)->next;
    self->next = NULL;
    *queue = self;
}

void waiters_leave(struct waiter **queue, const struct waiter *self)
{
    while (*queue != self)
        queue = &(*queue)->next;
    *queue = self->next;
}
