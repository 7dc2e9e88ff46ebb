/* config_machine: what a configuration should say on this machine, and why. */
#pragma once

#include "base/settings.h"
#include "judge/capabilities.h"

#define CONFIG_CHOICES 32

struct config_machine {
    struct settings_choice choices[CONFIG_CHOICES];
    size_t count;
    struct arena arena; /* holds what they point to */
};

/* `found`: as doctor finds the machine. Looks besides for memory, disks, ports and addresses.
 * Always says something; what cannot be found out keeps its default. */
void config_machine_init(struct config_machine *machine, const struct settings *settings,
                         const struct capabilities *found);
void config_machine_deinit(struct config_machine *machine);
