// SPDX-License-Identifier: LGPL-2.1-only
/* BPF programs from object files, through libbpf. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#ifdef HAVE_LIBBPF
#include <bpf/libbpf.h>

#define PREFIX "libbpf: "
#define LOG_LEN (16 << 20) /* where it is too small, kernels before 6.4 say only that */

/* libbpf has one print function for all threads: it is ours for one load at a time. */
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

/* What libbpf said first, which is nearest to the cause; without its name and newline. */
static __thread char said[KTB_ERROR_LEN];

__attribute__((format(printf, 2, 0))) static int hear(enum libbpf_print_level level,
						      const char *format, va_list ap)
{
	if (level != LIBBPF_WARN || *said)
		return 0;
	if (!strncmp(format, PREFIX, strlen(PREFIX)))
		format += strlen(PREFIX);
	vsnprintf(said, sizeof(said), format, ap);
	said[strcspn(said, "\n")] = 0;
	return 0;
}

/* libbpf has error numbers of its own. */
static int fail(int err, char *error, size_t len)
{
	if (err <= -__LIBBPF_ERRNO__START)
		err = -EINVAL;
	snprintf(error, len, "%s", *said ? said : strerror(-err));
	return err;
}

static bool is_wanted(const struct bpf_program *program, const char *wanted)
{
	return !wanted || !strcmp(bpf_program__section_name(program), wanted) ||
	       !strcmp(bpf_program__name(program), wanted);
}

/* The one program that is wanted, of which no other is loaded. */
static int choose(struct bpf_object *object, const char *wanted, struct bpf_program **chosen,
		  char *error, size_t len)
{
	struct bpf_program *program;
	char names[256] = "";
	unsigned int nr = 0;
	size_t end = 0;

	*chosen = NULL;
	bpf_object__for_each_program(program, object) {
		bool is = is_wanted(program, wanted);

		bpf_program__set_autoload(program, is && !nr);
		if (end < sizeof(names))
			end += snprintf(names + end, sizeof(names) - end, "%s%s", end ? ", " : "",
					bpf_program__name(program));
		nr += is;
		if (is && nr == 1)
			*chosen = program;
	}
	if (nr == 1)
		return 0;
	if (nr)
		snprintf(error, len, "which program of %s?", names);
	else if (wanted)
		snprintf(error, len, "no program '%s'; there is %s", wanted, end ? names : "none");
	else
		snprintf(error, len, "no BPF program in it");
	return nr ? -EINVAL : -ENOENT;
}

/* Why the kernel did not take it: the verifier, or else libbpf, knows more than a number. */
static int fail_load(int err, char *log, char *error, size_t len)
{
	const char *why = *log ? ktb_verifier_reason(log) : said;

	err = err <= -__LIBBPF_ERRNO__START ? -EINVAL : err;
	if (err == -EPERM && !*log)
		why = "to load a program needs CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN";
	snprintf(error, len, "the kernel refused it: %s%s%s", strerror(-err), *why ? ": " : "",
		 why);
	return err;
}

static int load_program(struct bpf_object *object, struct bpf_program *program, char *error,
			size_t len)
{
	char *log = calloc(1, LOG_LEN);
	int err;

	if (!log)
		return fail(-ENOMEM, error, len);
	/* It is filled at a second try, after a refusal. */
	*said = 0;
	bpf_program__set_log_buf(program, log, LOG_LEN);
	err = bpf_object__load(object);
	if (err)
		err = fail_load(err, log, error, len);
	free(log);
	return err;
}

static int load(struct bpf_object *object, const char *wanted, bool counter, char *error,
		size_t len)
{
	struct bpf_program *program;
	int err = choose(object, wanted, &program, error, len), fd;

	if (err)
		return err;
	if (bpf_program__type(program) == BPF_PROG_TYPE_UNSPEC)
		bpf_program__set_type(program, counter ? BPF_PROG_TYPE_PERF_EVENT :
							 BPF_PROG_TYPE_TRACEPOINT);
	err = load_program(object, program, error, len);
	if (err)
		return err;
	/* The object goes; the program stays as long as somebody has it. */
	fd = fcntl(bpf_program__fd(program), F_DUPFD_CLOEXEC, 3);
	return fd >= 0 ? fd : fail(-errno, error, len);
}

static int open_and_load(const char *path, const char *wanted, bool counter, char *error,
			 size_t len)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	int err;

	if (!object)
		return fail(-errno, error, len);
	err = load(object, wanted, counter, error, len);
	bpf_object__close(object);
	return err;
}

int ktb_program_load(const char *path, const char *wanted, bool counter, char *error, size_t len)
{
	libbpf_print_fn_t before;
	int err;

	*error = 0;
	*said = 0;
	pthread_mutex_lock(&printing);
	before = libbpf_set_print(hear);
	err = open_and_load(path, wanted, counter, error, len);
	libbpf_set_print(before);
	pthread_mutex_unlock(&printing);
	return err;
}
#else
int ktb_program_load(const char *path, const char *wanted, bool counter, char *error, size_t len)
{
	(void)path;
	(void)wanted;
	(void)counter;
	snprintf(error, len, "this was built without libbpf, which loads programs");
	return -EOPNOTSUPP;
}
#endif
