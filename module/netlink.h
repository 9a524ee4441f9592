/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_NETLINK_H
#define _KTB_NETLINK_H

#include <net/genetlink.h>

struct ktb_event;
struct ktb_event_options;
struct ktb_ledger;
struct ktb_session;
struct perf_event_attr;

extern struct genl_family ktb_genl_family;

int ktb_netlink_init(void);
void ktb_netlink_exit(void);

int ktb_nl_allow(struct sk_buff *skb, struct netlink_ext_ack *extack);
struct ktb_session *ktb_nl_find_session(struct nlattr *id, struct nlattr *name,
					struct netlink_ext_ack *extack);
struct sk_buff *ktb_nl_reply_new(struct genl_info *info, size_t size, void **header);
int ktb_nl_reply_send(struct sk_buff *skb, void *header, struct genl_info *info,
		      int err);
int ktb_nl_event_options(struct genl_info *info, struct ktb_event_options *options,
			 struct perf_event_attr *attr);
int ktb_nl_put_u64(struct sk_buff *skb, int attr, u64 value);

/**
 * ktb_nl_string - the string of an attribute
 * @attr: the attribute, validated as NUL-terminated, or NULL
 *
 * Return: the string, or NULL.
 */
static inline const char *ktb_nl_string(const struct nlattr *attr)
{
	return attr ? nla_data(attr) : NULL;
}

#endif /* _KTB_NETLINK_H */
