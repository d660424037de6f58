# SPDX-License-Identifier: BSD-2-Clause
# rawprof: `make help` lists the targets, V=1 shows the commands.

VERSION := $(shell sed -n 's/^.define RAWPROF_VERSION "\(.*\)"/\1/p' include/rawprof/asm.h)
PREFIX  ?= /usr/local
CFLAGS  ?= -O2 -g
# CROSS=aarch64-linux-gnu- builds for another machine, in a directory of its own.
CROSS   ?=
BUILD   ?= build$(CROSS:%-=/%)
STRIP   ?= $(CROSS)strip
ifeq ($(origin CC),default)
  CC := $(CROSS)gcc
endif
ifeq ($(origin AR),default)
  AR := $(CROSS)ar
endif
PKG_CONFIG ?= pkg-config

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
        -Wwrite-strings -Wvla -Wundef -Wformat=2 -Wno-missing-field-initializers
# Installed headers are <rawprof/…>, those of the house "folder/…"; never <asm/…>, which is the kernel's.
override CPPFLAGS += -Iinclude -iquote . -D_GNU_SOURCE
ALL_CFLAGS = -std=gnu11 $(CFLAGS) $(WARN) $(WERROR) -ffunction-sections -fdata-sections \
             -ffile-prefix-map=$(CURDIR)/= -MMD -MP $(CPPFLAGS)
# What makes a fault in a parser harder to use: checked calls, stack canaries, no address known beforehand, nothing
# to be overwritten that is called through. Sanitizers (tests) have their own.
HARDEN := $(shell for f in -fstack-protector-strong -fstack-clash-protection -fcf-protection=return -fPIE; do \
	echo 'int x;' | $(CC) -Werror $$f -c -x c -o /dev/null - 2>/dev/null && echo $$f; done)
ifeq ($(filter -O0,$(CFLAGS)),)
  HARDEN += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
endif
# 18 KB smaller where nothing is read that other users wrote: canaries there guard arrays of characters alone.
PARSES_NOTHING := asm/% cli/% loader/% programs/% $(addprefix record/,attach cpu looks open run stacks system table_evict table_maker table_place table_store uid_share) report/timeline/% verifier/%
PARSES := loader/side% loader/up% loader/us%
HARDEN_LD := -Wl,-z,relro,-z,now,-z,noexecstack
LIBS       = $(OPTIONAL_LIBS) -lelf -lz -lm -pthread
# Asked for when a recipe needs them, because `make deps` may have to install them first.
CHECK_LIBS  = $(shell $(PKG_CONFIG) --libs check)
STATIC_LIBS = $(OPTIONAL_LIBS) $(if $(filter -ldw,$(OPTIONAL_LIBS)),-lbz2) $(shell $(PKG_CONFIG) --static --libs libelf 2>/dev/null || echo -lelf -lz) -lm -pthread

ifeq ($(CROSS),)
  SYSROOT :=
else
  # The libraries come as packages of that machine, unpacked beside the cache of the VM tests.
  TRIPLET := $(CROSS:%-=%)
  SYSROOT := $(or $(VMCACHE),$(HOME)/.cache/rawprof-vm)/sysroot-$(TRIPLET)
  ifneq ($(SYSROOT),)
    SYSROOT_READY := $(SYSROOT)/ready-$(shell cksum scripts/sysroot | cut -d ' ' -f 1)
    override CPPFLAGS += -isystem $(SYSROOT)/usr/include -isystem $(SYSROOT)/usr/include/$(TRIPLET)
    override LDFLAGS += -L$(SYSROOT)/usr/lib/$(TRIPLET)
    PKG_CONFIG := PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(TRIPLET)/pkgconfig pkg-config
  else
    # SYSROOT= compiles, without linking, with the headers of this machine's libraries.
    override CPPFLAGS += -idirafter /usr/include -idirafter /usr/include/$(shell uname -m)-linux-gnu
  endif
endif

# Taken where they are: libiberty names C++ and Rust functions, libdw lines and inlined functions,
# liblzma unpacks .gnu_debugdata; libcurl, which is loaded when `agent` needs it, sends. MINIMAL=1 leaves them all out. A
# sysroot of ours has them, once made.
OPTIONAL := libiberty/demangle.h=LIBIBERTY=iberty elfutils/libdw.h=LIBDW=dw lzma.h=LZMA=lzma curl/curl.h=CURL=
MINIMAL  ?=
ifneq ($(SYSROOT),)
  OPTIONAL := $(filter-out curl/%,$(OPTIONAL)) # what is built with it is static, and cannot load it
endif
ifeq ($(MINIMAL)$(SYSROOT),)
  OPTIONAL := $(shell for o in $(OPTIONAL); do \
	printf '\043if __has_include(<%s>)\n%s\n\043endif\n' "$${o%%=*}" "$$o"; \
	done | $(CC) $(CPPFLAGS) -E -P -x c - 2>/dev/null)
endif
ifeq ($(MINIMAL),)
  override CPPFLAGS += $(foreach o,$(OPTIONAL),-DHAVE_$(word 2,$(subst =, ,$(o))))
  OPTIONAL_LIBS := $(foreach o,$(OPTIONAL),$(addprefix -l,$(word 3,$(subst =, ,$(o)))))
endif

ifeq ($(V),1)
  say = @:
  Q   :=
else
  say = @printf '  %-7s %s\n' '$(1)' '$(2)'
  Q   := @
endif

# A target that installs packages first builds in a second make, which sees them.
SUBMAKE = $(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$$(nproc))
AGAIN   = +$(Q)$(SUBMAKE)
# `sudo make …` leaves no file behind that its caller may not overwrite.
GIVE_BACK = rc=$$?; [ -z "$$SUDO_UID" ] || chown -Rf "$$SUDO_UID:$$SUDO_GID" build rawprof flame.svg; exit $$rc

LIB_DIR := base asm verifier loader unwind symbolize programs report record
LIB_SRC := $(shell find $(LIB_DIR) -name '*.c')
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
SAN_OBJ := $(LIB_SRC:%.c=$(BUILD)/san/%.o)
CLI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(shell find cli -name '*.c'))
# Scripts and styles of documents are files of their own, and in the library compressed arrays.
PACKED  := $(BUILD)/packed/page.o $(BUILD)/packed/walk.o $(BUILD)/packed/flame.o $(BUILD)/packed/syscalls.o
LIB     := $(BUILD)/librawprof.a
SAN_LIB := $(BUILD)/san/librawprof.a
# What cli/ has to be tested by itself.
SAN_CLI := $(BUILD)/san/cli.a

UNIT     := $(patsubst tests/%.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c))
KERNEL   := $(patsubst tests/%.c,$(BUILD)/%,$(wildcard tests/kernel/test_*.c))
FUZZ     := $(patsubst tests/%.c,$(BUILD)/%,$(filter-out %/driver.c,$(wildcard tests/fuzz/$(or $(T),*).c)))
BENCH    := $(patsubst %.c,$(BUILD)/%,$(filter-out bench/attach_time.c,$(wildcard bench/*.c)))
WORKLOAD := $(patsubst tests/%.c,$(BUILD)/%,$(wildcard tests/workloads/*.c)) \
            $(addprefix $(BUILD)/workloads/,cxx throws split-stripped split-static-pie cuda/libcudart.so.12 context-linked \
            libcontext-old.so)
DEMO     := $(BUILD)/examples/demo/demo
HTML_PAGES := $(BUILD)/html/pages

.PHONY: all
all: rawprof ## build ./rawprof and build/librawprof.a (the default); MINIMAL=1: on libelf and zlib alone

rawprof: $(CLI_OBJ) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(HARDEN_LD) -pie $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(LIBS)

$(LIB): $(LIB_OBJ) $(PACKED)
$(SAN_LIB): $(SAN_OBJ) $(PACKED)
$(SAN_CLI): $(patsubst $(BUILD)/%,$(BUILD)/san/%,$(filter-out %/main.o,$(CLI_OBJ)))
%.a:
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/packed/page.c: $(sort $(wildcard report/html/*.css report/html/*.js)) report/html/page.html
$(BUILD)/packed/walk.c: report/html/walk/walk.css report/html/walk/walk.js report/html/walk/walk.html
$(BUILD)/packed/flame.c: report/flame/flame.css report/flame/flame.js
# Names of the machine's system calls, by their numbers.
$(BUILD)/packed/syscalls.c: $(BUILD)/flags record/probes/syscalls.h
	$(call say,PACK,$@)
	$(Q)mkdir -p $(@D) && { echo '#include <asm/unistd.h>'; echo '#include "record/probes/syscalls.h"'; \
		echo 'const char *const record_syscall_names[] = {'; \
		echo '#include <asm/unistd.h>' | $(CC) $(CPPFLAGS) -E -dM -x c - | \
		sed -nE '/arch_specific_syscall|NR_syscalls/d; s/^.define __NR_([a-z0-9_]+) .*/	[__NR_\1] = "\1",/p'; \
		echo '};'; echo 'const uint32_t record_syscall_count ='; \
		echo '	sizeof(record_syscall_names) / sizeof(*record_syscall_names);'; } > $@
$(BUILD)/packed/%.c: scripts/pack
	$(call say,PACK,$@)
	$(Q)mkdir -p $(@D) && scripts/pack $* $(filter-out scripts/pack,$^) > $@
$(BUILD)/packed/%.o: $(BUILD)/packed/%.c
	$(Q)$(CC) $(ALL_CFLAGS) $(HARDEN) -c -o $@ $<

# `make static` is to stay below 3.5 MB: what runs once in a while is small rather than fast, and nothing has tables to
# be unwound by, which only debuggers would read, and they have those of -g.
ifeq ($(origin CFLAGS),file)
  FAST := bench/% base/hash base/grow $(addprefix unwind/,cfi table) symbolize/radix
  COLD := -Os
  LEAN := -fno-asynchronous-unwind-tables
endif
$(BUILD)/%.o: %.c $(BUILD)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(HARDEN) $(LEAN) $(if $(filter $(FAST),$*),,$(COLD)) \
		$(if $(filter $(PARSES_NOTHING),$(filter-out $(PARSES),$*)),-fstack-protector) -c -o $@ $<

# Other flags, another build: this file changes when they do.
FLAGS := $(CC) $(ALL_CFLAGS) $(HARDEN) $(HARDEN_LD) $(LEAN) $(COLD) $(FAST) $(PARSES_NOTHING) $(PARSES) $(LDFLAGS) $(FUZZER)
$(BUILD)/flags: WORDS = $(FLAGS)
$(BUILD)/static/flags: WORDS = LIBDW=$(LIBDW)
$(BUILD)/flags $(BUILD)/static/flags: FORCE | $(SYSROOT_READY)
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(WORDS))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(WORDS))' > $@
.PHONY: FORCE
FORCE:

$(SYSROOT_READY):
	$(Q)scripts/sysroot $(TRIPLET) $(SYSROOT)

.PHONY: run
run: deps ## build what is there to see: profile a small demo for 5 s, show the table, write flame.svg
	$(AGAIN) rawprof $(DEMO)
	$(Q)scripts/run-demo ./rawprof $(DEMO); $(GIVE_BACK)

# ---- tests -------------------------------------------------------------------------------------

# Unit tests are built apart from the product, with sanitizers; examples/none.c: no lessons of the course, which explain
# lists.
SAN := -fsanitize=address,undefined$(FUZZER:%=,%-no-link) -fno-sanitize-recover=undefined -fno-omit-frame-pointer
$(BUILD)/san/%.o: %.c $(BUILD)/flags
	$(call say,CC-SAN,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(SAN) -c -o $@ $<
$(BUILD)/unit/%: tests/unit/%.c examples/none.c $(SAN_CLI) $(SAN_LIB)
	$(call say,TEST,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(SAN) -o $@ $(filter %.c,$^) $(SAN_CLI) $(SAN_LIB) $(CHECK_LIBS) $(LIBS)
$(BUILD)/kernel/%: tests/kernel/%.c $(LIB)
	$(call say,TEST,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -o $@ $< $(LIB) $(CHECK_LIBS) $(LIBS)

.PHONY: check check-unit check-valgrind check-kernel check-cli check-consumers check-house
check: deps-check ## install what tests lack, build, run all tests that this user may run; VM=no: on this kernel alone
	$(AGAIN) rawprof $(WORKLOAD) $(HTML_PAGES) $(UNIT) $(KERNEL) $(FUZZ) $(BUILD)/bad/check $(FAULTS) examples solutions $(QUIZ_JUDGE)
	$(VM_BUILD)
	$(Q)$(VM_ENV) SECOND_TRY=1 scripts/run-tests $(UNIT) $(KERNEL) $(BUILD)/bad/check examples/check.sh \
		examples/quiz/solutions/check.sh scripts/lint-house tests/fuzz/check.sh \
		tests/cli/test_*.sh tests/vm/test_riscv64.sh tests/vm/test_kernels.sh; $(GIVE_BACK)
check-unit: $(UNIT) ## unit tests, with sanitizers; no root
	$(Q)scripts/run-tests $(UNIT)
# As the product is built, without sanitizers: valgrind sees what was never written, and what libelf and libdw do.
VALGRIND = valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect \
	--num-callers=30 --suppressions=tests/unit/valgrind.supp
# Not test_asm_limits, which has a calloc of its own that fails: valgrind puts its own in its place. Nor test_insn,
# which goes through all instructions there are: hours. The others fail there without an error of memory: valgrind 3.19
# has no openat2(2) (sym_proc, sym_debug) and no fsopen(2), does not let syscall(2) be replaced (old_kernels) and shows
# itself in a process's mappings (sym_place). No `rawprof mem -- PROGRAM` may run meanwhile: valgrind takes the
# probes in the C library for the program's own breakpoints (SIGTRAP).
NO_VALGRIND := $(addprefix %/test_,asm_limits insn sym_proc sym_debug old_kernels sym_place)
check-valgrind: $(patsubst $(BUILD)/unit/%,$(BUILD)/valgrind/%,$(filter-out $(NO_VALGRIND),$(UNIT))) ## the unit tests under valgrind: errors and leaks fail them
	$(Q)TEST_RUNNER='$(VALGRIND)' CK_TIMEOUT_MULTIPLIER=50 TEST_TIMEOUT=3600 scripts/run-tests $^
$(BUILD)/valgrind/%: tests/unit/%.c examples/none.c $(BUILD)/cli.a $(LIB)
	$(call say,TEST,$< (valgrind))
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -o $@ $(filter %.c,$^) $(BUILD)/cli.a $(LIB) $(CHECK_LIBS) $(LIBS)
$(BUILD)/cli.a: $(filter-out %/main.o,$(CLI_OBJ))
check-kernel: $(KERNEL) ## tests of the parts on the running kernel; root
	$(Q)scripts/run-tests $(KERNEL)
check-cli: rawprof $(WORKLOAD) $(HTML_PAGES) $(BUILD)/bad/check ## tests of ./rawprof as a person uses it; root. T=split: only that file
	$(Q)scripts/run-tests tests/cli/test_$(or $(T),*).sh
.PHONY: check-interpreters
check-interpreters: rawprof $(WORKLOAD) ## frames of Python, Node 18 to 22 and Java 17, 21: servers, beside other profilers; npm, PyPI, Maven; root, 12 minutes
	$(Q)scripts/check-interpreters
.PHONY: check-diff
check-diff: rawprof $(WORKLOAD) ## record 200 pairs of profiles (PAIRS) and compare them, one and five (RUNS) a side: what diff says of nothing, and of 20 %; root, 30 minutes
	$(Q)scripts/diff-pairs
check-consumers: rawprof $(WORKLOAD) ## profiles in Firefox Profiler, Perfetto and speedscope, from npm and PyPI; root
	$(Q)RUN_TIMEOUT=120 scripts/run-tests tests/consumers/check.sh
.PHONY: check-top
check-top: rawprof $(WORKLOAD) ## top in tmux, beside the commands it shows, and its BPF programs beside bpftool, with ten of bpftrace's; root
	$(Q)RUN_TIMEOUT=120 scripts/run-tests tests/top/check.sh
.PHONY: check-servers
check-servers: rawprof $(BUILD)/workloads/split ## the agent, the Collector of OpenTelemetry and gRPC themselves, from Go's module proxy (54 MB), Pyroscope and Parca if PYROSCOPE=PATH, PARCA=PATH; root, minutes the first time
	$(Q)RUN_TIMEOUT=120 scripts/run-tests tests/servers/check.sh
.PHONY: check-agent
check-agent: rawprof ## the agent attacked by another user, through a server's minute away (AWAY), and killed 50 times (KILLS); root, 6 minutes
	$(Q)RUN_TIMEOUT=1200 scripts/run-tests tests/agent/test_attack.sh tests/agent/test_outage.sh
check-house: $(LIB)
	$(Q)BUILD=$(BUILD) scripts/run-tests scripts/lint-house

.PHONY: check-html deps-html
deps-html:
	$(Q)scripts/deps build test html
check-html: deps-html ## install a browser (400 MB) and use the HTML page in it; `make check` does if there is one
	$(AGAIN) check-cli T=html
# Pages of all kinds, for a browser to open.
$(HTML_PAGES): tests/html/pages.c $(LIB)
	$(call say,TEST,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -o $@ $< $(LIB) $(LIBS)

# What the end-to-end tests profile. Frame pointers and no tail calls: each function is a frame.
WORK_CFLAGS = -std=gnu11 -O1 -g $(WARN) -D_GNU_SOURCE -pthread \
              -fno-omit-frame-pointer -fno-optimize-sibling-calls
WORK_FLAGS_leaf = -fomit-frame-pointer
WORK_FLAGS_byhand = -fomit-frame-pointer
WORK_FLAGS_jumped = -fomit-frame-pointer
WORK_FLAGS_compiled = -fomit-frame-pointer
WORK_FLAGS_fakejvm = -rdynamic
# A library for LD_PRELOAD: of a program, thread-locals are found in another way.
WORK_FLAGS_fakeruby = -shared -fPIC
# Its variable is to be found by others.
WORK_FLAGS_context = -rdynamic
$(BUILD)/workloads/%: tests/workloads/%.c tests/workloads/work.h
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(WORK_CFLAGS) $(WORK_FLAGS_$*) -o $@ $<
$(BUILD)/workloads/cxx $(BUILD)/workloads/throws: $(BUILD)/workloads/%: tests/workloads/%.cpp tests/workloads/work.h
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D) && $(CXX) -O1 -g -Wall -Wextra -fno-omit-frame-pointer \
		-fno-optimize-sibling-calls -o $@ $<
# With CUDA's names alone: a runtime that calls a driver.
$(BUILD)/workloads/cuda/libcuda.so.1: tests/workloads/cuda/libcuda.c
	$(Q)mkdir -p $(@D) && $(CC) -O1 -g -Wall -Wextra -shared -fPIC -Wl,-soname,libcuda.so.1 -o $@ $<
$(BUILD)/workloads/cuda/libcudart.so.12: tests/workloads/cuda/libcudart.c $(BUILD)/workloads/cuda/libcuda.so.1
	$(call say,CC,$<)
	$(Q)$(CC) -O1 -g -Wall -Wextra -shared -fPIC -Wl,-soname,libcudart.so.12 -Wl,-rpath,'$$ORIGIN' -o $@ $^
$(BUILD)/workloads/split-stripped: $(BUILD)/workloads/split
	$(Q)$(STRIP) -s -o $@ $<
$(BUILD)/workloads/split-static-pie: tests/workloads/split.c tests/workloads/work.h
	$(call say,CC,$< (static PIE))
	$(Q)mkdir -p $(@D) && $(CC) $(WORK_CFLAGS) -fPIE -static-pie -o $@ $<

# With the variable in a library: the way to it is a descriptor, as the proposal wants it, or what was used before.
TLS_DESC = $(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),-mtls-dialect=gnu2)
$(BUILD)/workloads/libcontext.so: tests/workloads/context.c tests/workloads/work.h
	$(Q)mkdir -p $(@D) && $(CC) $(WORK_CFLAGS) $(TLS_DESC) -DIN_LIBRARY -shared -fPIC -Wl,-soname,libcontext.so -o $@ $<
$(BUILD)/workloads/libcontext-old.so: tests/workloads/context.c tests/workloads/work.h
	$(Q)mkdir -p $(@D) && $(CC) $(WORK_CFLAGS) -DIN_LIBRARY -shared -fPIC -o $@ $<
$(BUILD)/workloads/context-linked: tests/workloads/context.c $(BUILD)/workloads/libcontext.so
	$(call say,CC,$< (variable in a library))
	$(Q)$(CC) $(WORK_CFLAGS) -DLINKED -Wl,-rpath,'$$ORIGIN' -o $@ $^

$(DEMO): examples/demo/demo.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(WORK_CFLAGS) -o $@ $< -lm

# With libFuzzer where clang has it; else, and always in `make check`, a driver of our own changes inputs blindly.
FUZZ_SECONDS ?= 600
FUZZ_CC ?= clang
LIBFUZZER = $(shell echo 'int LLVMFuzzerTestOneInput(void){return 0;}' | \
	clang -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null && echo fuzzer)
.PHONY: fuzz check-fuzz fuzz-targets
fuzz: ## feed garbage to the parsers, FUZZ_SECONDS=600 each; T=elf: only that one
	$(AGAIN) fuzz-targets BUILD=$(BUILD)/fuzzing $(if $(LIBFUZZER),CC='$(FUZZ_CC)' FUZZER=fuzzer)
	$(Q)scripts/run-fuzz $(FUZZ_SECONDS) $(FUZZ:$(BUILD)/%=$(BUILD)/fuzzing/%)
check-fuzz: $(FUZZ) ## the same for 10 s each (CHECK_FUZZ_SECONDS), as `make check` does
	$(Q)$(if $(T),scripts/run-fuzz $(or $(CHECK_FUZZ_SECONDS),10) $(FUZZ),BUILD=$(BUILD) tests/fuzz/check.sh)
fuzz-targets: $(FUZZ)
FUZZ_MAIN := $(if $(FUZZER),,tests/fuzz/driver.c)
$(BUILD)/fuzz/%: tests/fuzz/%.c $(FUZZ_MAIN) examples/none.c $(SAN_CLI) $(SAN_LIB)
	$(call say,FUZZ,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(SAN) $(FUZZER:%=-fsanitize=%) -o $@ $(filter %.c,$^) \
		$(SAN_CLI) $(SAN_LIB) $(LIBS)

$(BUILD)/bench/%: $(BUILD)/bench/%.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(LIBS)
$(BUILD)/bench/measure: $(BUILD)/bench/attach_time.o

.PHONY: check-rules
# Of Debian's files, those that are here.
RULES := $(wildcard $(addprefix /usr/lib/x86_64-linux-gnu/,libc.so.6 libcrypto.so.3 libavcodec.so.59) \
	/usr/lib/jvm/*/lib/server/libjvm.so /usr/bin/python3.11 /usr/bin/node \
	$(addprefix /usr/aarch64-linux-gnu/lib/,libc.so.6 libm.so.6 libstdc++.so.6))
check-rules: $(BUILD)/bench/check_rules ## rules computed from code beside the .eh_frame of libc, libcrypto and others
	$(Q)$< $(RULES)

.PHONY: bench bench-symbols bench-unwind
bench: deps-bench ## measure against the tools of today, write bench/results.md; root; ONLY=io: that part, to build/bench.md
	$(AGAIN) rawprof $(BENCH) $(WORKLOAD)
	$(Q)bench/run.sh
# Large files that may be installed, with and without .symtab, and the kernel.
SYMBOL_FILES = $(realpath $(wildcard /usr/bin/node /usr/lib/*/libLLVM-1[0-9].so.1 /usr/bin/python3 \
	/lib/*/libc.so.6)) /proc/kallsyms
bench-unwind: rawprof ## how whole stacks are without tables, and of short processes; root; ONLY=Go,forks: those
	$(Q)bench/unwind/more.sh

bench-symbols: $(BUILD)/bench/symbols ## how long addresses take to be named; kallsyms wants root
	$(Q)$< -n $(or $(ROUNDS),9) $(SYMBOL_FILES)

# ---- style -------------------------------------------------------------------------------------

.PHONY: lint analyze format
lint: $(LIB) ## warnings of gcc and clang as errors, clang-format, cppcheck, shellcheck, rules of the house
	$(Q)scripts/lint
analyze: ## gcc's -fanalyzer over the product; minutes
	$(Q)scripts/analyze
format: ## let clang-format lay out every source file
	$(Q)clang-format -i $$(scripts/sources)

.PHONY: man
man: rawprof ## write the lists of options that ./rawprof has into docs/rawprof.1
	$(Q)scripts/man > $(BUILD)/rawprof.1 && cp $(BUILD)/rawprof.1 docs/rawprof.1

# ---- packages and installation -----------------------------------------------------------------

.PHONY: deps deps-check deps-bench
deps: ## install what the build lacks, by name, with apt-get
	$(Q)scripts/deps build
deps-check: ## the same for what the tests lack
	$(Q)scripts/deps build test
deps-bench: ## the same for the programs that are measured, and those measured against
	$(Q)scripts/deps build bench

.PHONY: static
static: $(BUILD)/static/rawprof ## one static file, build/static/rawprof, for bare machines; CROSS=aarch64-linux-gnu- for arm64
# Without libdw, 100 KB, since a bare machine has no debug information: LIBDW=yes takes it in.
LIBDW ?= no
# Stands before the library, and so for what is there of that name.
STATIC_OBJ := $(BUILD)/static/lines.o $(BUILD)/static/lines_aside.o
$(STATIC_OBJ): $(BUILD)/static/%.o: symbolize/%.c $(BUILD)/flags $(BUILD)/static/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(HARDEN) $(if $(filter yes,$(LIBDW)),,-UHAVE_LIBDW) -c -o $@ $<
# No dlopen: it would load a libc of its own beside what it loads (symbolize/debuginfod.c). Nothing to unwind stacks
# with, 45 KB, which the C library has for threads that are cancelled: there are none.
NO_UNWINDER := -Wl,--defsym,_Unwind_Resume=abort -Wl,--defsym,__gcc_personality_v0=abort \
	-Wl,--defsym,_Unwind_GetCFA=abort -Wl,--defsym,_Unwind_ForcedUnwind=abort
# Nor messages of the C library in other languages, 16 KB, nor on streams of wide characters, 25 KB: getopt(3) would
# write such ones, which is told to be silent.
NO_LANGUAGES := -Wl,--defsym,__dcgettext=rp_text_untranslated -Wl,--defsym,dcgettext=rp_text_untranslated \
	-Wl,--defsym,__fxprintf=abort -Wl,--defsym,__fxprintf_nocancel=abort
# Nor its tables, 70 KB; but for the beginning and the end of them, which the start files look for.
NO_TABLES := $(BUILD)/static/no-tables.ld
$(NO_TABLES):
	@mkdir -p $(@D) && printf '%s\n' 'SECTIONS { /DISCARD/ : {' \
		'*(EXCLUDE_FILE(*crtbegin*.o *crtend*.o) .eh_frame) *(.gcc_except_table*) } } INSERT BEFORE .text;' > $@
$(BUILD)/static/rawprof: $(CLI_OBJ) $(STATIC_OBJ) $(LIB) $(NO_TABLES)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(HARDEN_LD) $(LDFLAGS) -static -Wl,--gc-sections -Wl,-z,noseparate-code \
		-Wl,--wrap=dlopen $(NO_UNWINDER) $(NO_LANGUAGES) -Wl,-T,$(NO_TABLES) \
		-o $@ $(filter %.o,$^) $(LIB) $(STATIC_LIBS) && $(STRIP) $@

include tests/vm/vm.mk
include tests/bad/bad.mk
include tests/faults/faults.mk
include examples/examples.mk

.PHONY: install uninstall
INSTALLED = bin/rawprof lib/librawprof.a lib/pkgconfig/rawprof.pc share/man/man1/rawprof.1 \
            share/bash-completion/completions/rawprof \
            $(wildcard include/rawprof/*.h)
install: rawprof ## put it below DESTDIR and PREFIX (/usr/local)
	$(call say,INSTALL,$(DESTDIR)$(PREFIX))
	$(Q)install -D -m 755 rawprof $(DESTDIR)$(PREFIX)/bin/rawprof
	$(Q)install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib $(LIB)
	$(Q)install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/rawprof include/rawprof/*.h
	$(Q)install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 docs/rawprof.1
	$(Q)install -D -m 644 scripts/completion.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/rawprof
	$(Q)install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' 'Name: rawprof' 'Version: $(VERSION)' \
		'Description: BPF programs as bytecode, loaded without libbpf; profiles and symbols' \
		'Cflags: -I$${prefix}/include' 'Libs: -L$${prefix}/lib -lrawprof $(LIBS)' \
		> $(DESTDIR)$(PREFIX)/lib/pkgconfig/rawprof.pc
uninstall: ## take it away again
	$(Q)rm -f $(addprefix $(DESTDIR)$(PREFIX)/,$(INSTALLED))
	$(Q)rmdir $(DESTDIR)$(PREFIX)/include/rawprof 2>/dev/null || true

.PHONY: check-soak
SOAK_SECONDS ?= 1800
check-soak: rawprof ## root: the agent for half an hour (SOAK_SECONDS): memory flat, ledgers close
	$(Q)scripts/soak $(SOAK_SECONDS)

# Of another file, such as the static one: DEB_FILE=build/static/rawprof.
DEB_FILE ?= rawprof
.PHONY: deb
deb: $(DEB_FILE) ## a Debian package with the agent's unit: build/rawprof.deb
	$(Q)scripts/deb $(DEB_FILE) $(VERSION) $(BUILD)/rawprof.deb

.PHONY: clean help
clean: ## remove everything that was built
	$(Q)rm -rf $(BUILD) rawprof flame.svg
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{ printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.DELETE_ON_ERROR:
.SECONDARY:
-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(SAN_OBJ:.o=.d) $(CLI_OBJ:$(BUILD)/%.o=$(BUILD)/san/%.d) $(addsuffix .d,$(UNIT) $(KERNEL) $(FUZZ) $(BENCH) $(BUILD)/bench/attach_time)
