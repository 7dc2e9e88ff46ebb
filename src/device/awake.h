/* awake: keeps processors from halting while something is timed.
 *
 * A processor with nothing to do halts, and waking it takes a microsecond on bare metal, more from
 * its deeper states, and 50 to 500 on a virtual machine whose host has scheduled another guest.
 * Threads of a candidate would be charged for that: a loop over two threads that takes 60 us was
 * measured at 60 to 600. A process that holds /dev/cpu_dma_latency bounds the wake-up latency
 * (Linux, Documentation/power/pm_qos_interface); with 0 an idle processor polls.
 * That ends with the holder, however it ends. Hold it from a little before: a host gives a virtual
 * processor back to one that has been busy for a while. Only root may, elsewhere nothing happens.
 */
#pragma once

/* What awake_end takes; -1: this machine does not let us. Any number may be held at once. */
int awake_begin(void);
void awake_end(int awake);
