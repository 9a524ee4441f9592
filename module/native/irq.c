// SPDX-License-Identifier: GPL-2.0-only
/* Interrupts, timers and power. */

#include <linux/interrupt.h>

#define KTB_HEADER <trace/events/alarmtimer.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/irq.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/nmi.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/power.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/timer.h>
#include "native_probe.h"
