// SPDX-License-Identifier: GPL-2.0-only
/* Devices and buses. */

#include <linux/dma-fence.h>
#include <linux/phy.h>
#include <linux/spi/spi.h>

#define KTB_HEADER <trace/events/devfreq.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/dma.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/dma_buf.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/dma_fence.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/gpio.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/hwmon.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/i2c.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/iommu.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/mdio.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/pci.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/pci_controller.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/pwm.h>
#include "native_probe.h"

#define KTB_HEADER <ras/ras_event.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/regulator.h>
#include "native_probe.h"

#ifdef CONFIG_PM
#define KTB_HEADER <trace/events/rpm.h>
#include "native_probe.h"
#endif

#define KTB_HEADER <trace/events/rtc.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/smbus.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/spi.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/spi-mem.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/thermal.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/thermal_power_allocator.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/tsm_mr.h>
#include "native_probe.h"
