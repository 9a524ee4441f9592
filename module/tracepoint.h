/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_TRACEPOINT_H
#define _KTB_TRACEPOINT_H

#include <linux/types.h>

struct ktb_event;
struct netlink_ext_ack;
struct tracepoint;

int ktb_tracepoint_find(const char *name, struct tracepoint **tp, u16 *type);
int ktb_tracepoint_resolve(struct ktb_event *event, struct netlink_ext_ack *extack);
void ktb_tracepoint_sync(void);

#endif /* _KTB_TRACEPOINT_H */
