/* One line of doctor's report. */
#include "cli/doctor.h"

#include "cli/table.h"

void doctor_line(struct report *report, bool good, const char *name, const char *text)
{
    buf_puts(report->out, "  ");
    style_puts(report->out, report->colour, good ? STYLE_GOOD : STYLE_WARN, good ? "ok  " : "--  ");
    buf_printf(report->out, "%-24s %s\n", name, text);
}
