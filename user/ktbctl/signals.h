/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals that end a command. */
#ifndef KTBCTL_SIGNALS_H
#define KTBCTL_SIGNALS_H

#include <signal.h>

void hold_signals(sigset_t *set, sigset_t *before);
int open_signals(int more);

#endif /* KTBCTL_SIGNALS_H */
