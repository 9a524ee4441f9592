/* SPDX-License-Identifier: GPL-2.0-only */
/* What a process may have. */
#ifndef KTBCTL_LIMITS_H
#define KTBCTL_LIMITS_H

void raise_file_limit(void);

#endif /* KTBCTL_LIMITS_H */
