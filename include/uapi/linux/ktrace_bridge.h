/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/ktrace_bridge.yaml */
/* YNL-GEN uapi header */

#ifndef _UAPI_LINUX_KTRACE_BRIDGE_H
#define _UAPI_LINUX_KTRACE_BRIDGE_H

#define KTRACE_BRIDGE_FAMILY_NAME	"ktrace_bridge"
#define KTRACE_BRIDGE_FAMILY_VERSION	1

#define KTRACE_BRIDGE_NAME_LEN		31
#define KTRACE_BRIDGE_EVENT_NAME_LEN	127

/**
 * enum ktb_session_flags - Options given at session-new.
 * @KTB_SESSION_PERSISTENT: The session lives until session-del or module
 *   unload. Without it, it goes with the socket that made it.
 * @KTB_SESSION_OVERWRITE: Flight recorder: keep the newest records instead of
 *   the oldest; read by snapshot.
 * @KTB_SESSION_DISABLED: Start disabled; session-set enables it.
 * @KTB_SESSION_COUNT_ONLY: No rings; only the ledger counts.
 */
enum ktb_session_flags {
	KTB_SESSION_PERSISTENT = 1,
	KTB_SESSION_OVERWRITE = 2,
	KTB_SESSION_DISABLED = 4,
	KTB_SESSION_COUNT_ONLY = 8,
};

/**
 * enum ktb_path - How hits of an event reach the ring.
 * @KTB_PATH_NATIVE: Own probe on the tracepoint, writing into the ring.
 * @KTB_PATH_PERF: A perf kernel counter and its overflow handler.
 * @KTB_PATH_FUNCTION: A function tracing hook.
 */
enum ktb_path {
	KTB_PATH_NATIVE = 1,
	KTB_PATH_PERF,
	KTB_PATH_FUNCTION,
};

enum ktb_a_session {
	KTB_A_SESSION_ID = 1,
	KTB_A_SESSION_NAME,
	KTB_A_SESSION_FLAGS,
	KTB_A_SESSION_RING_SIZE,
	KTB_A_SESSION_WATERMARK,
	KTB_A_SESSION_ENABLED,
	KTB_A_SESSION_SAMPLE_TYPE,
	KTB_A_SESSION_EVENTS,
	KTB_A_SESSION_OWNER,
	KTB_A_SESSION_READER,
	KTB_A_SESSION_RING,

	__KTB_A_SESSION_MAX,
	KTB_A_SESSION_MAX = (__KTB_A_SESSION_MAX - 1)
};

enum ktb_a_reader {
	KTB_A_READER_CPU = 1,
	KTB_A_READER_PID,
	KTB_A_READER_COMM,

	__KTB_A_READER_MAX,
	KTB_A_READER_MAX = (__KTB_A_READER_MAX - 1)
};

enum ktb_a_ring {
	KTB_A_RING_CPU = 1,
	KTB_A_RING_SIZE,
	KTB_A_RING_HEAD,
	KTB_A_RING_TAIL,
	KTB_A_RING_LOST,
	KTB_A_RING_WAKEUPS,
	KTB_A_RING_ONLINE,

	__KTB_A_RING_MAX,
	KTB_A_RING_MAX = (__KTB_A_RING_MAX - 1)
};

enum ktb_a_event {
	KTB_A_EVENT_SESSION_ID = 1,
	KTB_A_EVENT_ID,
	KTB_A_EVENT_NAME,
	KTB_A_EVENT_TYPE,
	KTB_A_EVENT_PATH,
	KTB_A_EVENT_ENABLED,
	KTB_A_EVENT_PERIOD,
	KTB_A_EVENT_PID,
	KTB_A_EVENT_PER_CPU,
	KTB_A_EVENT_LEDGER,
	KTB_A_EVENT_CPU_LEDGER,

	__KTB_A_EVENT_MAX,
	KTB_A_EVENT_MAX = (__KTB_A_EVENT_MAX - 1)
};

enum ktb_a_ledger {
	KTB_A_LEDGER_CPU = 1,
	KTB_A_LEDGER_HITS,
	KTB_A_LEDGER_WRITTEN,
	KTB_A_LEDGER_FILTERED,
	KTB_A_LEDGER_NOT_SAMPLED,
	KTB_A_LEDGER_LOST_FULL,
	KTB_A_LEDGER_LOST_BIG,
	KTB_A_LEDGER_LOST_RECURSION,
	KTB_A_LEDGER_COUNT,

	__KTB_A_LEDGER_MAX,
	KTB_A_LEDGER_MAX = (__KTB_A_LEDGER_MAX - 1)
};

enum ktb_a_source {
	KTB_A_SOURCE_NAME = 1,
	KTB_A_SOURCE_TYPE,
	KTB_A_SOURCE_PATH,
	KTB_A_SOURCE_SIZE,

	__KTB_A_SOURCE_MAX,
	KTB_A_SOURCE_MAX = (__KTB_A_SOURCE_MAX - 1)
};

enum ktb_a_notice {
	KTB_A_NOTICE_SESSION_ID = 1,
	KTB_A_NOTICE_NAME,
	KTB_A_NOTICE_EVENT_ID,
	KTB_A_NOTICE_CPU,

	__KTB_A_NOTICE_MAX,
	KTB_A_NOTICE_MAX = (__KTB_A_NOTICE_MAX - 1)
};

enum ktb_cmd {
	KTB_CMD_SESSION_NEW = 1,
	KTB_CMD_SESSION_DEL,
	KTB_CMD_SESSION_SET,
	KTB_CMD_SESSION_GET,
	KTB_CMD_EVENT_ATTACH,
	KTB_CMD_EVENT_DETACH,
	KTB_CMD_EVENT_SET,
	KTB_CMD_EVENT_GET,
	KTB_CMD_SOURCE_GET,
	KTB_CMD_SESSION_NEW_NTF,
	KTB_CMD_SESSION_DEL_NTF,
	KTB_CMD_EVENT_ATTACH_NTF,
	KTB_CMD_EVENT_DETACH_NTF,
	KTB_CMD_LOST_NTF,
	KTB_CMD_CPU_ONLINE_NTF,
	KTB_CMD_CPU_OFFLINE_NTF,

	__KTB_CMD_MAX,
	KTB_CMD_MAX = (__KTB_CMD_MAX - 1)
};

#define KTRACE_BRIDGE_MCGRP_NOTIFY	"notify"

#endif /* _UAPI_LINUX_KTRACE_BRIDGE_H */
