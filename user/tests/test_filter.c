// SPDX-License-Identifier: GPL-2.0-only
/* Filters: what passes, and what is said of those that are wrong. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>

#include "bpf_run.h"
#include "filter.h"
#include "internal.h"
#include "tap.h"

static const char format[] =
	"name: fruit\nID: 77\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:unsigned char u8;\toffset:8;\tsize:1;\tsigned:0;\n"
	"\tfield:signed char s8;\toffset:9;\tsize:1;\tsigned:1;\n"
	"\tfield:unsigned short u16;\toffset:10;\tsize:2;\tsigned:0;\n"
	"\tfield:short s16;\toffset:12;\tsize:2;\tsigned:1;\n"
	"\tfield:unsigned int u32;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:int s32;\toffset:20;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long u64;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:long s64;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:char name[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:char odd[7];\toffset:57;\tsize:7;\tsigned:0;\n"
	"\tfield:unsigned long args[3];\toffset:64;\tsize:24;\tsigned:0;\n"
	"\tfield:__data_loc char[] path;\toffset:88;\tsize:4;\tsigned:0;\n"
	"\tfield:int cpu_of[2];\toffset:92;\tsize:8;\tsigned:1;\n"
	"\tfield:__data_loc int[] blob;\toffset:100;\tsize:4;\tsigned:0;\n"
	"\nprint fmt: \"%u\", REC->u8\n";

static struct {
	uint8_t common[8];
	uint8_t u8;
	int8_t s8;
	uint16_t u16;
	int16_t s16;
	uint16_t hole;
	uint32_t u32;
	int32_t s32;
	uint64_t u64;
	int64_t s64;
	char name[16];
	char hole2;
	char odd[7];
	uint64_t args[3];
	uint32_t path;
	int32_t cpu_of[2];
	uint32_t blob;
	char data[64];
} record = {
	.u8 = 200,
	.s8 = -3,
	.u16 = 40000,
	.s16 = -30000,
	.u32 = 3000000000U,
	.s32 = -5,
	.u64 = 0xffffffff00000001ULL,
	.s64 = -6000000000,
	.name = "kworker/1:2",
	.odd = "applesX",
	.args = { 1, 2, 0x100000000ULL },
	.path = 12 << 16 | 104,
	.cpu_of = { -1, 7 },
	.data = "/usr/bin/ls",
};

static const struct bpf_run run = {
	.record = &record,
	.size = sizeof(record),
	.pid_tgid = 55ULL << 32 | 4321,
	.cpu = 3,
	.comm = "bash",
};

static struct tep_event *event;
static struct ktb_filter *filter;
static struct ktb_filter_code *code;

static int compile(const char *text)
{
	memset(filter, 0, sizeof(*filter));
	memset(code, 0, sizeof(*code));
	filter->event = event;
	filter->text = text;
	return ktb_filter_compile(filter, code);
}

/* It compiles, and returns for the record what is expected; its contrary the contrary. */
static void passes(const char *text, uint64_t expected)
{
	char negated[512];
	uint64_t got = BPF_RUN_FAULT, contrary = BPF_RUN_FAULT;

	if (!compile(text))
		got = bpf_run(&run, code->insns, code->nr);
	snprintf(negated, sizeof(negated), "!(%s)", text);
	if (!compile(negated))
		contrary = bpf_run(&run, code->insns, code->nr);
	ok(got == expected && contrary == !expected, "%s: %d%s%s", text, (int)expected,
	   *filter->error ? ", but " : "", filter->error);
}

static void wrong(const char *text, unsigned int column, const char *says)
{
	char where[32];
	int err = compile(text);

	snprintf(where, sizeof(where), "column %u:", column);
	ok(err == -EINVAL && strstr(filter->error, where) && strstr(filter->error, says),
	   "'%.40s' is refused (%s)", text, filter->error);
}

static void test_numbers(void)
{
	passes("u8 == 200", 1);
	passes("u8 != 200", 0);
	passes("u8 > 199 && u8 < 201 && u8 >= 200 && u8 <= 200", 1);
	passes("s8 == -3", 1);
	passes("s8 < 0", 1);
	passes("s8 > -3", 0);
	passes("s8 == 0xfd", 1);
	passes("u16 == 40000", 1);
	passes("u16 >= 40001", 0);
	passes("s16 <= -30000", 1);
	passes("s16 > -30001 && s16 < -29999", 1);
	passes("u32 == 3000000000", 1);
	passes("u32 > 2999999999", 1);
	passes("u32 < 2999999999", 0);
	passes("u32 & 0x80000000", 1);
	passes("s32 == -5", 1);
	passes("s32 == 0xfffffffb", 1);
	passes("s32 > 0", 0);
	passes("u64 == 0xffffffff00000001", 1);
	passes("u64 > 0xffffffff00000000", 1);
	passes("u64 < 1", 0);
	passes("u64 & 0xfffffffe", 0);
	passes("u64 & 0x100000000", 1);
	passes("u64&1", 1);
	passes("s64 == -6000000000", 1);
	passes("s64 < -5999999999", 1);
	passes("s64 >= 9223372036854775807", 0);
	passes("s64 > -9223372036854775808", 1);
	passes("u8 == 0310", 1);
	passes("args[1] == 2", 1);
	passes("args[2] > 0xffffffff", 1);
	passes("cpu_of[0] == -1 && cpu_of[1] == 7", 1);
	passes("common_pid == 4321", 1);
	passes("common_pid > 5000", 0);
	passes("cpu == 3 && CPU < 4", 1);
}

static void test_strings(void)
{
	passes("name == \"kworker/1:2\"", 1);
	passes("name == kworker/1:2", 1);
	passes("name == 'kworker/1:'", 0);
	passes("name == kworker/1:23", 0);
	passes("name != bash", 1);
	passes("name ~ \"kworker*\"", 1);
	passes("name ~ \"kworkers*\"", 0);
	passes("name ~ *", 1);
	passes("name ~ *:2", 1);
	passes("name ~ *:3", 0);
	passes("name ~ *r/1*", 1);
	passes("name ~ *k*r*:?", 1);
	passes("name ~ *kk*", 0);
	passes("name ~ k?????\?/1:2", 1);
	passes("name ~ k????\?/1:2", 0);
	passes("name ~ [a-k]worker*", 1);
	passes("name ~ [!a-j]*", 1);
	passes("name ~ [^k]*", 0);
	passes("name ~ *[0-9]:[02]", 1);
	passes("name ~ 'kworker/1\\:2'", 1);
	passes("name ~ '\\*worker*'", 0);
	passes("name ~ \"kworker/1:2\"", 1);
	passes("name ~ ''", 0);
	passes("odd == applesX", 1);
	passes("odd == apples", 0);
	passes("odd ~ apples*", 1);
	passes("odd ~ *X", 1);
	passes("odd ~ *Y", 0);
	passes("path == /usr/bin/ls", 1);
	passes("path == /usr/bin/l", 0);
	passes("path == /usr/bin/lsx", 0);
	passes("path ~ /usr/*", 1);
	passes("path ~ */ls", 1);
	passes("path ~ */l", 0);
	passes("path != \"\"", 1);
	passes("comm == bash", 1);
	passes("COMM == bas", 0);
	passes("comm ~ b*h", 1);
}

static void test_logic(void)
{
	passes("u8 == 1 || s8 == -3", 1);
	passes("u8 == 1 || s8 == 3", 0);
	passes("u8 == 200 && s8 == 3", 0);
	/* && binds closer than ||. */
	passes("u8 == 200 || u8 == 1 && u8 == 2", 1);
	passes("(u8 == 200 || u8 == 1) && u8 == 2", 0);
	passes("!(u8 == 200) || !(s8 == 3)", 1);
	passes("!!(u8 == 200)", 1);
	passes("! u8 == 1 && ((s8 < 0)&&!(name == x||path ~ *x*))", 1);
	passes("!(u64 & 1) || u64 & 2", 0);
	passes(" u8==200 ", 1);
}

static void test_wrong(void)
{
	char longer[2048] = "u8 == 1";

	wrong("", 1, "expected a field");
	wrong("u8", 3, "expected ==, !=, <");
	wrong("u8 = 3", 4, "expected ==, !=, <");
	wrong("u8 ==", 6, "expected a number");
	wrong("u8 == x", 7, "expected a number");
	wrong("u8 == 3 &", 9, "expected && or ||");
	wrong("u8 == 3 && ", 12, "expected a field");
	wrong("(u8 == 3", 9, "expected &&, || or )");
	wrong("u8 == 3)", 8, "expected && or ||");
	wrong("peach == 3", 1, "no field 'peach'");
	wrong("u8 == 1 && pear == 3", 12, "it has u8, s8");
	wrong("u8 == 256", 7, "unsigned number of 8 bits");
	wrong("u8 == -1", 7, "does not fit");
	wrong("s8 == 128", 7, "signed number of 8 bits");
	wrong("s8 == -129", 7, "does not fit");
	wrong("u64 == 18446744073709551616", 8, "64 bits");
	wrong("s64 == -9223372036854775809", 8, "64 bits");
	wrong("u8 ~ 3", 4, "the field is a number");
	wrong("name < 3", 6, "the field is a string");
	wrong("name == \"open", 9, "quote");
	wrong("name == 'seventeen letters'", 9, "longer than the field");
	wrong("name ~ *[a", 9, "class");
	wrong("args == 3", 1, "args[0]");
	wrong("args[3] == 3", 1, "3 elements");
	wrong("args[x] == 3", 1, "a number in brackets");
	wrong("u8[0] == 3", 1, "no array");
	wrong("blob == 3", 1, "neither a number nor a string");
	wrong("common_flags & 1", 1, "no filter sees common_flags");
	for (int i = 0; i < 128; i++)
		strcat(longer, " || u8 == 1");
	wrong(longer, 713, "more than 128");
	memset(longer, '(', 40);
	wrong(longer, 33, "32 deep");
}

static void test_reason(void)
{
	char old[] = "0: (b7) r1 = 0\n1: (95) exit\nR0 !read_ok\n"
		     "processed 2 insns (limit 1000000)\n";
	char explained[] = "1: (95) exit\nR0 !read_ok\n\nVerification failed: Unreadable register\n"
			   "\nReason:\n  R0 has never been initialized on this path\n"
			   "\nSuggestion:\n  Initialize R0\n\nprocessed 2 insns\n";

	ok(!strcmp(ktb_verifier_reason(old), "R0 !read_ok"), "the verifier's reason");
	ok(!strcmp(ktb_verifier_reason(explained), "R0 !read_ok"), "where it is explained, too");
}

int main(void)
{
	struct tep_handle *tep = tep_alloc();

	filter = malloc(sizeof(*filter));
	code = malloc(sizeof(*code));
	tep_parse_event(tep, format, strlen(format), "market");
	event = tep_find_event_by_name(tep, "market", "fruit");
	if (!ok(event && filter && code, "an event"))
		return tap_end();
	ok(!((char *)&record.data - (char *)&record - 104), "the record is as the format says");
	test_numbers();
	test_strings();
	test_logic();
	test_wrong();
	test_reason();
	tep_free(tep);
	free(filter);
	free(code);
	return tap_end();
}
