#include "base/log_settings.h"

#include "base/setting.h"

#define SECTION log
static const struct setting_row log_rows[] = {
    SETTING_WORD(level, "warn", WORDS_IN(LOG_LEVELS),
                 "Least severity of records on standard error; also WARPGYM_LOG. Services log from "
                 "info on unless it is set"),
    SETTING_WORD(format, "text", WORDS_IN(LOG_FORMATS),
                 "Format of records: text, or one JSON object a line. Services log JSON unless it "
                 "is set"),
};
SETTING_SECTION(log, log_rows);
