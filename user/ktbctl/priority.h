/* SPDX-License-Identifier: GPL-2.0-only */
/* Who goes first: what reads a ring, or what fills it. */
#ifndef KTBCTL_PRIORITY_H
#define KTBCTL_PRIORITY_H

void take_priority(void);

#endif /* KTBCTL_PRIORITY_H */
