/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --annotate: the instructions of a function, with what was at each of them. objdump takes the file
 * apart, if it is the one that was recorded, which its build id says. BPF programs are taken from
 * the kernel (annotate_bpf.c). A file may have been made for what objdump does wrong: root's has
 * the rights of the owner of the file, and nothing else of root's.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/keyctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/text.h"
#include "annotate.h"
#include "symbolize/symtab.h"

/* No function is longer, or has more instructions; what is beyond is not shown. */
#define LONGEST_FUNCTION (1 << 20)
/* The file says how long names are, which stand at each call: so much of a line, and in all. */
#define LONGEST_LINE 4096
#define MOST_TEXT (256u << 20)
#define OBJDUMP_MEMORY (2ull << 30) /* for what another user owns */

/* How objdump ends that has not begun, as of a shell. */
enum { CANNOT_RUN = 126, NOT_FOUND = 127 };

/* The file of the function; *fd stays open while it is read by others. */
static int open_file(const struct report_place *p, struct sym_object **object, int *fd)
{
	const char *path = p->module ? p->module : "it";
	int err;

	if (p->kind == REPORT_KERNEL || p->kind == REPORT_MARK || p->kind == REPORT_JIT ||
	    p->kind >= REPORT_PYTHON || !p->module || *p->module != '/')
		return rp_fail(-ENOENT, "--annotate: the code of %s is in no file", p->name);
	if (!p->build_id)
		return rp_fail(-ENOENT,
			       "--annotate: whether %s is the file that was recorded is not to be "
			       "told: it has no build id",
			       path);
	*fd = rp_open_regular(AT_FDCWD, path);
	if (*fd < 0)
		return rp_fail(*fd, "--annotate: cannot read %s: %s", path, strerror(-*fd));
	err = sym_object_open(object, dup(*fd));
	if (!err && strcmp((*object)->build_id, p->build_id)) {
		err = rp_fail(-ESTALE,
			      "--annotate: %s is another file than was recorded: its build id is "
			      "%s, not %s",
			      path, *(*object)->build_id ? (*object)->build_id : "not there",
			      p->build_id);
		sym_object_close(*object);
	} else if (err) {
		rp_fail(err, "--annotate: cannot read %s: %s", path, strerror(-err));
	}
	if (err)
		close(*fd);
	return err;
}

/* Where the function ends: at the first address that its symbol does not have; past the last place
 * where there is no symbol. */
static uint64_t find_end(struct sym_object *object, const struct report_place *places, size_t n)
{
	const uint64_t start = places->start, last = places[n - 1].address;
	struct sym_strings strings = { 0 };
	struct sym_symtab *t = NULL;
	uint64_t end = start, begin;
	const char *name;

	if (!sym_symtab_open(&t, object, NULL, &strings))
		while (end - start < LONGEST_FUNCTION && sym_symtab_lookup(t, end, &name, &begin) &&
		       begin == start)
			end++;
	sym_symtab_close(t);
	sym_strings_free(&strings);
	return end > last ? end : last + 16;
}

/* What is worth something at addresses below this one and has not been shown. */
static void take_places(struct annotation *a, uint64_t below, struct report_code_line *line)
{
	for (; a->next < a->n && a->places[a->next].address < below; a->next++) {
		line->self += a->places[a->next].self;
		line->total += a->places[a->next].total;
	}
}

int report_annotate_line(struct annotation *a, const char *line, uint64_t below)
{
	struct report_code *code = a->code;
	struct report_code_line l = { .text = strdup(line) };
	int err = l.text ? 0 : -ENOMEM;

	take_places(a, below, &l);
	*a->bytes += sizeof(l) + strlen(line);
	if (*a->bytes > MOST_TEXT)
		err = rp_fail(-EFBIG, "--annotate: its code takes more than 256 MB as text");
	if (!err)
		err = RP_PUSH(code->lines, code->n, code->capacity, l);
	if (err)
		free(l.text);
	return err;
}

/* "  401136:\tmov ..."; false: another line of objdump. */
static bool is_instruction(const char *line, uint64_t *address)
{
	char *end;

	*address = strtoull(line, &end, 16);
	return end != line && *end == ':' && (end[1] == '\t' || end[1] == ' ');
}

/* The next line, or how it begins. False: that was the last one. */
static bool next_line(FILE *in, char line[LONGEST_LINE])
{
	int c = 0;

	if (!fgets(line, LONGEST_LINE, in))
		return false;
	if (!strchr(line, '\n'))
		while (c != EOF && c != '\n')
			c = getc_unlocked(in);
	line[strcspn(line, "\n")] = '\0';
	return true;
}

/* Each is put down when the next is there: what is between them belongs to it. */
static int read_lines(struct annotation *a, FILE *in)
{
	char line[LONGEST_LINE], before[LONGEST_LINE] = "";
	uint64_t address;
	int err = 0;

	while (!err && a->code->n < LONGEST_FUNCTION && next_line(in, line)) {
		if (!is_instruction(line, &address))
			continue;
		for (char *tab = line; (tab = strchr(tab, '\t')); tab++)
			*tab = ' ';
		if (*before)
			err = report_annotate_line(a, before, address);
		strcpy(before, line + strspn(line, " "));
	}
	if (*before && !err)
		err = report_annotate_line(a, before, UINT64_MAX);
	return err;
}

#define NOBODY 65534

/*
 * What a process has from its parents, and its owner could take from it: the terminal, into which
 * it could type, and open files, the directory, keys. *env then is without what variables hold.
 */
static bool give_up_what_it_has(char *path[2], char ***env)
{
	const char *found = getenv("PATH");
	const int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, STDERR_FILENO) < 0 || chdir("/"))
		return false;
	if (close_range(3, ~0U, 0)) /* before Linux 5.9 */
		for (int fd = 3; fd < 1 << 16; fd++)
			close(fd);
	setsid();
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	if (found && asprintf(&path[0], "PATH=%s", found) < 0)
		return false;
	*env = path;
	return true;
}

/*
 * Its files are the owner's, but it is nobody's: so the kernel lets the owner neither trace it nor
 * look into it, as with a program that is set-user-ID.
 */
static bool become(const struct stat *owner)
{
	const uid_t uid = owner->st_uid;
	const gid_t gid = owner->st_gid;

	return !setgroups(0, NULL) && !setresgid(gid, gid, gid) &&
	       (!setresuid(NOBODY, uid, uid) || (errno == EINVAL && !setresuid(uid, uid, uid)));
}

/* The file comes as its standard input, which is the file that we have read. */
static void __attribute__((noreturn)) run_objdump(int file, int out, const struct annotation *a)
{
	char start[40], stop[40];
	char *const argv[] = { (char[]){ "objdump" },
			       (char[]){ "--disassemble" },
			       (char[]){ "--demangle" },
			       (char[]){ "--no-show-raw-insn" },
			       start,
			       stop,
			       (char[]){ "/proc/self/fd/0" },
			       NULL };
	char *path[2] = { NULL, NULL }, **env = environ;
	const struct rlimit memory = { OBJDUMP_MEMORY, OBJDUMP_MEMORY };
	struct stat st;

	snprintf(start, sizeof(start), "--start-address=0x%" PRIx64, a->places->start);
	snprintf(stop, sizeof(stop), "--stop-address=0x%" PRIx64, a->end);
	if (fstat(file, &st) || dup2(file, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(CANNOT_RUN);
	if (st.st_uid && st.st_uid != geteuid())
		setrlimit(RLIMIT_AS, &memory); /* fails where there is less already */
	if (!geteuid() && st.st_uid && !(give_up_what_it_has(path, &env) && become(&st)))
		_exit(CANNOT_RUN);
	execvpe(*argv, argv, env);
	_exit(errno == ENOENT ? NOT_FOUND : CANNOT_RUN);
}

/* Its output is a pipe. */
static int start_objdump(int file, const struct annotation *a, pid_t *pid, FILE **out)
{
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	*out = fdopen(ends[0], "r");
	*pid = *out ? fork() : -1;
	err = *pid < 0 ? -errno : 0;
	if (!*pid)
		run_objdump(file, ends[1], a);
	close(ends[1]);
	if (err && *out)
		fclose(*out);
	else if (err)
		close(ends[0]);
	return err;
}

static int take_apart(struct annotation *a, int file)
{
	FILE *in = NULL;
	pid_t pid = -1;
	int err = start_objdump(file, a, &pid, &in), status = 0;

	if (err)
		return rp_fail(err, "--annotate: cannot start objdump: %s", strerror(-err));
	err = read_lines(a, in);
	fclose(in);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
		return rp_fail(-ENOENT,
			       "--annotate: objdump takes files apart, and is not installed "
			       "(package binutils)");
	if (!err && (!a->code->n || (status && a->code->n < LONGEST_FUNCTION)))
		err = rp_fail(-EIO, "--annotate: objdump cannot take it apart");
	return err;
}

static int annotate_one(struct annotation *a)
{
	const struct report_place *p = a->places;
	struct sym_object *object;
	int fd = -1, err;

	if (report_is_bpf(p))
		return report_annotate_bpf(a);
	err = open_file(p, &object, &fd);
	if (err)
		return err;
	a->end = find_end(object, p, a->n);
	err = take_apart(a, fd);
	sym_object_close(object);
	close(fd);
	return err;
}

/* So many of the places are of the first one's function. */
static size_t same_function(const struct report_place *p, size_t n)
{
	size_t end = 0;

	while (end < n && p[end].start == p->start && p[end].module == p->module &&
	       p[end].build_id == p->build_id)
		end++;
	return end;
}

static int add_function(struct report_annotated *out, const struct report_place *p, size_t n)
{
	struct report_code code = { .name = p->name, .module = p->module };
	struct annotation a = { .places = p, .n = n, .bytes = &out->bytes };
	int err;

	for (size_t i = 0; i < n; i++) {
		code.self += p[i].self;
		code.total += p[i].total;
	}
	err = RP_PUSH(out->code, out->n, out->capacity, code);
	if (err)
		return err;
	a.code = &out->code[out->n - 1];
	return annotate_one(&a);
}

int report_annotate(const struct report *r, const char *function, unsigned int weight,
		    struct report_annotated *out, bool *usage)
{
	struct report_place *places = NULL;
	char why[REPORT_WHY];
	size_t n, same;
	int err = report_places(r, function, weight, &places, &n, why);

	*out = (struct report_annotated){ .whole = report_total(r, weight) };
	*usage = err == -EINVAL;
	if (err)
		return *usage ? rp_fail(err, "--annotate '%s': %s", function, why) : err;
	for (size_t at = 0; at < n && !err; at += same) {
		same = same_function(&places[at], n - at);
		err = add_function(out, &places[at], same);
	}
	free(places);
	return err;
}

void report_annotated_free(struct report_annotated *a)
{
	for (size_t i = 0; i < a->n; i++) {
		for (size_t k = 0; k < a->code[i].n; k++)
			free(a->code[i].lines[k].text);
		free(a->code[i].lines);
	}
	free(a->code);
}

/* ---- as text */

static void print_line(const struct report_code_line *l, uint64_t whole, FILE *out)
{
	if (!l->total)
		fprintf(out, "%32s", "");
	else
		fprintf(out, " %5.1f%% %12" PRIu64 " %11" PRIu64,
			100.0 * (double)l->total / (double)whole, l->total, l->self);
	rp_text_print(out, "  %s\n", l->text);
}

/* Functions of that name one after the other. */
void report_annotated_print(const struct report_annotated *a, FILE *out)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct report_code *code = &a->code[i];

		if (i)
			fputc('\n', out);
		rp_text_print(out,
			      "%s, %s: %" PRIu64 " in it and what it calls, %" PRIu64
			      " in itself\n\n",
			      code->name, code->module, code->total, code->self);
		fprintf(out, "               TOTAL        SELF  INSTRUCTION\n");
		for (size_t k = 0; k < code->n; k++)
			print_line(&code->lines[k], a->whole, out);
	}
}
