// SPDX-License-Identifier: GPL-2.0-only
/* A raw generic netlink client. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <linux/genetlink.h>

#include "ktb_nl.h"

/* The kernel fills dump messages up to 32 KiB where the reader offers that. */
#define RECV_SIZE	32768

bool ktb_attr_ok(const struct nlattr *a, size_t left)
{
	return left >= NLA_HDRLEN && a->nla_len >= NLA_HDRLEN && a->nla_len <= left;
}

const struct nlattr *ktb_attr_next(const struct nlattr *a, size_t *left)
{
	size_t len = NLA_ALIGN(a->nla_len);

	if (len > *left)
		len = *left;
	*left -= len;
	return (const void *)((const char *)a + len);
}

const void *ktb_attr_data(const struct nlattr *a)
{
	return (const char *)a + NLA_HDRLEN;
}

size_t ktb_attr_len(const struct nlattr *a)
{
	return a->nla_len - NLA_HDRLEN;
}

__u64 ktb_attr_uint(const struct nlattr *a)
{
	__u64 value = 0;
	size_t len = ktb_attr_len(a);

	memcpy(&value, ktb_attr_data(a), len < sizeof(value) ? len : sizeof(value));
	return value;
}

void ktb_attr_str(const struct nlattr *a, char *to, size_t size)
{
	size_t len = strnlen(ktb_attr_data(a), ktb_attr_len(a));

	if (len >= size)
		len = size - 1;
	memcpy(to, ktb_attr_data(a), len);
	to[len] = '\0';
}

void ktb_msg_init(struct ktb_nl *nl, struct ktb_msg *m, __u8 cmd, __u16 flags)
{
	struct genlmsghdr *g = (void *)(m->b + NLMSG_HDRLEN);

	memset(m, 0, sizeof(*m));
	m->h.nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN;
	m->h.nlmsg_type = nl->family;
	m->h.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	g->cmd = cmd;
	g->version = KTRACE_BRIDGE_FAMILY_VERSION;
}

__u32 ktb_put(struct ktb_msg *m, __u16 type, const void *data, size_t len)
{
	__u32 offs = m->h.nlmsg_len;
	struct nlattr *a = (void *)(m->b + offs);

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	if (len)
		memcpy((char *)a + NLA_HDRLEN, data, len);
	m->h.nlmsg_len += NLA_ALIGN(a->nla_len);
	return offs;
}

__u32 ktb_put_u8(struct ktb_msg *m, __u16 type, __u8 value)
{
	return ktb_put(m, type, &value, sizeof(value));
}

__u32 ktb_put_u32(struct ktb_msg *m, __u16 type, __u32 value)
{
	return ktb_put(m, type, &value, sizeof(value));
}

__u32 ktb_put_u64(struct ktb_msg *m, __u16 type, __u64 value)
{
	return ktb_put(m, type, &value, sizeof(value));
}

__u32 ktb_put_str(struct ktb_msg *m, __u16 type, const char *value)
{
	return ktb_put(m, type, value, strlen(value) + 1);
}

static void parse_tlvs(struct ktb_nl *nl, const char *at, const char *end)
{
	const struct nlattr *a;
	size_t left;

	if (at >= end)
		return;
	ktb_attr_for_each(a, (const void *)at, (size_t)(end - at), left) {
		switch (a->nla_type & NLA_TYPE_MASK) {
		case NLMSGERR_ATTR_MSG:
			ktb_attr_str(a, nl->text, sizeof(nl->text));
			break;
		case NLMSGERR_ATTR_OFFS:
			nl->offs = ktb_attr_uint(a);
			break;
		case NLMSGERR_ATTR_MISS_TYPE:
			nl->miss = ktb_attr_uint(a);
			break;
		}
	}
}

/* An ack or the end of a dump: its error number, its extended ack into @nl. */
static int parse_end(struct ktb_nl *nl, const struct nlmsghdr *h)
{
	const char *at = (const char *)h + NLMSG_HDRLEN;
	const char *end = (const char *)h + h->nlmsg_len;
	const struct nlmsgerr *e = (const void *)at;
	int error;

	memcpy(&error, at, sizeof(error));
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return error;
	if (h->nlmsg_type == NLMSG_DONE)
		at += NLMSG_ALIGN(sizeof(error));
	else if (h->nlmsg_flags & NLM_F_CAPPED)
		at += sizeof(*e);
	else
		at += sizeof(error) + NLMSG_ALIGN(e->msg.nlmsg_len);
	parse_tlvs(nl, at, end);
	return error;
}

static void give(const struct nlmsghdr *h, ktb_reply_fn fn, void *arg)
{
	const struct genlmsghdr *g = (const void *)((const char *)h + NLMSG_HDRLEN);

	if (fn && h->nlmsg_len >= NLMSG_HDRLEN + GENL_HDRLEN)
		fn(g->cmd, (const void *)((const char *)g + GENL_HDRLEN),
		   h->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN, arg);
}

/* Receive one datagram. Returns its length or a negative error number. */
static ssize_t receive(struct ktb_nl *nl, char *buf)
{
	ssize_t len = recv(nl->fd, buf, RECV_SIZE, 0);

	if (len < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return len;
}

int ktb_nl_do(struct ktb_nl *nl, struct ktb_msg *m, ktb_reply_fn fn, void *arg)
{
	static __thread char buf[RECV_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));

	nl->text[0] = '\0';
	nl->offs = 0;
	nl->miss = 0;
	m->h.nlmsg_seq = ++nl->seq;
	if (send(nl->fd, m, m->h.nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		const struct nlmsghdr *h = (const void *)buf;
		ssize_t left = receive(nl, buf);

		if (left < 0)
			return left;
		for (; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			if (h->nlmsg_seq != nl->seq)
				continue;
			if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE)
				return parse_end(nl, h);
			give(h, fn, arg);
		}
	}
}

int ktb_nl_wait(struct ktb_nl *nl, ktb_reply_fn fn, void *arg)
{
	static __thread char buf[RECV_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
	const struct nlmsghdr *h = (const void *)buf;
	ssize_t left = receive(nl, buf);

	if (left < 0)
		return left;
	for (; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left))
		give(h, fn, arg);
	return 0;
}

static void take_groups(struct ktb_nl *nl, const struct nlattr *groups)
{
	const struct nlattr *g, *a;
	size_t left, in;

	ktb_attr_for_each(g, ktb_attr_data(groups), ktb_attr_len(groups), left) {
		const char *name = "";
		__u32 id = 0;

		ktb_attr_for_each(a, ktb_attr_data(g), ktb_attr_len(g), in) {
			if (a->nla_type == CTRL_ATTR_MCAST_GRP_NAME)
				name = ktb_attr_data(a);
			else if (a->nla_type == CTRL_ATTR_MCAST_GRP_ID)
				id = ktb_attr_uint(a);
		}
		if (!strcmp(name, KTRACE_BRIDGE_MCGRP_NOTIFY))
			nl->group = id;
	}
}

static void take_family(__u8 cmd, const struct nlattr *attrs, size_t len, void *arg)
{
	struct ktb_nl *nl = arg;
	const struct nlattr *a;
	size_t left;

	(void)cmd;
	ktb_attr_for_each(a, attrs, len, left) {
		if ((a->nla_type & NLA_TYPE_MASK) == CTRL_ATTR_FAMILY_ID)
			nl->family = ktb_attr_uint(a);
		else if ((a->nla_type & NLA_TYPE_MASK) == CTRL_ATTR_MCAST_GROUPS)
			take_groups(nl, a);
	}
}

int ktb_nl_open_family(struct ktb_nl *nl, __u16 family)
{
	/* Longer than anything takes, shorter than a test's own time limit. */
	struct timeval limit = { .tv_sec = 10 };
	struct sockaddr_nl any = { .nl_family = AF_NETLINK };
	int one = 1;

	memset(nl, 0, sizeof(*nl));
	nl->family = family;
	nl->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (nl->fd < 0)
		return -errno;
	if (bind(nl->fd, (void *)&any, sizeof(any)) ||
	    setsockopt(nl->fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one)) ||
	    setsockopt(nl->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit))) {
		int error = -errno;

		ktb_nl_close(nl);
		return error;
	}
	return 0;
}

int ktb_nl_open(struct ktb_nl *nl)
{
	struct ktb_msg m;
	int error = ktb_nl_open_family(nl, GENL_ID_CTRL);

	if (error)
		return error;
	ktb_msg_init(nl, &m, CTRL_CMD_GETFAMILY, 0);
	ktb_put_str(&m, CTRL_ATTR_FAMILY_NAME, KTRACE_BRIDGE_FAMILY_NAME);
	error = ktb_nl_do(nl, &m, take_family, nl);
	if (error)
		ktb_nl_close(nl);
	return error;
}

void ktb_nl_close(struct ktb_nl *nl)
{
	close(nl->fd);
	nl->fd = -1;
}
