// SPDX-License-Identifier: GPL-2.0-only
#include <trace/events/workqueue.h>

/*
 * workqueue_queue_work looks into structures that kernel/workqueue.c keeps to
 * itself. These stand in for them so that the header compiles; the event is
 * omitted, and nothing that uses them is in the object.
 */
struct worker_pool {
	int cpu;
};

struct workqueue_struct {
	const char *name;
};

struct pool_workqueue {
	struct worker_pool *pool;
	struct workqueue_struct *wq;
};

#define KTB_NATIVE_OMIT_workqueue_queue_work 1

#define KTB_HEADER <trace/events/workqueue.h>
#define KTB_LIST ktb_native_list_workqueue
#include "native_probe.h"
