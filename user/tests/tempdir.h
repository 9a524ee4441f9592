/* SPDX-License-Identifier: GPL-2.0-only */
/* A directory that goes with the test. */
#ifndef TESTS_TEMPDIR_H
#define TESTS_TEMPDIR_H

#include <stdio.h>
#include <stdlib.h>

static char dir[32];

static inline void tempdir_remove(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		perror(command);
}

static inline void tempdir_make(void)
{
	snprintf(dir, sizeof(dir), "/tmp/ktb_test.XXXXXX");
	if (!mkdtemp(dir)) {
		perror(dir);
		exit(1);
	}
	atexit(tempdir_remove);
}

#endif /* TESTS_TEMPDIR_H */
