// SPDX-License-Identifier: GPL-2.0-only
#define KTB_HEADER <trace/events/context_tracking.h>
#include "native_probe.h"
