// SPDX-License-Identifier: GPL-2.0-only
/* Networking. */

#include <linux/icmp.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/sock_diag.h>
#include <linux/udp.h>
#include <net/mptcp.h>
#include <net/addrconf.h>
#include <net/sock.h>

#define KTB_HEADER <trace/events/devlink.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/fib.h>
#include "native_probe.h"

struct handshake_req;

#define KTB_OMIT_handshake_fd_class 1
#define KTB_OMIT_handshake_cmd_accept 1
#define KTB_OMIT_handshake_cmd_done 1
#define KTB_HEADER <trace/events/handshake.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/icmp.h>
#include "native_probe.h"

struct mptcp_subflow_context;

#define KTB_OMIT_mptcp_rcvbuf_grow 1
#define KTB_OMIT_mptcp_subflow_get_send 1
#define KTB_HEADER <trace/events/mptcp.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/napi.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/neigh.h>
#include "native_probe.h"

#define KTB_OMIT_net_dev_xmit_timeout 1
#define KTB_HEADER <trace/events/net.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/netlink.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/page_pool.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/qdisc.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/skb.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/sock.h>
#include "native_probe.h"

/*
 * sock_gen_cookie() calls a function that is not exported. This one calls it
 * too, is exported, and gives the cookie in two halves.
 */
static inline u64 ktb_sock_gen_cookie(struct sock *sk)
{
	u32 half[2];

	sock_diag_save_cookie(sk, half);
	return (u64)half[1] << 32 | half[0];
}

#define sock_gen_cookie ktb_sock_gen_cookie
#define KTB_HEADER <trace/events/tcp.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/udp.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/xdp.h>
#include "native_probe.h"
