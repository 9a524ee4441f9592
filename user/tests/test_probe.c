// SPDX-License-Identifier: GPL-2.0-only
/* Definitions of dynamic probes, places in this very program among them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"
#include "tap.h"

static struct ktb_probe probe;
static struct ktb_probe_error error;

/* A place for a probe: it is in the symbols, and not inlined. */
__attribute__((noinline, noclone)) static int ktb_test_probed(int x)
{
	return x + 1;
}

static bool is(const char *text, enum ktb_probe_kind kind, const char *system, const char *event,
	       const char *place, const char *args)
{
	bool good = !ktb_probe_parse(text, &probe, &error) && probe.kind == kind &&
		    !strcmp(probe.system, system) && !strcmp(probe.event, event) &&
		    !strcmp(probe.place, place) && !strcmp(probe.args, args);

	ktb_probe_clear(&probe);
	return good;
}

static void wrong(const char *text, int err, const char *says)
{
	ok(ktb_probe_parse(text, &probe, &error) == err && strstr(error.text, says) && !probe.event,
	   "'%s' is refused (%s)", text, error.text);
}

static void test_kernel(void)
{
	ok(is("myprobe do_sys_openat2 dfd=%di filename=+0(%si):ustring", KTB_PROBE_KERNEL, "ktb",
	      "myprobe", "do_sys_openat2", "dfd=%di filename=+0(%si):ustring"),
	   "a name, a function, arguments");
	ok(is("vfs_read", KTB_PROBE_KERNEL, "ktb", "vfs_read", "vfs_read", ""), "a function alone");
	ok(is("vfs_read %di $arg2", KTB_PROBE_KERNEL, "ktb", "vfs_read", "vfs_read", "%di $arg2"),
	   "a function and arguments without names");
	ok(is("vfs_read a=%di", KTB_PROBE_KERNEL, "ktb", "vfs_read", "vfs_read", "a=%di"),
	   "a function and an argument");
	ok(is("mine=vfs_read+0x10 a=%di", KTB_PROBE_KERNEL, "ktb", "mine", "vfs_read+0x10",
	      "a=%di"),
	   "perf's notation, an offset");
	ok(is(" sys:mine  vfs_read%return  ret=$retval ", KTB_PROBE_KERNEL_RETURN, "sys", "mine",
	      "vfs_read", "ret=$retval "),
	   "a system, a return, blanks");
	ok(is("vfs_read%return", KTB_PROBE_KERNEL_RETURN, "ktb", "vfs_read__return", "vfs_read",
	      ""),
	   "a return has a name of its own");
	ok(is("mine nf_tables:nft_do_chain", KTB_PROBE_KERNEL, "ktb", "mine",
	      "nf_tables:nft_do_chain", ""),
	   "a function of a module");
	ok(is("vfs_read.isra.0", KTB_PROBE_KERNEL, "ktb", "vfs_read_isra_0", "vfs_read.isra.0", ""),
	   "what a compiler makes of a function");
	wrong("", -EINVAL, "where?");
	wrong("$retval", -EINVAL, "where?");
	wrong("1name vfs_read", -EINVAL, "'1name' is no name");
	wrong("a-b vfs_read", -EINVAL, "'a-b' is no name");
	wrong("a:b:c vfs_read", -EINVAL, "'b:c' is no name");
	wrong("0xffffffff81000000", -EINVAL, "give the probe one");
	wrong("a123456789012345678901234567890123456789012345678901234567890123 vfs_read", -EINVAL,
	      "longer");
}

static void test_file(void)
{
	char self[512], text[700], place[600];
	struct ktb_probe_error e;
	uint64_t offset = 0;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		exit(1);
	self[len] = 0;
	ok(!ktb_elf_offset(self, "ktb_test_probed", &offset, &e) && offset,
	   "a function is found in a file");
	snprintf(text, sizeof(text), "%s:ktb_test_probed+1 x=%%di", self);
	snprintf(place, sizeof(place), "%s:0x%llx", self, (unsigned long long)offset + 1);
	ok(is(text, KTB_PROBE_USER, "ktb", "ktb_test_probed_1", place, "x=%di"),
	   "a function of a file and an offset");
	snprintf(text, sizeof(text), "mine %s:0x1234%%return $retval", self);
	snprintf(place, sizeof(place), "%s:0x1234", self);
	ok(is(text, KTB_PROBE_USER_RETURN, "ktb", "mine", place, "$retval"), "an offset of a file");
	snprintf(text, sizeof(text), "%s:ktb_test_probbed", self);
	wrong(text, -ENOENT, "did you mean ktb_test_probed");
	snprintf(text, sizeof(text), "mine %s", self);
	wrong(text, -EINVAL, "name a function");
	snprintf(text, sizeof(text), "%s:0x10", self);
	wrong(text, -EINVAL, "give the probe one");
	wrong("mine /does/not/exist:main", -ENOENT, "no file /does/not/exist");
	wrong("mine /etc/passwd:main", -ENOEXEC, "not a program");
	ok(ktb_test_probed(1) == 2, "and the function is there");
}

int main(void)
{
	test_kernel();
	test_file();
	return tap_end();
}
