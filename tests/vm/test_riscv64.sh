#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Everything compiles for riscv64, without a warning, with the headers of this machine's libraries. Linked it is
# not: Debian 12 has no libelf for riscv64.
. "$(dirname "$0")/../cli/lib.sh"

cross=riscv64-linux-gnu-
if ! command -v ${cross}gcc >/dev/null || [ ! -e /usr/${cross%-}/include/stdlib.h ]; then
	skip 'compiling for riscv64' "gcc-${cross%-} or libc6-dev-riscv64-cross is not installed"
	finish
fi
build=${BUILD:-build}/${cross%-}
env -u MAKEFLAGS -u MAKELEVEL make -k -j"$(nproc)" CROSS=$cross SYSROOT= BUILD="$build" CFLAGS=-O1 WERROR=-Werror \
	objects >"$out" 2>"$err"
last_command='make objects'
is 'compiling for riscv64: status' $? 0
for folder in asm loader symbolize report programs cli; do
	missing=''
	for source in "$folder"/*.c; do
		[ -e "$build/${source%.c}.o" ] || missing="$missing $source"
	done
	is "riscv64: all of $folder/" "$missing" ''
done
readelf -h "$build/asm/arch.o" >"$tmp/head" 2>&1
has 'riscv64: it is code for RISC-V' "$tmp/head" 'Machine: +RISC-V'
has 'riscv64: of 64 bits' "$tmp/head" 'Class: +ELF64'
readelf -rW "$build/asm/arch.o" >"$tmp/relocations" 2>&1
has 'riscv64: asm_arch_host is that of RISC-V' "$tmp/relocations" ' asm_arch_riscv64 '
lacks 'riscv64: and no other' "$tmp/relocations" ' asm_arch_(x86_64|arm64) '
finish
