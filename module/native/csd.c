// SPDX-License-Identifier: GPL-2.0-only
#define KTB_HEADER <trace/events/csd.h>
#include "native_probe.h"
