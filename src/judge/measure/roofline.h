/* roofline: the time that no honest call can be faster than, by the device's measured peaks
 * (device/peaks.h) and the bytes and operations of the problem.
 */
#pragma once

#include "judge/measure/trial_state.h"

/* ms; 0: the peaks are not known, or the floor says nothing: a PyTorch reference that comes near it
 * returns a view, which need not be written. `sizes`: of a native problem. */
double roofline_floor_ms(const struct trials *trials, const struct size_set *sizes,
                         double reference_ms);
