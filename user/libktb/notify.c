// SPDX-License-Identifier: LGPL-2.1-only
/* The module's notices: a second socket, in the multicast group. */
#include <errno.h>
#include <stdlib.h>

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>

#include "internal.h"

struct ktb_notify {
	struct nl_sock *sock;
	int family;
	void (*handle)(const struct ktb_notice *notice, void *arg);
	void *arg;
};

static void parse_attr(struct nlattr *attr, struct ktb_notice *notice)
{
	switch (nla_type(attr)) {
	case KTB_A_NOTICE_SESSION_ID:
		notice->session = ktb_attr_uint(attr);
		break;
	case KTB_A_NOTICE_NAME:
		ktb_attr_text(attr, notice->name, sizeof(notice->name));
		break;
	case KTB_A_NOTICE_EVENT_ID:
		notice->event = ktb_attr_uint(attr);
		break;
	case KTB_A_NOTICE_CPU:
		notice->cpu = (int32_t)ktb_attr_uint(attr);
		break;
	}
}

static int on_notice(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *header = nlmsg_hdr(msg);
	struct genlmsghdr *genl = nlmsg_data(header);
	struct ktb_notice notice = { .cpu = -1 };
	struct ktb_notify *notify = arg;
	struct nlattr *attr;
	int left;

	if (header->nlmsg_type != notify->family)
		return NL_OK;
	notice.cmd = genl->cmd;
	nla_for_each_attr(attr, genlmsg_attrdata(genl, 0), genlmsg_attrlen(genl, 0), left)
		parse_attr(attr, &notice);
	notify->handle(&notice, notify->arg);
	return NL_OK;
}

static int join(struct ktb_conn *conn, struct ktb_notify *notify)
{
	int group, err;

	nl_socket_disable_seq_check(notify->sock);
	nl_socket_modify_cb(notify->sock, NL_CB_VALID, NL_CB_CUSTOM, on_notice, notify);
	err = genl_connect(notify->sock);
	if (err < 0)
		return ktb_conn_fail_nl(conn, err, "cannot open a generic netlink socket");
	group = genl_ctrl_resolve_grp(notify->sock, KTRACE_BRIDGE_FAMILY_NAME,
				      KTRACE_BRIDGE_MCGRP_NOTIFY);
	if (group == -NLE_OBJ_NOTFOUND)
		return ktb_conn_fail(conn, -ENODEV, KTB_NOT_LOADED);
	if (group < 0)
		return ktb_conn_fail_nl(conn, group, "cannot look for the module's notices");
	err = nl_socket_add_membership(notify->sock, group);
	if (err < 0)
		return ktb_conn_fail_nl(conn, err, "cannot listen to the module's notices");
	nl_socket_set_nonblocking(notify->sock);
	return 0;
}

int ktb_notify_open(struct ktb_conn *conn, struct ktb_notify **result)
{
	struct ktb_notify *notify;
	int err;

	conn->error[0] = 0;
	conn->error_attr = NULL;
	if (!conn->sock)
		return ktb_conn_fail(conn, -ENOTCONN, "not connected");
	notify = calloc(1, sizeof(*notify));
	if (!notify)
		return ktb_conn_fail(conn, -ENOMEM, "out of memory");
	notify->family = conn->family;
	notify->sock = nl_socket_alloc();
	err = notify->sock ? join(conn, notify) : ktb_conn_fail(conn, -ENOMEM, "out of memory");
	if (err) {
		ktb_notify_close(notify);
		return err;
	}
	*result = notify;
	return 0;
}

void ktb_notify_close(struct ktb_notify *notify)
{
	if (!notify)
		return;
	nl_socket_free(notify->sock);
	free(notify);
}

int ktb_notify_fd(const struct ktb_notify *notify)
{
	return nl_socket_get_fd(notify->sock);
}

int ktb_notify_read(struct ktb_notify *notify,
		    void (*handle)(const struct ktb_notice *notice, void *arg), void *arg)
{
	const struct ktb_notice resync = { .cpu = -1 };
	int err;

	notify->handle = handle;
	notify->arg = arg;
	do {
		err = nl_recvmsgs_default(notify->sock);
		/* libnl says so of ENOBUFS: the socket overflowed and goes on. */
		if (err == -NLE_NOMEM)
			handle(&resync, arg);
	} while (err >= 0 || err == -NLE_NOMEM || err == -NLE_INTR);
	return err == -NLE_AGAIN ? 0 : -EIO;
}
