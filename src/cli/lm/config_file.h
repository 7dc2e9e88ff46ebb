/* lm_config_file: the config of a fresh model, from a config.json or a directory with one. */
#ifndef WARPGYM_CLI_LM_CONFIG_FILE_H
#define WARPGYM_CLI_LM_CONFIG_FILE_H

#include "lm/weights/config.h"

NODISCARD int lm_config_file(const char *path, struct lm_config *config, struct err *err);

#endif
