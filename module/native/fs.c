// SPDX-License-Identifier: GPL-2.0-only
/* Files and what they are stored on. */

#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/pagemap.h>
#if __has_include(<linux/filelock.h>)
#include <linux/filelock.h>
#endif

#define KTB_HEADER <trace/events/block.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/coredump.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/filelock.h>
#include "native_probe.h"

/* Before filemap.h, since it asks for the guard of that instead of its own. */
#define KTB_HEADER <trace/events/readahead.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/filemap.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/fs_dax.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/fsnotify.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/hugetlbfs.h>
#include "native_probe.h"

#define KTB_OMIT_io_uring_queue_async_work 1
#define KTB_OMIT_io_uring_defer 1
#define KTB_OMIT_io_uring_fail_link 1
#define KTB_OMIT_io_uring_submit_req 1
#define KTB_OMIT_io_uring_submit_sqe 1
#define KTB_OMIT_io_uring_poll_arm 1
#define KTB_OMIT_io_uring_task_add 1
#define KTB_OMIT_io_uring_req_failed 1
#define KTB_HEADER <trace/events/io_uring.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/timestamp.h>
#include "native_probe.h"

/* Mirror the functions of these names, as in sched.c. */
static inline u64 __trace_wb_assign_cgroup(struct bdi_writeback *wb)
{
#ifdef CONFIG_CGROUP_WRITEBACK
	return cgroup_ino(wb->memcg_css->cgroup);
#else
	return 1;
#endif
}

static inline u64 __trace_wbc_assign_cgroup(struct writeback_control *wbc)
{
#ifdef CONFIG_CGROUP_WRITEBACK
	if (wbc->wb)
		return __trace_wb_assign_cgroup(wbc->wb);
#endif
	return 1;
}

#define KTB_OMIT_balance_dirty_pages 1
#define KTB_OMIT_global_dirty_state 1
#define KTB_OMIT_writeback_work_class 1
#define KTB_OMIT_writeback_queue 1
#define KTB_OMIT_writeback_queue_io 1
#define KTB_OMIT_writeback_exec 1
#define KTB_OMIT_writeback_start 1
#define KTB_OMIT_writeback_written 1
#define KTB_OMIT_writeback_wait 1
#define KTB_HEADER <trace/events/writeback.h>
#include "native_probe.h"
