// SPDX-License-Identifier: GPL-2.0-only
#include <linux/interrupt.h>
#include <trace/events/irq.h>

#define KTB_HEADER <trace/events/irq.h>
#define KTB_LIST ktb_native_list_irq
#include "native_probe.h"
