/* SPDX-License-Identifier: GPL-2.0-only */
/* All that may happen. Each has to happen, or the run has failed. */
#ifndef KTB_TORTURE_ACTIONS_H
#define KTB_TORTURE_ACTIONS_H

#define ACTIONS(X)					\
	X(SESSION_NEW,		"session-new")		\
	X(SESSION_DEL,		"session-del")		\
	X(SESSION_ENABLE,	"session-enable")	\
	X(SESSION_DISABLE,	"session-disable")	\
	X(SESSION_WATERMARK,	"session-watermark")	\
	X(SESSION_GET,		"session-get")		\
	X(SESSION_DUMP,		"session-dump")		\
	X(EVENT_ATTACH,		"event-attach")		\
	X(EVENT_ATTACH_PID,	"event-attach-pid")	\
	X(EVENT_ATTACH_TID,	"event-attach-tid")	\
	X(EVENT_ATTACH_CPUS,	"event-attach-cpus")	\
	X(EVENT_ATTACH_CLOCK,	"event-attach-clock")	\
	X(EVENT_ATTACH_FUNCTION, "event-attach-function") \
	X(EVENT_ATTACH_GRAPH,	"event-attach-graph")	\
	X(EVENT_DETACH,		"event-detach")		\
	X(EVENT_ENABLE,		"event-enable")		\
	X(EVENT_DISABLE,	"event-disable")	\
	X(EVENT_GET,		"event-get")		\
	X(EVENT_DUMP,		"event-dump")		\
	X(SOURCE_DUMP,		"source-dump")		\
	X(SOCKET_CLOSE,		"socket-close")		\
	X(NOTICES,		"notices")		\
	X(OWNER_KILLED,		"owner-killed")		\
	X(READER_BIND,		"reader-bind")		\
	X(READER_MAP,		"reader-map")		\
	X(READER_UNMAP,		"reader-unmap")		\
	X(READER_UNMAP_PART,	"reader-unmap-part")	\
	X(READER_PROTECT,	"reader-protect")	\
	X(READER_WALK,		"reader-walk")		\
	X(READER_READ,		"reader-read")		\
	X(READER_STALL,		"reader-stall")		\
	X(READER_POLL,		"reader-poll")		\
	X(READER_EPOLL,		"reader-epoll")		\
	X(READER_IOCTL,		"reader-ioctl")		\
	X(READER_FREEZE,	"reader-freeze")	\
	X(READER_SCRIBBLE,	"reader-scribble")	\
	X(READER_FORK,		"reader-fork")		\
	X(READER_CLOSE,		"reader-close-mapped")	\
	X(READER_KILLED,	"reader-killed")	\
	X(READER_ENDED,		"reader-ended")		\
	X(AUDIT_MAP,		"audit-by-mapping")	\
	X(AUDIT_READ,		"audit-by-read")	\
	X(AUDIT_SNAPSHOT,	"audit-by-snapshot")	\
	X(FAULT_CONTROL,	"fault-control")	\
	X(FAULT_READER,		"fault-reader")		\
	X(FAULT_REFUSED,	"fault-refused")	\
	X(CPU_OFF,		"cpu-off")		\
	X(CPU_ON,		"cpu-on")		\
	X(UNLOAD_REFUSED,	"unload-refused")	\
	X(UNLOAD,		"unload")		\
	X(RELOAD,		"reload")		\
	X(FOREIGN_LOAD,		"foreign-load")		\
	X(FOREIGN_UNLOAD,	"foreign-unload")	\
	X(FOREIGN_ATTACH,	"foreign-attach")	\
	X(FOREIGN_HELD,		"foreign-unload-refused") \
	X(FOREIGN_HIT,		"foreign-hit")		\
	X(PERF_OPEN,		"perf-open")		\
	X(PMU_OPEN,		"pmu-open")		\
	X(PERF_READ,		"perf-read")		\
	X(PERF_CLOSE,		"perf-close")		\
	X(FTRACE_ON,		"ftrace-on")		\
	X(FTRACE_OFF,		"ftrace-off")		\
	X(FTRACE_INSTANCE,	"ftrace-instance")	\
	X(FTRACE_READ,		"ftrace-read")		\
	X(BPF_TRACEPOINT,	"bpf-tracepoint")	\
	X(BPF_RAW,		"bpf-raw-tracepoint")	\
	X(BPF_CLOSE,		"bpf-close")		\
	X(LOAD_SYSCALLS,	"load-syscalls")	\
	X(LOAD_PIPE,		"load-pipe")		\
	X(LOAD_EXEC,		"load-exec")		\
	X(LOAD_PAGES,		"load-pages")		\
	X(LOAD_TIMERS,		"load-timers")		\
	X(LOAD_SIGNALS,		"load-signals")

enum action {
#define X(id, ...) A_##id,
	ACTIONS(X)
#undef X
	NR_ACTIONS
};

#endif
