// SPDX-License-Identifier: LGPL-2.1-only
/* One request to the module and its replies. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>

#include "internal.h"

/* What the callbacks of one request know. */
struct exchange {
	const struct nlmsghdr *request;
	const struct ktb_parse *parse;
	struct ktb_extack extack;
	bool done;
	int err;
};

uint64_t ktb_attr_uint(const struct nlattr *attr)
{
	const void *data = nla_data(attr);
	uint64_t u64 = 0;
	uint32_t u32;

	switch (nla_len(attr)) {
	case 1:
		return *(const uint8_t *)data;
	case 4:
		memcpy(&u32, data, sizeof(u32));
		return u32;
	case 8:
		memcpy(&u64, data, sizeof(u64));
		return u64;
	}
	return 0;
}

void ktb_attr_text(const struct nlattr *attr, char *text, size_t len)
{
	snprintf(text, len, "%.*s", nla_len(attr), (const char *)nla_data(attr));
}

/* Begin a request. Returns 0 or a negative errno, with the connection's text set. */
int ktb_request_new(struct ktb_conn *conn, int cmd, int flags, struct nl_msg **request)
{
	struct nl_msg *msg;

	conn->error[0] = 0;
	conn->error_attr = NULL;
	if (!conn->sock)
		return ktb_conn_fail(conn, -ENOTCONN, "not connected");
	msg = nlmsg_alloc();
	if (!msg || !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, conn->family, 0, flags, cmd,
				 KTRACE_BRIDGE_FAMILY_VERSION)) {
		nlmsg_free(msg);
		return ktb_conn_fail(conn, -ENOMEM, "out of memory");
	}
	*request = msg;
	return 0;
}

static int on_reply(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *header = nlmsg_hdr(msg);
	struct exchange *x = arg;
	int err = 0;

	if (x->parse)
		err = x->parse->attrs(genlmsg_attrdata(nlmsg_data(header), 0),
				      genlmsg_attrlen(nlmsg_data(header), 0), x->parse->arg);
	if (err && !x->err)
		x->err = err;
	return NL_OK;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	struct exchange *x = arg;

	(void)msg;
	x->done = true;
	return NL_STOP;
}

/* The end of a dump, which carries the error if the dump failed. */
static int on_finish(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *header = nlmsg_hdr(msg);
	struct exchange *x = arg;
	int len = nlmsg_datalen(header), err = 0;

	x->done = true;
	if (len < (int)sizeof(err))
		return NL_STOP;
	memcpy(&err, nlmsg_data(header), sizeof(err));
	if (err < 0)
		x->err = err;
	if (header->nlmsg_flags & NLM_F_ACK_TLVS)
		ktb_extack_parse(&x->extack, (void *)((char *)nlmsg_data(header) + sizeof(err)),
				 len - (int)sizeof(err), x->request);
	return NL_STOP;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *arg)
{
	struct nlmsghdr *header = (struct nlmsghdr *)((char *)error - NLMSG_HDRLEN);
	int skip = sizeof(*error), len = nlmsg_datalen(header);
	struct exchange *x = arg;

	(void)from;
	x->done = true;
	x->err = error->error;
	/* The request's payload comes back unless the ack is capped. */
	if (!(header->nlmsg_flags & NLM_F_CAPPED))
		skip += NLMSG_ALIGN(error->msg.nlmsg_len) - NLMSG_HDRLEN;
	if (header->nlmsg_flags & NLM_F_ACK_TLVS && len > skip)
		ktb_extack_parse(&x->extack, (void *)((char *)error + skip), len - skip,
				 x->request);
	return NL_STOP;
}

/* A dump that ran into a change is asked for again by the caller. */
static int on_interrupted(struct nl_msg *msg, void *arg)
{
	struct exchange *x = arg;

	(void)msg;
	if (!x->err)
		x->err = -EAGAIN;
	return NL_OK;
}

static struct nl_cb *exchange_callbacks(struct exchange *x)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);

	if (!cb)
		return NULL;
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_reply, x);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, x);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, x);
	nl_cb_set(cb, NL_CB_DUMP_INTR, NL_CB_CUSTOM, on_interrupted, x);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, x);
	return cb;
}

static int fail_refused(struct ktb_conn *conn, const struct exchange *x)
{
	const char *text = x->extack.text;
	const char *attr = x->extack.attr;

	conn->error_attr = attr;
	if (!*text && x->extack.missing && attr)
		return ktb_conn_fail(conn, x->err, "%s is missing", attr);
	if (x->err == -EPERM && !*text)
		text = "needs CAP_PERFMON or CAP_SYS_ADMIN";
	if (x->err == -EPERM && strstr(text, "CAP_"))
		return ktb_conn_fail(conn, x->err, "no permission: %s (run it as root)", text);
	if (!*text)
		text = strerror(-x->err);
	if (attr && !strstr(text, attr))
		return ktb_conn_fail(conn, x->err, "%s: %s", attr, text);
	return ktb_conn_fail(conn, x->err, "%s", text);
}

static int exchange_run(struct ktb_conn *conn, struct nl_msg *request, struct exchange *x,
			struct nl_cb *cb)
{
	int err = nl_send_auto(conn->sock, request);

	if (err < 0)
		return ktb_conn_fail_nl(conn, err, "cannot send to the module");
	while (!x->done) {
		err = nl_recvmsgs(conn->sock, cb);
		if (err < 0 && !x->done)
			return ktb_conn_fail_nl(conn, err, "cannot receive from the module");
	}
	return x->err ? fail_refused(conn, x) : 0;
}

/*
 * Send a request, hand every reply's attributes to @parse, wait for the end.
 * Frees the request. Returns 0 or a negative errno, with the connection's text
 * set.
 */
int ktb_request_send(struct ktb_conn *conn, struct nl_msg *request, const struct ktb_parse *parse)
{
	struct exchange x = { .request = nlmsg_hdr(request), .parse = parse };
	struct nl_cb *cb = exchange_callbacks(&x);
	int err;

	if (cb)
		err = exchange_run(conn, request, &x, cb);
	else
		err = ktb_conn_fail(conn, -ENOMEM, "out of memory");
	nl_cb_put(cb);
	nlmsg_free(request);
	return err;
}
