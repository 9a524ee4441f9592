// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control channel: the generic netlink family, who may use it, and what it
 * tells on its own. The commands are in netlink_session.c and netlink_event.c,
 * their numbers and policies in generated/, made from
 * Documentation/netlink/specs/ktrace_bridge.yaml. Process context.
 */

#include <linux/capability.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/notifier.h>
#include <linux/security.h>
#include <net/net_namespace.h>

#include "generated/netlink.h"
#include "netlink.h"
#include "session.h"

static const struct genl_multicast_group ktb_genl_groups[] = {
	[KTRACE_BRIDGE_NLGRP_NOTIFY] = {
		.name	= KTRACE_BRIDGE_MCGRP_NOTIFY,
		.flags	= GENL_MCAST_CAP_SYS_ADMIN,
	},
};

/* Without netnsok: the initial network namespace only. */
struct genl_family ktb_genl_family __ro_after_init = {
	.name		= KTRACE_BRIDGE_FAMILY_NAME,
	.version	= KTRACE_BRIDGE_FAMILY_VERSION,
	.module		= THIS_MODULE,
	.parallel_ops	= true,
	.ops		= ktrace_bridge_nl_ops,
	.n_ops		= ARRAY_SIZE(ktrace_bridge_nl_ops),
	.mcgrps		= ktb_genl_groups,
	.n_mcgrps	= ARRAY_SIZE(ktb_genl_groups),
};

/**
 * ktb_nl_allow - whether the sender may use the control channel
 * @skb: the request
 * @extack: takes the reason of a refusal
 *
 * Return: 0, or -EPERM.
 */
int ktb_nl_allow(struct sk_buff *skb, struct netlink_ext_ack *extack)
{
	if (!netlink_capable(skb, CAP_PERFMON) &&
	    !netlink_capable(skb, CAP_SYS_ADMIN)) {
		NL_SET_ERR_MSG(extack, "needs CAP_PERFMON or CAP_SYS_ADMIN");
		return -EPERM;
	}
	if (security_locked_down(LOCKDOWN_PERF)) {
		NL_SET_ERR_MSG(extack, "the kernel is locked down");
		return -EPERM;
	}
	return 0;
}

/**
 * ktb_nl_find_session - the session that a request names
 * @id: its number, or NULL
 * @name: its name, or NULL
 * @extack: takes the reason of a refusal
 *
 * Under ktb_lock.
 *
 * Return: the session, or
 * * ERR_PTR(-EINVAL) - neither was given
 * * ERR_PTR(-ENOENT) - no such session
 */
struct ktb_session *ktb_nl_find_session(struct nlattr *id, struct nlattr *name,
					struct netlink_ext_ack *extack)
{
	struct ktb_session *session = NULL;

	if (!id && !name) {
		NL_SET_ERR_MSG(extack, "name the session by id or name");
		return ERR_PTR(-EINVAL);
	}
	if (!id || nla_get_u32(id))
		session = ktb_session_find(id ? nla_get_u32(id) : 0,
					   ktb_nl_string(name));
	if (!session) {
		NL_SET_ERR_MSG_ATTR(extack, id ?: name, "no such session");
		return ERR_PTR(-ENOENT);
	}
	return session;
}

/**
 * ktb_nl_put_u64 - add a 64-bit attribute
 * @skb: message
 * @attr: attribute
 * @value: value
 *
 * Not aligned: the spec has no padding attribute, readers copy.
 *
 * Return: 0, or -EMSGSIZE.
 */
int ktb_nl_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put(skb, attr, sizeof(value), &value);
}

/**
 * ktb_nl_reply_new - begin the reply to a do request
 * @info: the request
 * @size: bytes that its attributes will take
 * @header: set, for ktb_nl_reply_send()
 *
 * Return: the message, or NULL when out of memory.
 */
struct sk_buff *ktb_nl_reply_new(struct genl_info *info, size_t size, void **header)
{
	struct sk_buff *skb = genlmsg_new(size, GFP_KERNEL);

	if (!skb)
		return NULL;
	*header = genlmsg_put_reply(skb, info, &ktb_genl_family, 0,
				    info->genlhdr->cmd);
	if (!*header) {
		nlmsg_free(skb);
		return NULL;
	}
	return skb;
}

/**
 * ktb_nl_reply_send - end the reply and send it, or drop it
 * @skb: from ktb_nl_reply_new()
 * @header: likewise
 * @info: the request
 * @err: how filling it went
 *
 * A command that succeeded stays so when its reply cannot be delivered: a
 * receiver that lets its queue run over has only itself to blame.
 *
 * Return: @err.
 */
int ktb_nl_reply_send(struct sk_buff *skb, void *header, struct genl_info *info,
		      int err)
{
	if (err) {
		nlmsg_free(skb);
		return err;
	}
	genlmsg_end(skb, header);
	genlmsg_reply(skb, info);
	return 0;
}

static const u8 ktb_nl_notices[] = {
	[KTB_NOTICE_SESSION_NEW]	= KTB_CMD_SESSION_NEW_NTF,
	[KTB_NOTICE_SESSION_DEL]	= KTB_CMD_SESSION_DEL_NTF,
	[KTB_NOTICE_EVENT_ATTACH]	= KTB_CMD_EVENT_ATTACH_NTF,
	[KTB_NOTICE_EVENT_DETACH]	= KTB_CMD_EVENT_DETACH_NTF,
	[KTB_NOTICE_LOST]		= KTB_CMD_LOST_NTF,
	[KTB_NOTICE_CPU_ONLINE]		= KTB_CMD_CPU_ONLINE_NTF,
	[KTB_NOTICE_CPU_OFFLINE]	= KTB_CMD_CPU_OFFLINE_NTF,
};

static int ktb_nl_put_notice(struct sk_buff *skb, enum ktb_notice_kind kind,
			     const struct ktb_notice *notice)
{
	if (nla_put_u32(skb, KTB_A_NOTICE_SESSION_ID, notice->session->id))
		return -EMSGSIZE;

	switch (kind) {
	case KTB_NOTICE_SESSION_NEW:
	case KTB_NOTICE_SESSION_DEL:
		return nla_put_string(skb, KTB_A_NOTICE_NAME, notice->session->name);
	case KTB_NOTICE_EVENT_ATTACH:
	case KTB_NOTICE_EVENT_DETACH:
		return nla_put_string(skb, KTB_A_NOTICE_NAME, notice->event->name) ?:
		       ktb_nl_put_u64(skb, KTB_A_NOTICE_EVENT_ID, notice->event->id);
	default:
		return nla_put_u32(skb, KTB_A_NOTICE_CPU, notice->cpu);
	}
}

/* Tell the group. Nobody listening, or no memory to tell, is no error. */
static int ktb_nl_notify(struct notifier_block *block, unsigned long kind, void *data)
{
	const struct ktb_notice *notice = data;
	struct sk_buff *skb;
	void *header;

	if (!genl_has_listeners(&ktb_genl_family, &init_net,
				KTRACE_BRIDGE_NLGRP_NOTIFY))
		return NOTIFY_DONE;

	skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return NOTIFY_DONE;
	header = genlmsg_put(skb, 0, 0, &ktb_genl_family, 0, ktb_nl_notices[kind]);
	if (!header || ktb_nl_put_notice(skb, kind, notice)) {
		nlmsg_free(skb);
		return NOTIFY_DONE;
	}
	genlmsg_end(skb, header);
	genlmsg_multicast(&ktb_genl_family, skb, 0, KTRACE_BRIDGE_NLGRP_NOTIFY,
			  GFP_KERNEL);
	return NOTIFY_OK;
}

static struct notifier_block ktb_nl_notice_block = {
	.notifier_call = ktb_nl_notify,
};

/* A socket closed, be it that its owner was killed: its sessions go with it. */
static int ktb_nl_released(struct notifier_block *block, unsigned long action,
			   void *data)
{
	const struct netlink_notify *notify = data;

	if (action == NETLINK_URELEASE && notify->protocol == NETLINK_GENERIC &&
	    net_eq(notify->net, &init_net))
		ktb_sessions_destroy_owned();
	return NOTIFY_DONE;
}

static struct notifier_block ktb_nl_release_block = {
	.notifier_call = ktb_nl_released,
};

/**
 * ktb_netlink_init - open the control channel
 *
 * Return: 0 or an error of the netlink core.
 */
int ktb_netlink_init(void)
{
	int err;

	err = netlink_register_notifier(&ktb_nl_release_block);
	if (err)
		return err;
	err = blocking_notifier_chain_register(&ktb_notices, &ktb_nl_notice_block);
	if (err)
		goto err_unregister_notifier;
	err = genl_register_family(&ktb_genl_family);
	if (err)
		goto err_unregister_notices;
	return 0;

err_unregister_notices:
	blocking_notifier_chain_unregister(&ktb_notices, &ktb_nl_notice_block);
err_unregister_notifier:
	netlink_unregister_notifier(&ktb_nl_release_block);
	return err;
}

/** ktb_netlink_exit - close the control channel; no request runs afterwards */
void ktb_netlink_exit(void)
{
	blocking_notifier_chain_unregister(&ktb_notices, &ktb_nl_notice_block);
	genl_unregister_family(&ktb_genl_family);
	netlink_unregister_notifier(&ktb_nl_release_block);
}
