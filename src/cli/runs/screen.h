/* runs_screen: the picture that `warpgym runs watch` draws: the pure part.
 *
 *   runs/demo  running (process 4711)                        last wrote 3 s ago
 *   [############################..........................]  step 12 of 23, 2:10 min left
 *   rollout 34 of 64
 *
 *   measure         last     least      most
 *   reward        0.5132         0    0.7112  ▁▁▂▃▃▄▅▅▆▇▇█
 *   …
 */
#pragma once

#include "base/buf.h"
#include "rl/run/run_view.h"

#include <stdbool.h>

struct runs_screen {
    int width, height; /* the terminal's */
    bool colour, utf8; /* else curves of ASCII characters */
};

/* At most `height` lines of at most `width` columns, each with a newline; what does not fit is
 * left out from the end. `checkpoint`: the name of the last one, or "". */
void runs_screen_draw(const struct run_view *view, const char *checkpoint,
                      const struct runs_screen *screen, struct buf *out);

/* "step 12  reward 0.5132  loss 0.1": a line for a pipe; row `row` of the metrics. */
void runs_screen_line(const struct run_view *view, size_t row, struct buf *out);
