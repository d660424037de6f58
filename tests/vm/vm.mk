# SPDX-License-Identifier: BSD-2-Clause
# Tests on other kernels, in virtual machines. Included by the Makefile.

# The flags with which tests/kernel/sym_process.h has its program compiled; 0: none.
VM_CHILDREN := 0 -no-pie -static -static-pie -fuse-ld=gold -Wl,--build-id=none -O0-Wl,--build-id=none \
               -O2-Wl,--build-id=none -O0-Dknown=other

# They have a malloc of their own, load libraries, or are one, which a static program cannot; or ask
# nothing of the kernel that others would answer otherwise: what a VM of 512 MB unpacks has an end.
VM_NOT := tests/kernel/test_record_faults.c tests/workloads/gpucalls.c tests/workloads/opencl.c tests/workloads/fakeruby.c \
          tests/kernel/test_table_shares.c tests/kernel/test_interpreter_files.c tests/kernel/test_published.c
# What goes into a VM is static, but for what looks at libc.so. BUILD and CROSS say for which machine.
VM_FILES := $(BUILD)/static/rawprof $(BUILD)/static/rawprof-old $(BUILD)/static/vmexit \
            $(patsubst tests/%.c,$(BUILD)/static/%,$(filter-out $(VM_NOT),$(wildcard tests/kernel/test_*.c tests/workloads/*.c))) \
            $(VM_CHILDREN:%=$(BUILD)/static/children/child%) $(BUILD)/static/workloads/split-stripped \
            $(BUILD)/static/lib/libc.so.6

$(BUILD)/static/kernel/%: tests/kernel/%.c $(LIB) $(BUILD)/flags
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LDFLAGS) $(VM_LINK) -Wl,-S -o $@ $< $(LIB) \
		$(filter-out $(VM_SHARED),$(shell $(PKG_CONFIG) --static --libs check) $(STATIC_LIBS)) $(VM_LINK_SHARED)
# Probes in the allocator of a libc.so, names in a vdso: the C library is shared, and it alone.
VM_LINK := -static
VM_SHARE := $(addprefix $(BUILD)/static/kernel/test_,uprobe_places sym_process sym_where)
$(VM_SHARE): VM_LINK := -static-libgcc -Wl,-Bstatic
$(VM_SHARE): VM_SHARED := -lm
$(VM_SHARE): VM_LINK_SHARED := -Wl,-Bdynamic -lm
# That of the compiler, and what loads it: tests/vm/stage.
$(BUILD)/static/lib/libc.so.6: $(BUILD)/flags
	$(call say,CP,$@)
	$(Q)mkdir -p $(@D) && for so in ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 libm.so.6 libc.so.6; do \
		so=$$($(CC) -print-file-name=$$so); [ ! -e "$$so" ] || cp "$$so" $(@D) || exit; done
$(BUILD)/static/children/child%: tests/kernel/sym_child.c $(BUILD)/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) -O1 $(subst -Wl, -Wl,$(subst -D, -D,$(filter-out 0,$*))) -o $@ $<
$(BUILD)/static/workloads/%: tests/workloads/%.c tests/workloads/work.h $(BUILD)/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(WORK_CFLAGS) $(WORK_FLAGS_$*) -static -o $@ $<
$(BUILD)/static/workloads/split-stripped: $(BUILD)/static/workloads/split
	$(Q)$(STRIP) -s -o $@ $<
# rawprof, to which the kernel looks older than it is.
$(BUILD)/static/rawprof-old: $(CLI_OBJ) $(STATIC_OBJ) $(LIB) tests/old/preload.c tests/old/kernel.h
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LDFLAGS) -DOLD_WRAP -Wl,--wrap=syscall -static -s -Wl,--gc-sections \
		-o $@ tests/old/preload.c $(filter %.o,$^) $(LIB) $(STATIC_LIBS)
$(BUILD)/static/vmexit: tests/vm/vmexit.c $(BUILD)/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(WORK_CFLAGS) -static -Wl,-S -o $@ $<

.PHONY: vm-files
vm-files: $(VM_FILES)

# What makes the running kernel look older: tests/cli/test_old_kernels.sh.
check check-cli: $(BUILD)/old/preload.so
$(BUILD)/old/preload.so: tests/old/preload.c tests/old/kernel.h include/rawprof/uapi.h $(BUILD)/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -fPIC -shared -o $@ $< -ldl
-include $(patsubst tests/%.c,$(BUILD)/static/%.d,$(wildcard tests/kernel/test_*.c))

# Where `make vm-files` leaves them for each machine; this one's needs no cross compiler.
VM_HOST  := $(shell uname -m)
VM_OTHER := $(if $(filter aarch64,$(VM_HOST)),x86_64,aarch64)
VM_CROSS  = CROSS=$(VM_OTHER)-linux-gnu- BUILD=$(BUILD)/$(VM_OTHER)-linux-gnu
VM_JOBS  ?= $(shell nproc)
VM_QUICK ?= 1
VM_ENV    = VM=$(VM) VM_QUICK=$(VM_QUICK) KERNELS='$(KERNELS)' VM_JOBS=$(VM_JOBS) BUILD=$(BUILD) \
            VM_STATIC_$(VM_HOST)=$(BUILD)/static VM_STATIC_$(VM_OTHER)=$(BUILD)/$(VM_OTHER)-linux-gnu/static

# One of each machine; check-vm-all takes all that tests/vm/kernels has above its last comment.
VM_KERNELS = x86-6.1 arm64-6.12
KERNELS   ?= $(VM_KERNELS)

# For `make check`, which says so and goes on without them if they cannot be had.
VM_BUILD = $(if $(filter no,$(VM)),,+$(Q)if tests/vm/ready $(KERNELS); then $(SUBMAKE) vm-files && $(SUBMAKE) $(VM_CROSS) vm-files; fi)

.PHONY: check-vm check-vm-all
check-vm: check-vm-run ## the tests on other kernels, in virtual machines: KERNELS="x86-6.1 arm64-6.12"; VM_QUICK=: all of them
check-vm-all: VM_KERNELS = x86-6.1 x86-6.12 arm64-6.1 arm64-6.12
check-vm-all: VM_QUICK =
check-vm-all: check-vm-run ## all of them on all kernels of tests/vm/kernels

# The table of docs/kernels.md, from what doctor finds in the VMs.
.PHONY: docs/kernels.md
docs/kernels.md:
	$(Q)tests/vm/ready x86-6.1 x86-6.12 arm64-6.1 arm64-6.12
	$(AGAIN) vm-files
	$(AGAIN) $(VM_CROSS) vm-files
	$(Q)$(VM_ENV) tests/vm/table > $@.new
	$(Q)mv $@.new $@

# What the kernels of the VMs say of each program: rawprof explain PROGRAM --across build/across.
ACROSS_KERNELS ?= x86-6.1 x86-6.12
.PHONY: across
across: $(BUILD)/static/rawprof $(BUILD)/static/vmexit ## the verifier's logs of each program on other kernels, for explain --across
	$(Q)BUILD=$(BUILD) tests/vm/across $(ACROSS_KERNELS)

.PHONY: check-vm-run
check-vm-run:
	$(Q)tests/vm/ready $(KERNELS)
	$(AGAIN) vm-files
	$(AGAIN) $(VM_CROSS) vm-files
	$(Q)$(VM_ENV) tests/vm/check $(KERNELS)

# No more than compiled: tests/vm/test_riscv64.sh.
.PHONY: objects
objects: $(CLI_OBJ) $(LIB_OBJ)
