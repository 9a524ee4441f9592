/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/ktrace_bridge.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_KTRACE_BRIDGE_GEN_H
#define _LINUX_KTRACE_BRIDGE_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/ktrace_bridge.h>

extern const struct nla_policy ktrace_bridge_session_new_nl_policy[KTB_A_SESSION_MAX_STACK + 1];

extern const struct nla_policy ktrace_bridge_session_del_nl_policy[KTB_A_SESSION_NAME + 1];

extern const struct nla_policy ktrace_bridge_session_set_nl_policy[KTB_A_SESSION_ENABLED + 1];

extern const struct nla_policy ktrace_bridge_session_get_nl_policy[KTB_A_SESSION_NAME + 1];

extern const struct nla_policy ktrace_bridge_event_attach_nl_policy[KTB_A_EVENT_PROGRAM_TEXT + 1];

extern const struct nla_policy ktrace_bridge_event_detach_nl_policy[KTB_A_EVENT_NAME + 1];

extern const struct nla_policy ktrace_bridge_event_set_nl_policy[KTB_A_EVENT_ENABLED + 1];

extern const struct nla_policy ktrace_bridge_event_get_nl_policy[KTB_A_EVENT_PER_CPU + 1];

extern const struct nla_policy ktrace_bridge_source_get_nl_policy[KTB_A_SOURCE_NAME + 1];

/* Ops table for ktrace_bridge */
extern const struct genl_ops ktrace_bridge_nl_ops[9];

int ktrace_bridge_nl_session_new_doit(struct sk_buff *skb,
				      struct genl_info *info);
int ktrace_bridge_nl_session_del_doit(struct sk_buff *skb,
				      struct genl_info *info);
int ktrace_bridge_nl_session_set_doit(struct sk_buff *skb,
				      struct genl_info *info);
int ktrace_bridge_nl_session_get_doit(struct sk_buff *skb,
				      struct genl_info *info);
int ktrace_bridge_nl_session_get_dumpit(struct sk_buff *skb,
					struct netlink_callback *cb);
int ktrace_bridge_nl_event_attach_doit(struct sk_buff *skb,
				       struct genl_info *info);
int ktrace_bridge_nl_event_detach_doit(struct sk_buff *skb,
				       struct genl_info *info);
int ktrace_bridge_nl_event_set_doit(struct sk_buff *skb,
				    struct genl_info *info);
int ktrace_bridge_nl_event_get_doit(struct sk_buff *skb,
				    struct genl_info *info);
int ktrace_bridge_nl_event_get_dumpit(struct sk_buff *skb,
				      struct netlink_callback *cb);
int ktrace_bridge_nl_source_get_doit(struct sk_buff *skb,
				     struct genl_info *info);
int ktrace_bridge_nl_source_get_dumpit(struct sk_buff *skb,
				       struct netlink_callback *cb);

enum {
	KTRACE_BRIDGE_NLGRP_NOTIFY,
};

#endif /* _LINUX_KTRACE_BRIDGE_GEN_H */
