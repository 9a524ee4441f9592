// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/ktrace_bridge.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "netlink.h"

#include <uapi/linux/ktrace_bridge.h>

/* KTB_CMD_SESSION_NEW - do */
const struct nla_policy ktrace_bridge_session_new_nl_policy[KTB_A_SESSION_MAX_STACK + 1] = {
	[KTB_A_SESSION_NAME] = { .type = NLA_NUL_STRING, .len = KTRACE_BRIDGE_NAME_LEN, },
	[KTB_A_SESSION_FLAGS] = { .type = NLA_U32, },
	[KTB_A_SESSION_RING_SIZE] = { .type = NLA_U64, },
	[KTB_A_SESSION_WATERMARK] = { .type = NLA_U32, },
	[KTB_A_SESSION_MAX_STACK] = { .type = NLA_U32, },
};

/* KTB_CMD_SESSION_DEL - do */
const struct nla_policy ktrace_bridge_session_del_nl_policy[KTB_A_SESSION_NAME + 1] = {
	[KTB_A_SESSION_ID] = { .type = NLA_U32, },
	[KTB_A_SESSION_NAME] = { .type = NLA_NUL_STRING, .len = KTRACE_BRIDGE_NAME_LEN, },
};

/* KTB_CMD_SESSION_SET - do */
const struct nla_policy ktrace_bridge_session_set_nl_policy[KTB_A_SESSION_ENABLED + 1] = {
	[KTB_A_SESSION_ID] = { .type = NLA_U32, },
	[KTB_A_SESSION_NAME] = { .type = NLA_NUL_STRING, .len = KTRACE_BRIDGE_NAME_LEN, },
	[KTB_A_SESSION_ENABLED] = { .type = NLA_U8, },
	[KTB_A_SESSION_WATERMARK] = { .type = NLA_U32, },
};

/* KTB_CMD_SESSION_GET - do */
const struct nla_policy ktrace_bridge_session_get_nl_policy[KTB_A_SESSION_NAME + 1] = {
	[KTB_A_SESSION_ID] = { .type = NLA_U32, },
	[KTB_A_SESSION_NAME] = { .type = NLA_NUL_STRING, .len = KTRACE_BRIDGE_NAME_LEN, },
};

/* KTB_CMD_EVENT_ATTACH - do */
const struct nla_policy ktrace_bridge_event_attach_nl_policy[KTB_A_EVENT_PROGRAM_TEXT + 1] = {
	[KTB_A_EVENT_SESSION_ID] = { .type = NLA_U32, },
	[KTB_A_EVENT_NAME] = { .type = NLA_NUL_STRING, .len = KTRACE_BRIDGE_EVENT_NAME_LEN, },
	[KTB_A_EVENT_ENABLED] = { .type = NLA_U8, },
	[KTB_A_EVENT_PERIOD] = { .type = NLA_U64, },
	[KTB_A_EVENT_PID] = { .type = NLA_U32, },
	[KTB_A_EVENT_TID] = { .type = NLA_U32, },
	[KTB_A_EVENT_INHERIT] = { .type = NLA_FLAG, },
	[KTB_A_EVENT_CPUS] = { .type = NLA_NUL_STRING, .len = KTRACE_BRIDGE_CPUS_LEN, },
	[KTB_A_EVENT_PERF_ATTR] = { .type = NLA_BINARY, },
	[KTB_A_EVENT_FUNCTION] = { .type = NLA_STRING, .len = KTRACE_BRIDGE_FUNCTION_LEN, },
	[KTB_A_EVENT_GRAPH] = { .type = NLA_FLAG, },
	[KTB_A_EVENT_CGROUP] = { .type = NLA_NUL_STRING, .len = KTRACE_BRIDGE_CGROUP_LEN, },
	[KTB_A_EVENT_PROGRAM] = { .type = NLA_S32, },
	[KTB_A_EVENT_PROGRAM_TEXT] = { .type = NLA_NUL_STRING, .len = KTRACE_BRIDGE_PROGRAM_TEXT_LEN, },
};

/* KTB_CMD_EVENT_DETACH - do */
const struct nla_policy ktrace_bridge_event_detach_nl_policy[KTB_A_EVENT_NAME + 1] = {
	[KTB_A_EVENT_SESSION_ID] = { .type = NLA_U32, },
	[KTB_A_EVENT_ID] = { .type = NLA_U64, },
	[KTB_A_EVENT_NAME] = { .type = NLA_NUL_STRING, .len = KTRACE_BRIDGE_EVENT_NAME_LEN, },
};

/* KTB_CMD_EVENT_SET - do */
const struct nla_policy ktrace_bridge_event_set_nl_policy[KTB_A_EVENT_ENABLED + 1] = {
	[KTB_A_EVENT_SESSION_ID] = { .type = NLA_U32, },
	[KTB_A_EVENT_ID] = { .type = NLA_U64, },
	[KTB_A_EVENT_NAME] = { .type = NLA_NUL_STRING, .len = KTRACE_BRIDGE_EVENT_NAME_LEN, },
	[KTB_A_EVENT_ENABLED] = { .type = NLA_U8, },
};

/* KTB_CMD_EVENT_GET - do */
const struct nla_policy ktrace_bridge_event_get_nl_policy[KTB_A_EVENT_PER_CPU + 1] = {
	[KTB_A_EVENT_SESSION_ID] = { .type = NLA_U32, },
	[KTB_A_EVENT_ID] = { .type = NLA_U64, },
	[KTB_A_EVENT_NAME] = { .type = NLA_NUL_STRING, .len = KTRACE_BRIDGE_EVENT_NAME_LEN, },
	[KTB_A_EVENT_PER_CPU] = { .type = NLA_FLAG, },
};

/* KTB_CMD_SOURCE_GET - do */
const struct nla_policy ktrace_bridge_source_get_nl_policy[KTB_A_SOURCE_NAME + 1] = {
	[KTB_A_SOURCE_NAME] = { .type = NLA_NUL_STRING, .len = KTRACE_BRIDGE_EVENT_NAME_LEN, },
};

/* Ops table for ktrace_bridge */
const struct genl_ops ktrace_bridge_nl_ops[9] = {
	{
		.cmd		= KTB_CMD_SESSION_NEW,
		.doit		= ktrace_bridge_nl_session_new_doit,
		.policy		= ktrace_bridge_session_new_nl_policy,
		.maxattr	= KTB_A_SESSION_MAX_STACK,
	},
	{
		.cmd		= KTB_CMD_SESSION_DEL,
		.doit		= ktrace_bridge_nl_session_del_doit,
		.policy		= ktrace_bridge_session_del_nl_policy,
		.maxattr	= KTB_A_SESSION_NAME,
	},
	{
		.cmd		= KTB_CMD_SESSION_SET,
		.doit		= ktrace_bridge_nl_session_set_doit,
		.policy		= ktrace_bridge_session_set_nl_policy,
		.maxattr	= KTB_A_SESSION_ENABLED,
	},
	{
		.cmd		= KTB_CMD_SESSION_GET,
		.doit		= ktrace_bridge_nl_session_get_doit,
		.dumpit		= ktrace_bridge_nl_session_get_dumpit,
		.policy		= ktrace_bridge_session_get_nl_policy,
		.maxattr	= KTB_A_SESSION_NAME,
	},
	{
		.cmd		= KTB_CMD_EVENT_ATTACH,
		.doit		= ktrace_bridge_nl_event_attach_doit,
		.policy		= ktrace_bridge_event_attach_nl_policy,
		.maxattr	= KTB_A_EVENT_PROGRAM_TEXT,
	},
	{
		.cmd		= KTB_CMD_EVENT_DETACH,
		.doit		= ktrace_bridge_nl_event_detach_doit,
		.policy		= ktrace_bridge_event_detach_nl_policy,
		.maxattr	= KTB_A_EVENT_NAME,
	},
	{
		.cmd		= KTB_CMD_EVENT_SET,
		.doit		= ktrace_bridge_nl_event_set_doit,
		.policy		= ktrace_bridge_event_set_nl_policy,
		.maxattr	= KTB_A_EVENT_ENABLED,
	},
	{
		.cmd		= KTB_CMD_EVENT_GET,
		.doit		= ktrace_bridge_nl_event_get_doit,
		.dumpit		= ktrace_bridge_nl_event_get_dumpit,
		.policy		= ktrace_bridge_event_get_nl_policy,
		.maxattr	= KTB_A_EVENT_PER_CPU,
	},
	{
		.cmd		= KTB_CMD_SOURCE_GET,
		.doit		= ktrace_bridge_nl_source_get_doit,
		.dumpit		= ktrace_bridge_nl_source_get_dumpit,
		.policy		= ktrace_bridge_source_get_nl_policy,
		.maxattr	= KTB_A_SOURCE_NAME,
	},
};

static const struct genl_multicast_group ktrace_bridge_nl_mcgrps[] = {
	[KTRACE_BRIDGE_NLGRP_NOTIFY] = { "notify", },
};
