// SPDX-License-Identifier: LGPL-2.1-only
/* The control connection: one generic netlink socket. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>

#include "internal.h"

#define OTHER_NAMESPACE \
	"ktrace_bridge is loaded, but can be reached from the initial network namespace only"

const char *ktb_version(void)
{
	return KTB_VERSION;
}

struct ktb_conn *ktb_conn_new(void)
{
	return calloc(1, sizeof(struct ktb_conn));
}

void ktb_conn_free(struct ktb_conn *conn)
{
	if (!conn)
		return;
	nl_socket_free(conn->sock);
	free(conn);
}

const char *ktb_conn_error(const struct ktb_conn *conn)
{
	return conn->error;
}

const char *ktb_conn_error_attr(const struct ktb_conn *conn)
{
	return conn->error_attr;
}

/* Keep the text of a failure. Returns @err. */
int ktb_conn_fail(struct ktb_conn *conn, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(conn->error, sizeof(conn->error), format, ap);
	va_end(ap);
	return err;
}

static int errno_of_nl(int nlerr)
{
	switch (abs(nlerr)) {
	case NLE_AGAIN:
		return -EAGAIN;
	case NLE_INTR:
		return -EINTR;
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_PERM:
	case NLE_NOACCESS:
		return -EPERM;
	case NLE_OBJ_NOTFOUND:
		return -ENOENT;
	case NLE_DUMP_INTR:
		return -EBUSY;
	default:
		return -EIO;
	}
}

/* Turn a failure of libnl's into one of ours. */
int ktb_conn_fail_nl(struct ktb_conn *conn, int nlerr, const char *what)
{
	return ktb_conn_fail(conn, errno_of_nl(nlerr), "%s: %s", what, nl_geterror(nlerr));
}

static int fail_no_family(struct ktb_conn *conn)
{
	if (!access("/sys/module/ktrace_bridge", F_OK))
		return ktb_conn_fail(conn, -ENODEV, OTHER_NAMESPACE);
	return ktb_conn_fail(conn, -ENODEV, KTB_NOT_LOADED);
}

static int connect_socket(struct ktb_conn *conn)
{
	int one = 1, err, fd;

	err = genl_connect(conn->sock);
	if (err < 0)
		return ktb_conn_fail_nl(conn, err, "cannot open a generic netlink socket");

	/* Kernels without these options just say less. */
	fd = nl_socket_get_fd(conn->sock);
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	nl_socket_set_buffer_size(conn->sock, 1 << 20, 0);

	conn->family = genl_ctrl_resolve(conn->sock, KTRACE_BRIDGE_FAMILY_NAME);
	if (conn->family == -NLE_OBJ_NOTFOUND)
		return fail_no_family(conn);
	if (conn->family < 0)
		return ktb_conn_fail_nl(conn, conn->family, "cannot look for the module");
	return 0;
}

int ktb_conn_connect(struct ktb_conn *conn)
{
	int err;

	conn->error[0] = 0;
	conn->error_attr = NULL;
	if (conn->sock)
		return ktb_conn_fail(conn, -EALREADY, "already connected");
	conn->sock = nl_socket_alloc();
	if (!conn->sock)
		return ktb_conn_fail(conn, -ENOMEM, "out of memory");
	err = connect_socket(conn);
	if (err) {
		nl_socket_free(conn->sock);
		conn->sock = NULL;
	}
	return err;
}
