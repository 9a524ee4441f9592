/* SPDX-License-Identifier: GPL-2.0-only */
/* How soon a thread that was woken goes on. */
#ifndef KTBCTL_TURNS_H
#define KTBCTL_TURNS_H

void take_short_turns(void);

#endif /* KTBCTL_TURNS_H */
