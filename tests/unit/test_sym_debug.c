/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that are not in the file itself: separate debug files, .gnu_debugdata, packed tables. */
#include <zlib.h>

#include "symbolize/symtab.h"
#include "sym_user.h"

enum { BASE = 0x400000 };

/* A program in which only .symtab has the names, and copies of it: whole, stripped, debug data. */
static void compile(const char *flags)
{
	static const char source[] =
		"static int __attribute__((noinline)) first(int x) { return x * 3; }\n"
		"int __attribute__((noinline)) second(int x) { return first(x) + 1; }\n"
		"int main(int n, char **v) { return second(n); }\n";

	run("mkdir -p %s/bin %s/proc/1 %s/root && ln -s %s/root %s/proc/1/root", dir, dir, dir, dir,
	    dir);
	write_file(in_dir("a.c"), source, strlen(source));
	run("cd %s && gcc -w -g -O1 -no-pie -Wl,-z,noseparate-code %s -o whole a.c", dir, flags);
	run("cd %s && strip -s -o bin/a whole && objcopy --only-keep-debug whole a.debug", dir);
}

static uint64_t address_of(const char *name)
{
	char command[600], text[32] = "";
	FILE *p;

	snprintf(command, sizeof(command), "nm %s/whole | sed -n 's/ . %s$//p'", dir, name);
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), p));
	pclose(p);
	return strtoull(text, NULL, 16);
}

/* The path below the root of the process at which its debug file is known by its build-id. */
static const char *build_id_path(void)
{
	static char path[600];
	char command[600], id[64] = "";
	FILE *p;

	snprintf(command, sizeof(command), "readelf -n %s/whole | sed -n 's/.*Build ID: //p'", dir);
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	ck_assert_ptr_nonnull(fgets(id, sizeof(id), p));
	pclose(p);
	id[strcspn(id, "\n")] = '\0';
	snprintf(path, sizeof(path), "root/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	return path;
}

static void map_program(void)
{
	map(10, 1, BASE, BASE + 0x2000, 0, in_dir("bin/a"));
}

static struct sym_frame look_at(const char *name)
{
	return look(1, 10, address_of(name) + 1);
}

static void ck_named(void)
{
	ck_assert_pstr_eq(look_at("first").name, "first");
	ck_assert_pstr_eq(look_at("second").name, "second");
	ck_assert_uint_eq(look_at("second").offset, 1);
	ck_assert(!look_at("second").is_place);
}

static void ck_not_named(void)
{
	ck_assert(!look_at("first").name || look_at("first").is_place);
}

/* ---- by build-id */

START_TEST(test_build_id)
{
	compile("-Wl,--build-id=sha1");
	run("cd %s && install -D a.debug %s", dir, build_id_path());
	map_program();
	ck_named();
}
END_TEST

/* As Fedora has it: a link, followed below the root of the process and no further. */
START_TEST(test_build_id_link)
{
	compile("-Wl,--build-id=sha1");
	run("cd %s && install -D a.debug root/usr/lib/debug/bin/a.debug", dir);
	run("cd %s && install -D /dev/null %s", dir, build_id_path());
	run("cd %s && ln -sf /usr/lib/debug/bin/a.debug %s", dir, build_id_path());
	map_program();
	ck_named();
}
END_TEST

/* At the right place lies the file of another program, or one that is no ELF file. */
START_TEST(test_build_id_of_another)
{
	compile("-Wl,--build-id=sha1");
	if (_i)
		run("cd %s && objcopy --remove-section .note.gnu.build-id whole other", dir);
	else
		run("cd %s && echo text >other", dir);
	run("cd %s && install -D other %s", dir, build_id_path());
	map_program();
	ck_not_named();
}
END_TEST

/* Any user can show a file as nobody's, by a mount in a namespace; root's recording is nobody. */
START_TEST(test_build_id_of_nobody)
{
	const uid_t nobody = 65534;

	if (getuid()) {
		printf("skip: to be nobody needs root\n");
		return;
	}
	compile("-Wl,--build-id=sha1");
	run("cd %s && install -D a.debug %s && chmod -R a+rX .", dir, build_id_path());
	map_program();
	run("cd %s && chown %u %s", dir, _i ? 0 : nobody, build_id_path());
	ck_assert(!setresuid(nobody, nobody, 0));
	if (_i)
		ck_named();
	else
		ck_not_named();
	ck_assert(!setresuid(0, 0, 0));
}
END_TEST

/* ---- by link */

static const char *const places[] = { "bin/", "bin/.debug/", NULL };

static void install_link(int place)
{
	run("cd %s && objcopy --add-gnu-debuglink=a.debug bin/a", dir);
	if (places[place])
		run("cd %s && install -D a.debug %sa.debug", dir, places[place]);
	else
		run("cd %s && install -D a.debug root/usr/lib/debug%s/bin/a.debug", dir, dir);
}

START_TEST(test_link)
{
	compile("-Wl,--build-id=none");
	install_link(_i);
	map_program();
	ck_named();
}
END_TEST

/* The checksum is that of another version of the file. */
START_TEST(test_link_to_another)
{
	compile("-Wl,--build-id=none");
	run("cd %s && cp a.debug kept && echo >>kept", dir);
	install_link(0);
	run("cd %s && cp kept bin/a.debug", dir);
	map_program();
	ck_not_named();
}
END_TEST

/* The build-id says more than the checksum: it is in both files, and differs. */
START_TEST(test_link_other_build_id)
{
	compile("-Wl,--build-id=0x1234567890");
	run("cd %s && gcc -w -g -O1 -no-pie -Wl,-z,noseparate-code -Wl,--build-id=0x1234567891 "
	    "-o other a.c && objcopy --only-keep-debug other a.debug",
	    dir);
	install_link(0);
	map_program();
	ck_not_named();
}
END_TEST

/*
 * Links that lead out of the directory, to nothing, or that are cut off; what they are cut from
 * would do.
 */
START_TEST(test_bad_links)
{
	static const struct {
		const char *name;
		size_t size; /* with its padding */
		bool is_good;
		size_t cut; /* bytes that are missing of the checksum */
	} links[] = {
		{ "x.debug", 8, true, 0 },
		{ "x.debug", 8, false, 1 },
		{ "x.debug", 8, false, 4 },
		{ "x.debug", 7, false, 4 },
		{ "../x/a.debug", 16, false, 0 },
		{ "", 4, false, 0 },
		{ "", 0, false, 4 },
	};
	char link[32] = "";
	uint32_t crc = 0;
	FILE *f;

	compile("-Wl,--build-id=none");
	f = fopen(in_dir("a.debug"), "r");
	ck_assert_ptr_nonnull(f);
	for (int c; (c = getc(f)) != EOF;)
		crc = crc32(crc, &(Bytef){ c }, 1);
	fclose(f);
	strcpy(link, links[_i].name);
	memcpy(link + links[_i].size, &crc, sizeof(crc));
	write_file(in_dir("link"), link, links[_i].size + sizeof(crc) - links[_i].cut);
	run("cd %s && mkdir x && cp a.debug x/ && cp a.debug bin/x.debug && "
	    "objcopy --add-section .gnu_debuglink=link bin/a",
	    dir);
	map_program();
	if (links[_i].is_good)
		ck_named();
	else
		ck_not_named();
}
END_TEST

/* ---- which of several */

/* The debug file's names count for more than the program's own, which are those of its makers. */
START_TEST(test_debug_before_own)
{
	compile("-Wl,--build-id=sha1");
	run("cd %s && cp whole bin/a && objcopy --redefine-sym first=better a.debug", dir);
	run("cd %s && install -D a.debug %s", dir, build_id_path());
	map_program();
	ck_assert_pstr_eq(look_at("first").name, "better");
	ck_assert_pstr_eq(look_at("second").name, "second");
}
END_TEST

/* A debug file that was made without symbols leaves the program's own. */
START_TEST(test_debug_without_symbols)
{
	compile("-Wl,--build-id=sha1");
	run("cd %s && cp whole bin/a && strip -s --keep-section=.debug_info -o b.debug whole", dir);
	run("cd %s && install -D b.debug %s", dir, build_id_path());
	map_program();
	ck_named();
}
END_TEST

/* ---- .gnu_debugdata */

static bool have_xz(void)
{
	return !system("command -v xz >/dev/null");
}

static void add_debugdata(const char *symbols)
{
	run("cd %s && printf '%s' >keep && objcopy -S --keep-symbols=keep a.debug mini && "
	    "xz -f mini && objcopy --add-section .gnu_debugdata=mini.xz bin/a",
	    dir, symbols);
}

START_TEST(test_debugdata)
{
	if (!have_xz())
		return;
	compile("-rdynamic");
	add_debugdata("first\\n");
	map_program();
#ifdef HAVE_LZMA
	ck_named(); /* second is in .dynsym */
#else
	ck_assert_pstr_eq(look_at("second").name, "second");
#endif
}
END_TEST

/* It is asked only if there is no .symtab. */
START_TEST(test_debugdata_last)
{
	if (!have_xz())
		return;
	compile("-Wl,--build-id=none");
	run("cd %s && objcopy --redefine-sym first=wrong a.debug && cp whole bin/a", dir);
	add_debugdata("wrong\\n");
	map_program();
	ck_named();
}
END_TEST

START_TEST(test_bad_debugdata)
{
	static const char *const commands[] = {
		": >d",				/* nothing */
		"head -c 5000 /dev/urandom >d", /* not xz */
		"echo text | xz >d",		/* not ELF */
		"xz -c whole | head -c 900 >d", /* cut off */
		"head -c 300000000 /dev/zero | xz -0 >d",
	};

	if (!have_xz())
		return;
	compile("-Wl,--build-id=none");
	run("cd %s && %s", dir, commands[_i]);
	run("cd %s && objcopy --add-section .gnu_debugdata=d bin/a", dir);
	map_program();
	ck_not_named();
}
END_TEST

/* ---- packed tables */

static struct elf_file file;

static Elf64_Shdr *header(int section)
{
	return (Elf64_Shdr *)(file.bytes + file.section_headers) + section;
}

static void pack(int section)
{
	static _Alignas(16) unsigned char packed[8192];
	Elf64_Shdr *sh = header(section);
	Elf64_Chdr ch = { ELFCOMPRESS_ZLIB, 0, sh->sh_size, sh->sh_addralign };
	uLongf size = sizeof(packed) - sizeof(ch);

	memcpy(packed, &ch, sizeof(ch));
	ck_assert_int_eq(
		compress(packed + sizeof(ch), &size, file.bytes + sh->sh_offset, sh->sh_size),
		Z_OK);
	memset(file.bytes + sh->sh_offset, 0, sh->sh_size);
	sh->sh_offset = elf_put(&file, packed, sizeof(ch) + size);
	sh->sh_size = sizeof(ch) + size;
	sh->sh_flags |= SHF_COMPRESSED;
	sh->sh_addralign = 8;
}

static void build_packed(void)
{
	static const struct elf_symbol syms[] = {
		{ "alpha", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 0 },
		{ "beta", 0x1010, 0x10, STT_FUNC, STB_LOCAL, 0 },
	};

	elf_build(&file, syms, 2, NULL, 0, NULL);
	pack(S_SYMTAB);
	pack(S_STRTAB);
}

static const char *packed_name(uint64_t addr)
{
	struct sym_strings strings = { 0 };
	struct sym_object *object = NULL;
	struct sym_symtab *symtab = NULL;
	static char copy[64];
	const char *name;
	uint64_t start;
	bool found;

	if (sym_object_open_image(&object, file.bytes, file.size))
		return NULL;
	ck_assert_int_eq(sym_symtab_open(&symtab, object, NULL, &strings), 0);
	found = sym_symtab_lookup(symtab, addr, &name, &start);
	if (found)
		snprintf(copy, sizeof(copy), "%s", name);
	sym_symtab_close(symtab);
	sym_object_close(object);
	sym_strings_free(&strings);
	return found ? copy : NULL;
}

START_TEST(test_packed)
{
	build_packed();
	ck_assert_pstr_eq(packed_name(0x1004), "alpha");
	ck_assert_pstr_eq(packed_name(0x101f), "beta");
	ck_assert_pstr_eq(packed_name(0x1020), NULL);
}
END_TEST

/* A section that promises more or less than there is, or is packed in a way nobody knows. */
START_TEST(test_packed_badly)
{
	static const uint64_t sizes[] = { 0, 1, 7, 1 << 20, 1ULL << 40, UINT64_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (int section = S_SYMTAB; section <= S_STRTAB; section++) {
			build_packed();
			((Elf64_Chdr *)(file.bytes + header(section)->sh_offset))->ch_size =
				sizes[i];
			ck_assert_pstr_eq(packed_name(0x1004), NULL);
		}
	}
	build_packed();
	((Elf64_Chdr *)(file.bytes + header(S_SYMTAB)->sh_offset))->ch_type = 77;
	ck_assert_pstr_eq(packed_name(0x1004), NULL);
	build_packed();
	header(S_SYMTAB)->sh_size = 3;
	ck_assert_pstr_eq(packed_name(0x1004), NULL);
}
END_TEST

/* ---- what is installed */

struct libc {
	char path[512];
	uint64_t start, end, offset;
};

static bool find_libc(struct libc *c)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[1024];
	bool found = false;

	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%" SCNx64 "-%" SCNx64 " r-xp %" SCNx64 " %*s %*s %511s",
			       &c->start, &c->end, &c->offset, c->path) == 4 &&
			strstr(c->path, "/libc.so.6");
	fclose(f);
	return found;
}

/* With the C library's debug symbols installed its static functions have names: nm's. */
START_TEST(test_libc)
{
	char command[1200], line[512], name[256];
	uint64_t addr, size, static_names = 0;
	struct libc c;
	FILE *p;

	if (!find_libc(&c))
		return; /* another C library */
	snprintf(command, sizeof(command),
		 "id=$(readelf -n %s | sed -n 's/.*Build ID: //p') && "
		 "nm -S /usr/lib/debug/.build-id/$(echo $id | sed 's/../&\\//').debug 2>/dev/null",
		 c.path);
	map(10, 1, c.start, c.end, c.offset, c.path);
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	while (fgets(line, sizeof(line), p)) {
		struct sym_frame f;
		uint64_t at;

		if (sscanf(line, "%" SCNx64 " %" SCNx64 " t %255s", &addr, &size, name) != 3 ||
		    !size || strchr(name, '.'))
			continue;
		at = c.start + addr - c.offset; /* of this library's code, address is offset */
		if (at < c.start || at >= c.end)
			continue;
		f = look(1, 10, at + size - 1);
		ck_assert_msg(f.name && !f.is_place, "%s", line);
		ck_assert_uint_eq(f.module_addr, addr + size - 1);
		static_names += !strcmp(f.name, name);
	}
	pclose(p);
	if (static_names) /* else the debug symbols are not installed */
		ck_assert_uint_ge(static_names, 500);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("debug files");
	TCase *t = tcase_create("debug files");

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	tcase_add_test(t, test_build_id);
	tcase_add_test(t, test_build_id_link);
	tcase_add_loop_test(t, test_build_id_of_another, 0, 2);
	tcase_add_loop_test(t, test_build_id_of_nobody, 0, 2);
	tcase_add_loop_test(t, test_link, 0, 3);
	tcase_add_test(t, test_link_to_another);
	tcase_add_test(t, test_link_other_build_id);
	tcase_add_loop_test(t, test_bad_links, 0, 7);
	tcase_add_test(t, test_debug_before_own);
	tcase_add_test(t, test_debug_without_symbols);
	tcase_add_test(t, test_debugdata);
	tcase_add_test(t, test_debugdata_last);
	tcase_add_loop_test(t, test_bad_debugdata, 0, 5);
	tcase_add_test(t, test_packed);
	tcase_add_test(t, test_packed_badly);
	tcase_add_test(t, test_libc);
	return run_all(s, t);
}
