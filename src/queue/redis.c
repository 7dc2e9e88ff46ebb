#include "queue/store.h"
const struct queue_store queue_redis = {.scheme = "redis://"};
