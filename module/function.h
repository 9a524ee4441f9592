/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_FUNCTION_H
#define _KTB_FUNCTION_H

#include <linux/types.h>

struct ktb_event;
struct netlink_ext_ack;

/* Most names or globs of one event. */
#define KTB_FUNCTIONS_MAX	1024

/**
 * struct ktb_function_options - the functions whose calls are hits
 * @names: globs, those to leave out with a "!" in front; plain names with @graph
 * @nr: how many, 0 for another source
 * @graph: hit at the return of a call, not at its begin
 */
struct ktb_function_options {
	const char **names;
	unsigned int nr;
	bool graph;
};

int ktb_function_check(const struct ktb_function_options *options,
		       struct netlink_ext_ack *extack);
int ktb_function_prepare(struct ktb_event *event,
			 const struct ktb_function_options *options,
			 struct netlink_ext_ack *extack);
int ktb_graph_prepare(struct ktb_event *event,
		      const struct ktb_function_options *options,
		      struct netlink_ext_ack *extack);

#endif /* _KTB_FUNCTION_H */
