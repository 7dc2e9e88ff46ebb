#include <warpgym/torch.h>
