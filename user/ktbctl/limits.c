// SPDX-License-Identifier: GPL-2.0-only
/* What a process may have. */
#include <sys/resource.h>

#include "limits.h"

/*
 * As many open files as we may have: there are some per CPU, and with counters per
 * event, too. Not for commands that we run, whose limit is what it was.
 */
void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
