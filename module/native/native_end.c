// SPDX-License-Identifier: GPL-2.0-only
/* The end of the table of native events, see native.h. */

#include "native.h"

const struct ktb_native ktb_natives_end[] KTB_NATIVE_ENTRY = {};
