#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What `make install` puts in place works from there, the README's program too, and goes away again.
. "$(dirname "$0")/lib.sh"

root=$tmp/root
run make --no-print-directory install DESTDIR="$root" PREFIX=/usr
is 'make install' "$status" 0
is 'what is installed' "$(cd "$root" && find . -type f | sort | grep -v '/include/rawprof/' | tr '\n' ' ')" \
	"./usr/bin/rawprof ./usr/lib/librawprof.a ./usr/lib/pkgconfig/rawprof.pc ./usr/share/bash-completion/completions/rawprof ./usr/share/man/man1/rawprof.1 "
is 'every public header' "$(cd "$root/usr/include/rawprof" && ls)" "$(cd include/rawprof && ls)"
run "$root/usr/bin/rawprof" --version
version=$(sed 's/rawprof //' "$out")

if command -v pkg-config >/dev/null; then
	export PKG_CONFIG_PATH=$root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
	is 'pkg-config has the same version' "$(pkg-config --modversion rawprof)" "$version"
	flags=$(pkg-config --cflags --libs rawprof)
else
	flags="-I$root/usr/include -L$root/usr/lib -lrawprof -lelf -lz"
fi

# The program in README.md, as it stands there.
sed -n '/^```c$/,/^```$/p' README.md | sed '/^```/d' >"$tmp/calls.c"
# shellcheck disable=SC2086 # a list of flags
run gcc -Wall -Werror -Wno-missing-field-initializers -D_GNU_SOURCE -o "$tmp/calls" "$tmp/calls.c" $flags
is 'the program of README.md builds against it' "$status" 0
if can_profile; then
	run "$tmp/calls"
	is 'and does what README.md says' "$(cat "$out")" "$(sed -n 's/^    \([0-9]* system calls\)$/\1/p' README.md)"
	sed 's/STX(DW, R10, PID, R0)/STX(DW, R10, PID, R3)/' "$tmp/calls.c" >"$tmp/bad.c"
	# shellcheck disable=SC2086
	run gcc -D_GNU_SOURCE -o "$tmp/bad" "$tmp/bad.c" $flags
	run "$tmp/bad"
	has 'the verifier quotes its lines' "$err" '; STX\(DW, R10, PID, R3\) @ .*bad\.c:14'
else
	skip 'and does what README.md says' "$why_not"
fi

# An application that records stacks needs the library alone.
cp examples/record/record.c "$tmp/record.c"
# shellcheck disable=SC2086
run gcc -Wall -Werror -D_GNU_SOURCE -o "$tmp/record" "$tmp/record.c" $flags
is 'examples/record builds against it' "$status" 0
if can_profile; then
	run "$tmp/record" "$work/split" 1
	is 'examples/record: status of the program' "$status" 0
	near 'examples/record: names and shares' "$(share "$out" ';work_60( |;)')" 60 8
	run "$tmp/record" sh -c 'exit 3'
	is 'examples/record: passes a status on' "$status" 3
	run "$tmp/record" /no/such/program
	is 'examples/record: what cannot be run' "$status" 1
	has 'examples/record: and says so' "$err" 'cannot run /no/such/program: No such file'
else
	skip 'examples/record' "$why_not"
fi

# Headers stand on their own, in C and in C++ projects' C files alike.
for h in include/rawprof/*.h; do
	echo "#include <rawprof/$(basename "$h")>" >"$tmp/h.c"
	run gcc -std=gnu11 -Wall -Werror -D_GNU_SOURCE -fsyntax-only "-I$root/usr/include" "$tmp/h.c"
	is "$(basename "$h") needs no other" "$status" 0
done

run make --no-print-directory uninstall DESTDIR="$root" PREFIX=/usr
is 'make uninstall leaves no file' "$(find "$root" -type f)" ''

# One static file that runs where there is nothing.
if echo 'int main(void){return 0;}' | gcc -static -x c - -o /dev/null 2>/dev/null; then
	run make --no-print-directory static
	is 'make static' "$status" 0
	holds 'the static file is below 3.5 MB' "$(stat -c %s build/static/rawprof) < 3500000"
	lacks 'the static file needs no library' <(readelf -d build/static/rawprof) NEEDED
	for option in --lines --inline; do
		run build/static/rawprof cpu $option -- true
		is "the static file has no libdw: $option is bad usage" "$status" 2
		has "and it says so" "$err" "^rawprof cpu: $option: this rawprof was built without libdw, which that needs"
	done
	if can_profile; then
		mkdir -p "$tmp/empty/proc" "$tmp/empty/sys"
		cp build/static/rawprof "$tmp/empty/rawprof"
		if mount -t proc proc "$tmp/empty/proc" 2>/dev/null; then
			"$work/split" 20 &
			pid=$!
			run chroot "$tmp/empty" /rawprof cpu -F 999 --format folded -p $pid -d 1
			kill $pid
			umount "$tmp/empty/proc"
			is 'in an empty root: status' "$status" 0
			near 'in an empty root: names of a program outside' "$(share "$out" ';work_60( |;)')" 60 6
		else
			skip 'in an empty root' 'mount is not allowed here'
		fi
	fi
else
	skip 'make static' 'no static libc is installed'
fi
finish
