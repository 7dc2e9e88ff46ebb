/* log_record: the line of one log record, as text (logfmt) or as JSON.
 *
 * For every value, also a hostile one, the record stays one line, and in JSON one object of valid
 * UTF-8. What does not fit is cut: first the value that is too long, then all fields behind it.
 */
#pragma once

#include "base/log.h"

#include <stddef.h>

struct log_record {
    enum log_format format;
    char text[LOG_RECORD_BYTES];
    size_t used;
    bool full;
};

void log_record_init(struct log_record *record, enum log_format format);
/* `key` is a plain name. */
void log_record_field(struct log_record *record, const char *key, const char *value);
/* The newline is the last byte. */
void log_record_end(struct log_record *record);
