# SPDX-License-Identifier: BSD-2-Clause
# Tests on other kernels, in virtual machines. Included by the Makefile; README: tests/vm/README.md.

# What goes into a VM is static: its initramfs has no libraries. BUILD and CROSS say for which machine.
VM_FILES := $(BUILD)/static/rawprof $(BUILD)/static/vmexit \
            $(patsubst tests/%.c,$(BUILD)/static/%,$(wildcard tests/kernel/test_*.c tests/workloads/*.c)) \
            $(BUILD)/static/workloads/split-stripped

$(BUILD)/static/kernel/%: tests/kernel/%.c $(LIB) $(BUILD)/flags
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LDFLAGS) -static -s -o $@ $< $(LIB) \
		$(shell $(PKG_CONFIG) --static --libs check) $(STATIC_LIBS)
$(BUILD)/static/workloads/%: tests/workloads/%.c tests/workloads/work.h $(BUILD)/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(WORK_CFLAGS) $(WORK_FLAGS_$*) -static -o $@ $<
$(BUILD)/static/workloads/split-stripped: $(BUILD)/static/workloads/split
	$(Q)$(STRIP) -s -o $@ $<
$(BUILD)/static/vmexit: tests/vm/vmexit.c $(BUILD)/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(WORK_CFLAGS) -static -s -o $@ $<

.PHONY: vm-files
vm-files: $(VM_FILES)
-include $(patsubst tests/%.c,$(BUILD)/static/%.d,$(wildcard tests/kernel/test_*.c))
