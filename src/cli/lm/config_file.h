/* lm_config_file: the config of a fresh model, from a config.json or a directory with one. */
#pragma once

#include "lm/weights/config.h"

NODISCARD int lm_config_file(const char *path, struct lm_config *config, struct err *err);
