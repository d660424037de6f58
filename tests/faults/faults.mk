# SPDX-License-Identifier: BSD-2-Clause
# Faults injected into rawprof (tests/faults/main.c), and SIGKILL at random moments. Included by the Makefile.

FAULTS_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/target.c %/preload.c,$(wildcard tests/faults/*.c)))
FAULTS     := $(addprefix $(BUILD)/faults/,faults target others preload.so) $(BUILD)/workloads/bpforphans

$(BUILD)/faults/faults: $(FAULTS_OBJ)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lz
$(BUILD)/faults/target: tests/faults/target.c tests/workloads/usdt.h $(BUILD)/workloads/cuda/libcudart.so.12
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(WORK_CFLAGS) -Wl,-rpath,'$$ORIGIN/../workloads/cuda' \
		-Wl,-rpath-link,$(BUILD)/workloads/cuda -o $@ $(filter-out %.h,$^)
# Another user's, whose lines are read by a process of their own.
$(BUILD)/faults/others: $(BUILD)/faults/target
	$(Q)cp $< $@ && { chown 1234 $@ 2>/dev/null || :; }
# Its own frames are where it begins to look at the stack.
$(BUILD)/faults/preload.so: tests/faults/preload.c tests/faults/sites.h
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -O2 -g $(WARN) -D_GNU_SOURCE -fno-omit-frame-pointer \
		-fPIC -shared -o $@ $<

check-cli: $(FAULTS)

.PHONY: check-faults check-kills
check-faults: rawprof $(FAULTS) ## fail each system call and allocation of each command, one at a time; root, two hours on two CPUs; SAMPLE=2000: so many of them
	$(Q)$(BUILD)/faults/faults $(addprefix --sample ,$(SAMPLE))
	$(Q)$(BUILD)/faults/faults --kills 500
check-kills: rawprof $(FAULTS) ## the second part of it: SIGKILL at KILLS=500 random moments, and nothing stays behind
	$(Q)$(BUILD)/faults/faults --kills $(or $(KILLS),500)

-include $(FAULTS_OBJ:.o=.d)
