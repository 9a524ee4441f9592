// SPDX-License-Identifier: GPL-2.0-only
/* The commands on sessions. Process context. */

#include <linux/cpu.h>

#include "compat.h"
#include "generated/netlink.h"
#include "netlink.h"
#include "session.h"
#include "session_rings.h"
#include "submit.h"

/* Upper bounds of what one nest takes in a message. */
#define KTB_NL_RING_SIZE	128
#define KTB_NL_READER_SIZE	64

static int ktb_nl_put_ring(struct sk_buff *skb, const struct ktb_ring *ring)
{
	struct nlattr *nest = nla_nest_start(skb, KTB_A_SESSION_RING);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, KTB_A_RING_CPU, ring->cpu) ||
	    ktb_nl_put_u64(skb, KTB_A_RING_SIZE, ring->size) ||
	    ktb_nl_put_u64(skb, KTB_A_RING_HEAD, READ_ONCE(ring->published)) ||
	    ktb_nl_put_u64(skb, KTB_A_RING_TAIL, READ_ONCE(ring->page->data_tail)) ||
	    ktb_nl_put_u64(skb, KTB_A_RING_LOST, local_read(&ring->lost)) ||
	    ktb_nl_put_u64(skb, KTB_A_RING_WAKEUPS, atomic_long_read(&ring->wakeups)) ||
	    nla_put_u8(skb, KTB_A_RING_ONLINE, cpu_online(ring->cpu))) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int ktb_nl_put_reader(struct sk_buff *skb, const struct ktb_reader *reader)
{
	struct nlattr *nest = nla_nest_start(skb, KTB_A_SESSION_READER);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_s32(skb, KTB_A_READER_CPU, reader->cpu) ||
	    nla_put_u32(skb, KTB_A_READER_PID, reader->pid) ||
	    nla_put_string(skb, KTB_A_READER_COMM, reader->comm)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int ktb_nl_put_session_head(struct sk_buff *skb,
				   const struct ktb_session *session)
{
	if (nla_put_u32(skb, KTB_A_SESSION_ID, session->id) ||
	    nla_put_string(skb, KTB_A_SESSION_NAME, session->name) ||
	    nla_put_u32(skb, KTB_A_SESSION_FLAGS, session->flags) ||
	    ktb_nl_put_u64(skb, KTB_A_SESSION_RING_SIZE, session->ring_size) ||
	    nla_put_u32(skb, KTB_A_SESSION_WATERMARK, session->watermark) ||
	    nla_put_u8(skb, KTB_A_SESSION_ENABLED, session->enabled) ||
	    ktb_nl_put_u64(skb, KTB_A_SESSION_SAMPLE_TYPE,
			   ktb_sample_type(session->max_stack)) ||
	    nla_put_u32(skb, KTB_A_SESSION_EVENTS, session->nr_events))
		return -EMSGSIZE;
	if (session->max_stack &&
	    nla_put_u32(skb, KTB_A_SESSION_MAX_STACK, session->max_stack))
		return -EMSGSIZE;
	if (session->owner &&
	    nla_put_u32(skb, KTB_A_SESSION_OWNER, session->owner_pid))
		return -EMSGSIZE;
	return 0;
}

/*
 * One message about a session: its rings and readers from position *@at on, the
 * number of the CPU and after all CPUs that of the reader, as many as fit. *@at
 * is moved, to 0 at the end; -EMSGSIZE when the message had no room for any.
 */
static int ktb_nl_put_session(struct sk_buff *skb, struct ktb_session *session,
			      unsigned long *at)
{
	unsigned long from = *at, pos = nr_cpu_ids;
	struct ktb_reader *reader;
	struct ktb_ring *ring;
	int err;

	err = ktb_nl_put_session_head(skb, session);
	if (err)
		return err;

	for (; *at < nr_cpu_ids; ++*at) {
		ring = ktb_session_ring(session, *at);
		if (ring && ktb_nl_put_ring(skb, ring))
			return *at > from ? 0 : -EMSGSIZE;
	}
	list_for_each_entry(reader, &session->readers, node) {
		if (pos++ < *at)
			continue;
		if (ktb_nl_put_reader(skb, reader))
			return *at > from ? 0 : -EMSGSIZE;
		*at = pos;
	}
	*at = 0;
	return 0;
}

static size_t ktb_nl_session_size(void)
{
	return NLMSG_DEFAULT_SIZE +
	       num_possible_cpus() * (KTB_NL_RING_SIZE + KTB_NL_READER_SIZE);
}

static int ktb_nl_session_new(struct sk_buff *request, struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	struct ktb_session_options options = {
		.name		= ktb_nl_string(attrs[KTB_A_SESSION_NAME]),
		.ring_size	= KTB_RING_SIZE_DEFAULT,
		.owner		= NETLINK_CB(request).sk,
	};
	struct ktb_session *session;
	unsigned long at = 0;
	struct sk_buff *skb;
	void *header;

	if (!options.name) {
		GENL_SET_ERR_MSG(info, "name: a session needs one");
		return -EINVAL;
	}
	if (attrs[KTB_A_SESSION_FLAGS])
		options.flags = nla_get_u32(attrs[KTB_A_SESSION_FLAGS]);
	if (attrs[KTB_A_SESSION_RING_SIZE])
		options.ring_size = nla_get_u64(attrs[KTB_A_SESSION_RING_SIZE]);
	if (attrs[KTB_A_SESSION_WATERMARK])
		options.watermark = nla_get_u32(attrs[KTB_A_SESSION_WATERMARK]);
	if (attrs[KTB_A_SESSION_MAX_STACK]) {
		options.max_stack = nla_get_u32(attrs[KTB_A_SESSION_MAX_STACK]);
		if (!options.max_stack) {
			GENL_SET_ERR_MSG(info, "max-stack: must be at least 1 frame");
			return -EINVAL;
		}
	}

	skb = ktb_nl_reply_new(info, ktb_nl_session_size(), &header);
	if (!skb) {
		GENL_SET_ERR_MSG(info, "out of memory");
		return -ENOMEM;
	}
	session = ktb_session_create(&options, info->extack);
	if (IS_ERR(session))
		return ktb_nl_reply_send(skb, header, info, PTR_ERR(session));
	return ktb_nl_reply_send(skb, header, info,
				 ktb_nl_put_session(skb, session, &at));
}

int ktrace_bridge_nl_session_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	int err = ktb_nl_allow(skb, info->extack);

	if (err)
		return err;
	mutex_lock(&ktb_lock);
	err = ktb_nl_session_new(skb, info);
	mutex_unlock(&ktb_lock);
	return err;
}

static struct ktb_session *ktb_nl_info_session(struct genl_info *info)
{
	return ktb_nl_find_session(info->attrs[KTB_A_SESSION_ID],
				   info->attrs[KTB_A_SESSION_NAME], info->extack);
}

int ktrace_bridge_nl_session_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ktb_session *session;
	int err = ktb_nl_allow(skb, info->extack);

	if (err)
		return err;
	mutex_lock(&ktb_lock);
	session = ktb_nl_info_session(info);
	if (IS_ERR(session))
		err = PTR_ERR(session);
	else
		ktb_session_destroy(session);
	mutex_unlock(&ktb_lock);
	return err;
}

static int ktb_nl_session_set(struct genl_info *info)
{
	struct nlattr *enabled = info->attrs[KTB_A_SESSION_ENABLED];
	struct nlattr *watermark = info->attrs[KTB_A_SESSION_WATERMARK];
	struct ktb_session *session = ktb_nl_info_session(info);

	if (IS_ERR(session))
		return PTR_ERR(session);
	if (!enabled && !watermark) {
		GENL_SET_ERR_MSG(info, "nothing to set: give enabled or watermark");
		return -EINVAL;
	}
	if (enabled && nla_get_u8(enabled) > 1) {
		NL_SET_ERR_MSG_ATTR(info->extack, enabled, "enabled: must be 0 or 1");
		return -EINVAL;
	}
	if (watermark)
		ktb_session_set_watermark(session, nla_get_u32(watermark));
	if (enabled)
		ktb_session_enable(session, nla_get_u8(enabled));
	return 0;
}

int ktrace_bridge_nl_session_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	int err = ktb_nl_allow(skb, info->extack);

	if (err)
		return err;
	mutex_lock(&ktb_lock);
	err = ktb_nl_session_set(info);
	mutex_unlock(&ktb_lock);
	return err;
}

int ktrace_bridge_nl_session_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ktb_session *session;
	unsigned long at = 0;
	struct sk_buff *reply;
	void *header;
	int err = ktb_nl_allow(skb, info->extack);

	if (err)
		return err;
	reply = ktb_nl_reply_new(info, ktb_nl_session_size(), &header);
	if (!reply) {
		GENL_SET_ERR_MSG(info, "out of memory");
		return -ENOMEM;
	}
	mutex_lock(&ktb_lock);
	session = ktb_nl_info_session(info);
	err = IS_ERR(session) ? PTR_ERR(session) :
				ktb_nl_put_session(reply, session, &at);
	mutex_unlock(&ktb_lock);
	return ktb_nl_reply_send(reply, header, info, err);
}

/* One message of a dump; *@at as in ktb_nl_put_session(). */
static int ktb_nl_dump_session(struct sk_buff *skb, struct netlink_callback *cb,
			       struct ktb_session *session, unsigned long *at)
{
	void *header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				   cb->nlh->nlmsg_seq, &ktb_genl_family,
				   NLM_F_MULTI, KTB_CMD_SESSION_GET);

	if (!header)
		return -EMSGSIZE;
	if (ktb_nl_put_session(skb, session, at)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

/*
 * A session whose rings do not fit into one message goes on in the next, under
 * the same id. Position: args[0], the last session told in full; args[1], how
 * far into the one with the id args[2].
 */
int ktrace_bridge_nl_session_get_dumpit(struct sk_buff *skb,
					struct netlink_callback *cb)
{
	struct nlattr **attrs = ktb_dump_attrs(cb);
	struct nlattr *id = attrs[KTB_A_SESSION_ID];
	const char *name = ktb_nl_string(attrs[KTB_A_SESSION_NAME]);
	struct ktb_session *session;
	int err = ktb_nl_allow(cb->skb, cb->extack);

	if (err)
		return err;
	mutex_lock(&ktb_lock);
	list_for_each_entry(session, &ktb_sessions, node) {
		unsigned long at = session->id == cb->args[2] ? cb->args[1] : 0;

		if (session->id <= cb->args[0] ||
		    (id && nla_get_u32(id) != session->id) ||
		    (name && strcmp(name, session->name)))
			continue;
		do {
			err = ktb_nl_dump_session(skb, cb, session, &at);
		} while (!err && at);
		cb->args[1] = at;
		cb->args[2] = session->id;
		if (err)
			break;
		cb->args[0] = session->id;
	}
	mutex_unlock(&ktb_lock);
	return skb->len ?: err;
}
