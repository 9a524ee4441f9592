# SPDX-License-Identifier: GPL-2.0-only
#
# Everything is made under build/. Each target with steps of its own is a script.

KERNELS ?= 6.1 6.12 6.12-rt
KERNEL  ?= 6.1
KDIR    ?= /lib/modules/$(shell uname -r)/build
PREFIX  ?= /usr/local
DESTDIR ?=
W       ?=
export KERNELS KERNEL PREFIX DESTDIR

MODULE := build/module/host

all: modules tools		## the module for this machine's kernel (or KDIR) and the tools

modules:			## the module alone
	scripts/kbuild $(KDIR) $(MODULE) . W=$(W)

tools:				## ktbctl and libktb alone
	$(MAKE) -C user

demo:				## see it work in a virtual machine (KERNEL=6.1)
	@scripts/demo

check:				## run all tests on each of KERNELS ("6.1 6.12 6.12-rt"); TESTS="..." for some
	@scripts/check

check-debug:			## the same on a kernel built here to watch itself: KASAN, lockdep, kmemleak
	@scripts/check-debug

check-kcsan:			## the tests that share memory between CPUs, under the data race detector
	@scripts/check-debug 6.12-kcsan

debug-kernel:			## build that kernel alone (35 CPU minutes, once)
	@scripts/debug-kernel

torture:			## everything at once, at random: MINUTES (2), KERNEL (6.1), SEED
	@scripts/torture

matrix:				## the last result of each test on each kernel
	@scripts/matrix

shell:				## a root shell in the virtual machine, module and tools at hand
	@scripts/shell

lint:				## checkpatch, sparse, kernel-doc, shellcheck and the like
	@scripts/lint

bench:				## what an event costs with each tracer, in guest instructions (KERNEL=6.1 FAST=1)
	@scripts/bench

bench-record:			## ktbctl record beside perf record: cost, bytes, losses
	@scripts/bench-record

bench-road:			## what a record costs, from the hit to the file
	@scripts/bench road

bench-loss:			## what is lost at full speed
	@scripts/bench loss

bench-scale:			## what a hit costs beside other sessions, events, ring sizes
	@scripts/bench scale

bench-sources:			## what calls of functions, probes and timers cost beside ftrace and perf
	@scripts/bench sources

update:				## take newer Debian kernels, if there are any
	@scripts/setup --update

install: tools			## the tools, into DESTDIR and PREFIX (/usr/local)
	$(MAKE) -C user install

modules_install: modules	## the module, for the kernel of KDIR
	$(MAKE) -C $(KDIR) M=$(CURDIR)/$(MODULE) $(if $(DESTDIR),INSTALL_MOD_PATH=$(DESTDIR)) modules_install

clean:				## remove what was built, keep what was downloaded
	rm -rf $(addprefix build/,module module-sparse selftest-modules bench-modules lttng-modules user user32 \
		selftests selftests-obj torture bench bench-gate.* vm log check .tmp.*)

distclean:			## remove all of build/
	rm -rf build

help:				## this text
	@sed -n 's/^\([a-z_-]*\):[^#]*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 20
	@echo "Kernels for KERNELS and KERNEL: $$(sed -n 's/^\([0-9][^\t]*\)\t.*/\1/p' scripts/kernels.txt | xargs)"

.PHONY: all modules tools demo check check-debug check-kcsan debug-kernel torture matrix shell lint \
	bench bench-road bench-loss bench-scale bench-sources bench-record \
	update install modules_install clean distclean help
