// SPDX-License-Identifier: GPL-2.0-only
#define KTB_HEADER <trace/events/cma.h>
#include "native_probe.h"
