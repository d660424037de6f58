#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Symbols and lines from a server that knows debug files by build-id: --debuginfod.
. "$(dirname "$0")/lib.sh"
need_profile

unset DEBUGINFOD_URLS
run "$rawprof" cpu --debuginfod --format folded -- true
is 'no server is named: refused' $status 1
has 'no server is named: said' "$err" 'DEBUGINFOD_URLS names no server'

if ! command -v "${CC:-gcc}" >/dev/null; then
	skip 'debuginfod' 'no compiler is installed'
	finish
fi

# A stripped program, and what a server has of it.
"${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id=sha1 \
	-o "$tmp/whole" tests/workloads/split.c
objcopy --only-keep-debug "$tmp/whole" "$tmp/whole.debug"
strip -s -o "$tmp/bare" "$tmp/whole"
id=$(readelf -n "$tmp/bare" | sed -n 's/.*Build ID: //p')
mkdir -p "$tmp/served/buildid/$id"
cp "$tmp/whole.debug" "$tmp/served/buildid/$id/debuginfo"
loop=$(grep -n 'i < 100000' tests/workloads/work.h | cut -d: -f1)

# A client library that looks into the directory that is the "server", and writes down what it is asked.
mkdir "$tmp/lib"
cat >"$tmp/client.c" <<'END'
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void *debuginfod_begin(void) { return calloc(1, 8); }
void debuginfod_end(void *client) { free(client); }
static int (*is_over)(void *client, long done, long all);
void debuginfod_set_progressfn(void *client, int (*fn)(void *, long, long)) { is_over = client ? fn : NULL; }
int debuginfod_find_debuginfo(void *client, const unsigned char *id, int len, char **path)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	FILE *log = fopen(getenv("ASKED"), "a");
	char name[1000];
	int fd;

	if (!client || len || path)
		return -EINVAL;
	fprintf(log, "%s\n", id);
	fclose(log);
	if (!strcmp(urls, "down"))
		return -ECONNREFUSED;
	if (!strcmp(urls, "slow") && !strcmp((const char *)id, getenv("SLOW"))) {
		for (int i = 0; i < 600; i++, usleep(100000))
			if (is_over && is_over(client, 0, 0))
				return -EINTR;
	}
	snprintf(name, sizeof(name), "%s/buildid/%s/debuginfo", urls, id);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
END
"${CC:-gcc}" -shared -fPIC -o "$tmp/lib/libdebuginfod.so.1" "$tmp/client.c"
export ASKED="$tmp/asked"

# with_client URLS ARGS...: a profile of the stripped program, by that library.
with_client() {
	: >"$ASKED"
	run env LD_LIBRARY_PATH="$tmp/lib" DEBUGINFOD_URLS="$1" "$rawprof" cpu --format folded -F 999 "${@:2}" -- "$tmp/bare" 1
	[ $status -eq 0 ] || grep -q 'static program' "$err" || fail "rawprof cpu ${*:2}" "status $status"
}

with_client "$tmp/served" --debuginfod
if grep -q 'static program, which can load no library' "$err"; then
	is 'a static program: refused' $status 1
	finish
fi

with_client "$tmp/served"
lacks 'not unless asked for: no names' "$out" 'work_60'
is 'not unless asked for: no question' "$(wc -l <"$ASKED")" 0

with_client "$tmp/served" -v --debuginfod
near 'symbols of a server' "$(share "$out" ';work_60( |;)')" 60 5
is 'each file is asked for once' "$(sort "$ASKED" | uniq -d)" ''
has 'the program is asked for' "$ASKED" "^$id$"
has 'what came of it is said' "$err" 'debuginfod: [0-9]+ files? asked for, 1 found'
if ! grep -q 'built without libdw' "$err"; then
	with_client "$tmp/served" --debuginfod --lines --inline
	holds 'lines of a server' "$(share "$out" "; ?burn_until work\\.h:$loop( |;)") > 30"
fi

with_client down --debuginfod
lacks 'a server that is down: no names' "$out" 'work_60'
has 'a server that is down: said' "$err" 'debuginfod: .* 0 found; the last error: Connection refused'

# A server that takes a minute: for another user's file it is not waited so long, and not again for the next one.
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$tmp"
	mv "$tmp/bare" "$tmp/ours"
	cp "$tmp/ours" "$tmp/bare"
	chown 1234 "$tmp/bare"
	SECONDS=0
	SLOW=$id with_client slow --debuginfod
	holds 'a slow server: time for the file of another user' "$SECONDS >= 9 && $SECONDS < 40"
	has 'a slow server: said' "$err" 'debuginfod: .* 0 found; the last error: Interrupted'
	mv "$tmp/ours" "$tmp/bare"
fi

# A server that has another file under that build-id, and one that has garbage.
"${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -O0 -g -Wl,--build-id=sha1 -o "$tmp/served/buildid/$id/debuginfo" tests/workloads/split.c
with_client "$tmp/served" --debuginfod
lacks 'another file under that build-id' "$out" 'work_60'
head -c 100000 /dev/urandom >"$tmp/served/buildid/$id/debuginfo"
with_client "$tmp/served" --debuginfod
lacks 'garbage: no names' "$out" 'work_60'
rm -r "$tmp/served/buildid"
with_client "$tmp/served" --debuginfod
lacks 'nothing there: no error' "$err" 'debuginfod'

# The library itself, and a server that is one.
if [ ! -e /usr/lib/"$(uname -m)"-linux-gnu/libdebuginfod.so.1 ] && ! ldconfig -p | grep -q 'libdebuginfod\.so\.1 '; then
	run env DEBUGINFOD_URLS=http://127.0.0.1:1 "$rawprof" cpu --debuginfod --format folded -- true
	has 'no library: said' "$err" 'libdebuginfod1'
	skip 'the real library' 'libdebuginfod.so.1 is not installed'
elif ! have_python; then
	skip 'the real library' 'python3 is not installed'
else
	mkdir -p "$tmp/served/buildid/$id"
	cp "$tmp/whole.debug" "$tmp/served/buildid/$id/debuginfo"
	python3 -u -m http.server --bind 127.0.0.1 --directory "$tmp/served" 0 >"$tmp/http" 2>&1 &
	server=$!
	for ((i = 0; i < 50; i++)); do
		port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' "$tmp/http" | head -n 1)
		[ -z "$port" ] || break
		sleep 0.1
	done
	run env DEBUGINFOD_URLS="http://127.0.0.1:$port" DEBUGINFOD_CACHE_PATH="$tmp/cache" \
		"$rawprof" cpu --debuginfod --format folded -F 999 -- "$tmp/bare" 1
	kill $server
	wait $server 2>/dev/null
	near 'symbols by the real library' "$(share "$out" ';work_60( |;)')" 60 5
	has 'the server was asked' "$tmp/http" "GET /buildid/$id/debuginfo"
fi

finish
