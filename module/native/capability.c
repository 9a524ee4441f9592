// SPDX-License-Identifier: GPL-2.0-only
#define KTB_HEADER <trace/events/capability.h>
#include "native_probe.h"
