/* SPDX-License-Identifier: GPL-2.0-only */
/* stdout of a command that is not to hang on who reads it. */
#ifndef KTBCTL_OUTLET_H
#define KTBCTL_OUTLET_H

#include <signal.h>
#include <stdbool.h>

int outlet_open(const sigset_t *waiting, bool (*is_stopped)(void));
bool outlet_gave_up(void);

#endif /* KTBCTL_OUTLET_H */
