// SPDX-License-Identifier: GPL-2.0-only
/* What every task and every subsystem uses. */

#define KTB_HEADER <trace/events/bpf_test_run.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/capability.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/cgroup.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/context_tracking.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/cpuhp.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/error_report.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/initcall.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/lock.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/maple_tree.h>
#include "native_probe.h"

/* The header sets it only for the one file that defines the tracepoints. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM module
#define KTB_HEADER <trace/events/module.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/notifier.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/osnoise.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/printk.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/rcu.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/rseq.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/signal.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/syscalls.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/task.h>
#include "native_probe.h"
