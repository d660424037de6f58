# SPDX-License-Identifier: BSD-2-Clause
# Programs that must be refused. Included by the Makefile.

BAD_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/bad/*.c))
# The tutorial's frames are walked by frame pointers.
$(BUILD)/tests/bad/%.o: ALL_CFLAGS += -fno-omit-frame-pointer -fno-optimize-sibling-calls

# With `explain`, but none of the course's lessons: the changes that `explain --repair` finds are tried as well.
BAD_CLI := $(filter-out %/main.o,$(CLI_OBJ)) $(BUILD)/examples/none.o
$(BUILD)/bad/check: $(BAD_OBJ) $(BAD_CLI) $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(LIBS) -lpthread

# Written by the running kernel: as root.
.PHONY: docs/messages.md
docs/messages.md: $(BUILD)/bad/check ## ask the running kernel for all its refusals and write the page; root
	$(Q)tests/bad/messages > $@.new && mv $@.new $@

.PHONY: check-bad
check-bad: $(BUILD)/bad/check ## programs that the verifier must refuse, and those it wrongly takes; root
	$(Q)scripts/run-tests $(BUILD)/bad/check

-include $(BAD_OBJ:.o=.d)
