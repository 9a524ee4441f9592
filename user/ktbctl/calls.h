/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of functions in the order in which they began, the inner ones inside. */
#ifndef KTBCTL_CALLS_H
#define KTBCTL_CALLS_H

#include <stdbool.h>

#include "ktb.h"

/* A part of a call: 0, or a negative errno. */
typedef int put_call_fn(void *arg, const struct ktb_sample *sample,
			const struct ktb_graph_call *call, enum ktb_graph_part part);

struct calls {
	put_call_fn *put;
	void *arg;
	struct held_calls *threads;
	unsigned int nr;
};

int calls_add(struct calls *calls, const struct ktb_sample *sample,
	      const struct ktb_graph_call *call);
int calls_flush(struct calls *calls, uint64_t before);
bool calls_held(const struct calls *calls);
void calls_free(struct calls *calls);

#endif /* KTBCTL_CALLS_H */
