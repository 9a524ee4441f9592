// SPDX-License-Identifier: GPL-2.0-only
#include <trace/events/net.h>

/* Its assignment calls netdev_drivername(), which is not exported. */
#define KTB_NATIVE_OMIT_net_dev_xmit_timeout 1

#define KTB_HEADER <trace/events/net.h>
#define KTB_LIST ktb_native_list_net
#include "native_probe.h"
