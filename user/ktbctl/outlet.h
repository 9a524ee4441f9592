/* SPDX-License-Identifier: GPL-2.0-only */
/* stdout of a command that is not to hang on who reads it. */
#ifndef KTBCTL_OUTLET_H
#define KTBCTL_OUTLET_H

#include <signal.h>
#include <stdbool.h>

/* How it learns of signals. */
struct outlet_signals {
	sigset_t waiting; /* what stays blocked while it waits */
	int fd; /* what is blocked comes out of this one, or -1 */
	bool (*is_stopped)(void *arg); /* whether one has come, once all of @fd is read */
	void *arg;
};

int outlet_open(const struct outlet_signals *signals);
bool outlet_gave_up(void);

#endif /* KTBCTL_OUTLET_H */
