#include "judge/profile_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_COLUMN 59
#define SPILL_BYTES 8 /* of local memory a thread: below this it is no more than a stack frame */

static double percent_of(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put_head(const struct launch_totals *all, struct buf *out)
{
    double busy_us = all->busy_us / all->calls;
    buf_printf(out, "%.4g us on the GPU in a call (%u calls traced)", busy_us, all->calls);
    if (isfinite(all->call_us) && all->call_us > 0)
        buf_printf(out, "; a call takes %.4g us", all->call_us);
    buf_printf(out,
               "\nyour own kernels: %.1f %% of the GPU's time, %" PRIu64 " of %" PRIu64
               " launches, %u of %u kernels\n",
               percent_of(all->own_time_us, all->time_us), all->own_launches, all->launches,
               all->own_kernels, all->kernels);
    if (all->call_bytes > 0 && busy_us > 0) {
        double per_s = all->call_bytes / busy_us * 1e6;
        buf_printf(out, "memory: a call must move %.4g MB: %.4g GB/s", all->call_bytes * 1e-6,
                   per_s * 1e-9);
        if (all->peak_bytes_per_s > 0)
            buf_printf(out, ", %.0f %% of this GPU's %.4g",
                       percent_of(per_s, all->peak_bytes_per_s), all->peak_bytes_per_s * 1e-9);
        buf_puts(out, "\n");
    }
}

static void put_kernel(const struct launch_totals *all, const struct kernel_share *kernel,
                       int shown, struct buf *out)
{
    char occupancy[64] = "-";
    size_t length = strlen(kernel->name);
    if (isfinite(kernel->occupancy))
        snprintf(occupancy, sizeof occupancy, "%.0f %% (%s)", 100 * kernel->occupancy,
                 kernel->limit);
    buf_printf(out, "%6.1f %%  %9.4g  %8.4g  %-19s  %-5s  %.*s%s\n",
               percent_of(kernel->time_us, all->time_us), kernel->time_us / all->calls,
               (double)kernel->launches / all->calls, occupancy,
               kernel->own       ? "own"
               : kernel->copy    ? "copy"
               : *kernel->source ? "lib"
                                 : "?",
               shown, kernel->name, length > (size_t)shown ? "..." : "");
    if (kernel->copy)
        return;
    buf_printf(out, "%53s grid %u", "", kernel->grid[0]);
    for (int i = 1; i < 3 && (kernel->grid[1] > 1 || kernel->grid[2] > 1); i++)
        buf_printf(out, "x%u", kernel->grid[i]);
    buf_printf(out, ", block %u", kernel->block[0]);
    for (int i = 1; i < 3 && (kernel->block[1] > 1 || kernel->block[2] > 1); i++)
        buf_printf(out, "x%u", kernel->block[i]);
    buf_printf(out, ", %u registers, %" PRIu64 " bytes shared", kernel->registers,
               kernel->shared_bytes);
    if (!kernel->own && *kernel->source)
        buf_printf(out, ", %s", file_name(kernel->source));
    buf_puts(out, "\n");
}

static uint64_t blocks_of(const struct kernel_share *kernel)
{
    return (uint64_t)kernel->grid[0] * kernel->grid[1] * kernel->grid[2];
}

/* What stands out of a kernel of one's own that matters. */
static void put_notes(const struct launch_totals *all, const struct kernel_share *kernel, int shown,
                      struct buf *out)
{
    uint64_t blocks = blocks_of(kernel);
    if (!kernel->own || percent_of(kernel->time_us, all->time_us) < 5)
        return;
    if (kernel->local_bytes >= SPILL_BYTES)
        buf_printf(out,
                   "note: %.*s keeps %u bytes a thread in local memory: spilled registers, "
                   "or arrays whose index is not known when it is compiled\n",
                   shown, kernel->name, kernel->local_bytes);
    if (all->multiprocessors > 0 && blocks < (uint64_t)all->multiprocessors)
        buf_printf(out,
                   "note: %.*s runs %" PRIu64 " blocks on %d multiprocessors: the others "
                   "are idle\n",
                   shown, kernel->name, blocks, all->multiprocessors);
    if (kernel->occupancy < 0.25)
        buf_printf(out, "note: %.*s fills %.0f %% of a multiprocessor, held back by %s\n", shown,
                   kernel->name, 100 * kernel->occupancy, kernel->limit);
}

void profile_text(const struct verdict *verdict, size_t columns, struct buf *out)
{
    int shown = (int)((columns < PROFILE_TEXT_BYTES ? columns : PROFILE_TEXT_BYTES) - NAME_COLUMN);
    const struct launch_totals *all = &verdict->launched;
    if (all->calls == 0)
        return;
    if (all->text) {
        buf_puts(out, all->text);
        return;
    }
    put_head(all, out);
    if (verdict->kernel_count > 0)
        buf_printf(out, "\n%8s  %9s  %8s  %-19s  %-5s  %s\n", "time", "us/call", "launches",
                   "occupancy", "whose", "kernel");
    double shown_us = 0;
    for (uint32_t i = 0; i < verdict->kernel_count; i++) {
        put_kernel(all, &verdict->kernels[i], shown, out);
        shown_us += verdict->kernels[i].time_us;
    }
    if (all->kernels > verdict->kernel_count)
        buf_printf(out, "%6.1f %%  in %u more\n", percent_of(all->time_us - shown_us, all->time_us),
                   all->kernels - verdict->kernel_count);
    for (uint32_t i = 0; i < verdict->kernel_count; i++)
        put_notes(all, &verdict->kernels[i], shown, out);
    double idle = 1 - all->busy_us / all->calls / all->call_us;
    if (isfinite(idle) && idle > 0.25)
        buf_printf(out,
                   "note: for %.0f %% of a call the GPU waits for the host: %.4g launches a "
                   "call, or work of the host between them\n",
                   100 * idle, (double)all->launches / all->calls);
}

void profile_coverage_text(const struct launch_totals *all, char text[PROFILE_COVERAGE_BYTES])
{
    snprintf(text, PROFILE_COVERAGE_BYTES, "%u/%u (%.2f%%)", all->own_kernels, all->kernels,
             percent_of(all->own_kernels, all->kernels));
}

void profile_time_coverage_text(const struct launch_totals *all, char text[PROFILE_COVERAGE_BYTES])
{
    snprintf(text, PROFILE_COVERAGE_BYTES, "%.2fus/%.2fus (%.2f%%)", all->own_time_us, all->time_us,
             percent_of(all->own_time_us, all->time_us));
}
