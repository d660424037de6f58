/* SPDX-License-Identifier: BSD-2-Clause */
/* ELF notes: a build-id is bytes of the input, of at most 20. */
#include "symbolize/note.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t id[SYM_BUILD_ID_MAX], *copy = fuzz_copy(data, size);
	char text[SYM_BUILD_ID_TEXT], file[SYM_BUILD_ID_TEXT];
	int fd = fuzz_file(data, size);
	size_t n;

	for (size_t align = 4; align <= 8; align += 4) {
		n = sym_note_build_id(copy, size, align, id);
		fuzz_check(n <= sizeof(id) && (!n || memmem(data, size, id, n)));
	}
	n = sym_note_build_id(copy, size < 4096 ? size : 4096, 4, id);
	fuzz_check(!sym_note_read_build_id(fuzz_path(fd), file) == (n > 0));
	if (n) {
		sym_note_hex(id, n, text);
		fuzz_check(!strcmp(text, file) && strlen(text) == 2 * n);
	}
	close(fd);
	free(copy);
	return 0;
}
