// SPDX-License-Identifier: GPL-2.0-only
/* The command on sources: which events have a native probe. Process context. */

#include "compat.h"
#include "generated/netlink.h"
#include "native/native.h"
#include "netlink.h"
#include "tracepoint.h"

static int ktb_nl_put_source(struct sk_buff *skb, const struct ktb_native *native)
{
	struct tracepoint *tp;
	u16 type;

	if (nla_put_string(skb, KTB_A_SOURCE_NAME, native->name) ||
	    nla_put_u32(skb, KTB_A_SOURCE_PATH, KTB_PATH_NATIVE) ||
	    nla_put_u32(skb, KTB_A_SOURCE_SIZE, native->size))
		return -EMSGSIZE;
	/* One of a module does not go through its native probe. */
	if (!ktb_tracepoint_find(native->name, &tp, &type) && tp &&
	    nla_put_u32(skb, KTB_A_SOURCE_TYPE, type))
		return -EMSGSIZE;
	return 0;
}

int ktrace_bridge_nl_source_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	const char *name = ktb_nl_string(info->attrs[KTB_A_SOURCE_NAME]);
	const struct ktb_native *native;
	struct sk_buff *reply;
	void *header;
	int err = ktb_nl_allow(skb, info->extack);

	if (err)
		return err;
	if (!name) {
		GENL_SET_ERR_MSG(info, "name: missing, give system:event");
		return -EINVAL;
	}
	native = ktb_native_find(name);
	if (!native) {
		GENL_SET_ERR_MSG(info, "name: no native event of this name");
		return -ENOENT;
	}
	reply = ktb_nl_reply_new(info, NLMSG_DEFAULT_SIZE, &header);
	if (!reply) {
		GENL_SET_ERR_MSG(info, "out of memory");
		return -ENOMEM;
	}
	return ktb_nl_reply_send(reply, header, info,
				 ktb_nl_put_source(reply, native));
}

/* Position: args[0], the number of sources passed. The table never changes. */
int ktrace_bridge_nl_source_get_dumpit(struct sk_buff *skb,
				       struct netlink_callback *cb)
{
	const char *name = ktb_nl_string(ktb_dump_attrs(cb)[KTB_A_SOURCE_NAME]);
	int err = ktb_nl_allow(cb->skb, cb->extack);
	const struct ktb_native *native;
	void *header;

	if (err)
		return err;
	for (native = ktb_natives + cb->args[0]; native < ktb_natives_end; native++) {
		if (name && strcmp(name, native->name))
			continue;
		header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				     cb->nlh->nlmsg_seq, &ktb_genl_family,
				     NLM_F_MULTI, KTB_CMD_SOURCE_GET);
		if (!header)
			break;
		if (ktb_nl_put_source(skb, native)) {
			genlmsg_cancel(skb, header);
			break;
		}
		genlmsg_end(skb, header);
	}
	cb->args[0] = native - ktb_natives;
	return skb->len;
}
