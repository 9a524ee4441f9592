// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf_core EVENT TYPE: attach the tracepoint of that number through a perf event of
 * the kernel, in place of the module's own probe, which ktbctl would take. To the
 * session "default", which it makes; ktbctl detach takes it away again.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>

#include "ktb.h"

int main(int argc, char **argv)
{
	struct ktb_session_options session_options = {
		.ring_size = 16 << 20,
		.flags = KTB_SESSION_PERSISTENT,
	};
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
	};
	struct ktb_event_options options = { .attr = &attr };
	struct ktb_conn *conn = ktb_conn_new();
	struct ktb_session_info session;

	if (argc != 3 || !conn)
		return 2;
	attr.config = atoi(argv[2]);
	if (ktb_conn_connect(conn) ||
	    ktb_session_new(conn, "default", &session_options, &session) ||
	    ktb_event_attach(conn, session.id, argv[1], &options, NULL)) {
		fprintf(stderr, "perf_core: %s\n", ktb_conn_error(conn));
		return 1;
	}
	ktb_conn_free(conn);
	return 0;
}
