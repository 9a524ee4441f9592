/* SPDX-License-Identifier: GPL-2.0-only */
/* A command that is run while something is recorded. */
#ifndef KTBCTL_WORKLOAD_H
#define KTBCTL_WORKLOAD_H

#include <stdbool.h>
#include <sys/types.h>

struct workload {
	const char *name;
	pid_t pid; /* 0: there is none */
	int go; /* written to, it starts */
	int failed; /* its errno comes out, if it cannot be started */
	bool ended;
	int status; /* as waitpid(2) has it */
};

int workload_prepare(struct workload *workload, char **argv);
int workload_start(struct workload *workload);
void workload_poll(struct workload *workload);
int workload_end(struct workload *workload);

#endif /* KTBCTL_WORKLOAD_H */
