/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A raw generic netlink client: no library, so that messages can be built
 * wrong on purpose and refusals can be looked at whole.
 */
#ifndef KTB_NL_H
#define KTB_NL_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/netlink.h>
#include <linux/types.h>
#include <linux/ktrace_bridge.h>

/**
 * struct ktb_nl - a socket and what it was last told
 * @fd: the socket
 * @family: number of the family, the type of its messages
 * @group: number of the multicast group "notify"
 * @seq: sequence number of the last request
 * @text: extended-ack text of the last refusal, "" without
 * @offs: offset of the attribute that the last refusal points at, 0 without
 * @miss: attribute that the last refusal misses, 0 without
 */
struct ktb_nl {
	int fd;
	__u16 family;
	__u32 group;
	__u32 seq;
	char text[256];
	__u32 offs;
	__u32 miss;
};

/**
 * struct ktb_msg - a request being built
 * @h: its netlink header
 * @b: the same, as bytes
 */
struct ktb_msg {
	union {
		struct nlmsghdr h;
		char b[16384];
	};
};

/* What is called for each message of a reply. */
typedef void (*ktb_reply_fn)(__u8 cmd, const struct nlattr *attrs, size_t len, void *arg);

/*
 * Open a socket. Returns 0 or a negative error number; -ENOENT if the family
 * is not there, the module not loaded.
 */
int ktb_nl_open(struct ktb_nl *nl);
void ktb_nl_close(struct ktb_nl *nl);
/* Open a socket for a family whose number is known already. */
int ktb_nl_open_family(struct ktb_nl *nl, __u16 family);

void ktb_msg_init(struct ktb_nl *nl, struct ktb_msg *m, __u8 cmd, __u16 flags);
/* Returns the attribute's offset in the message, as extended acks count. */
__u32 ktb_put(struct ktb_msg *m, __u16 type, const void *data, size_t len);
__u32 ktb_put_u8(struct ktb_msg *m, __u16 type, __u8 value);
__u32 ktb_put_u32(struct ktb_msg *m, __u16 type, __u32 value);
__u32 ktb_put_u64(struct ktb_msg *m, __u16 type, __u64 value);
__u32 ktb_put_str(struct ktb_msg *m, __u16 type, const char *value);

/*
 * Send a request and take in everything that answers it. Returns 0 or the
 * negative error number of the refusal; -ETIMEDOUT if there is no answer.
 */
int ktb_nl_do(struct ktb_nl *nl, struct ktb_msg *m, ktb_reply_fn fn, void *arg);
/* Wait for one multicast message. Returns 0 or a negative error number. */
int ktb_nl_wait(struct ktb_nl *nl, ktb_reply_fn fn, void *arg);

bool ktb_attr_ok(const struct nlattr *a, size_t left);
const struct nlattr *ktb_attr_next(const struct nlattr *a, size_t *left);
const void *ktb_attr_data(const struct nlattr *a);
size_t ktb_attr_len(const struct nlattr *a);
__u64 ktb_attr_uint(const struct nlattr *a);
void ktb_attr_str(const struct nlattr *a, char *to, size_t size);

#define ktb_attr_for_each(a, attrs, len, left)				\
	for (a = (attrs), left = (len); ktb_attr_ok(a, left);		\
	     a = ktb_attr_next(a, &left))

#endif
