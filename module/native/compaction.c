// SPDX-License-Identifier: GPL-2.0-only
#define KTB_HEADER <trace/events/compaction.h>
#include "native_probe.h"
