# SPDX-License-Identifier: BSD-2-Clause
# The course. Included by the Makefile.

LESSONS     := $(patsubst examples/%/good.c,%,$(sort $(wildcard examples/*/good.c)))
LESSON_SRC  := $(foreach l,$(LESSONS),$(wildcard examples/$l/*.c))
LESSON_RUN  := $(LESSONS:%=$(BUILD)/examples/%/run)

# Stacks of the lessons themselves are walked by frame pointers.
LESSON_CFLAGS := -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread
$(foreach l,$(LESSONS),$(BUILD)/examples/$l/%.o): ALL_CFLAGS += $(LESSON_CFLAGS)

define lesson
$(BUILD)/examples/$1/run: $(patsubst %.c,$(BUILD)/%.o,$(wildcard examples/$1/*.c)) $(LIB)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(CFLAGS) -pthread $$(LDFLAGS) -o $$@ $$^ $$(LIBS)
endef
$(foreach l,$(LESSONS),$(eval $(call lesson,$l)))

# The lessons as the changes of their solutions leave them: LESSON.N for the N-th.
SOLUTIONS    := $(foreach l,$(LESSONS),$(shell grep -n '^```diff$$' examples/$l/solution.md 2>/dev/null | \
	cat -n | awk '{ print "$l." $$1 }'))
SOLUTION_RUN := $(SOLUTIONS:%=$(BUILD)/solutions/%/run)
define solved
$(BUILD)/solutions/$1.$2/run: $(wildcard examples/$1/*.[ch]) examples/$1/solution.md examples/solution \
		examples/lesson.h $(LIB)
	$$(call say,LD,$$@)
	$$(Q)examples/solution -o $$(@D) $1 $2
	$$(Q)$$(CC) $$(filter-out -MMD -MP,$$(ALL_CFLAGS)) $$(LESSON_CFLAGS) -iquote examples/$1 -O1 $$(LDFLAGS) \
		-o $$@ $$(@D)/*.c $(LIB) $$(LIBS)
endef
$(foreach s,$(SOLUTIONS),$(eval $(call solved,$(basename $s),$(subst .,,$(suffix $s)))))

# The programs of all lessons for who shows programs: lesson_good and lesson_bad of each get the
# lesson's name, its main is left out of the way, and a table says what there is.
lesson_id    = lesson_$(subst -,_,$1)
EXAMPLE_OBJ := $(BUILD)/examples/shown/lessons.o $(BUILD)/examples/shown/table.o
# Of the lessons only their programs: what runs them is code that nobody would call.
SHOWN_OBJ   := $(patsubst examples/%.c,$(BUILD)/examples/shown/%.o,$(LESSON_SRC))
$(BUILD)/examples/shown/lessons.o: $(SHOWN_OBJ)
	$(Q)$(CC) $(CFLAGS) -fno-lto -r -nostdlib -Wl,--gc-sections -o $@ $^ \
		$(foreach l,$(LESSONS),-Wl,-u,$(call lesson_id,$l)_good -Wl,-u,$(call lesson_id,$l)_bad)
	$(Q)$(STRIP) --strip-unneeded $@
$(BUILD)/examples/shown/%.o: examples/%.c $(BUILD)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LESSON_CFLAGS) -Wno-missing-prototypes \
		-Dmain=$(call lesson_id,$(*D))_main \
		-Dlesson_good=$(call lesson_id,$(*D))_good \
		-Dlesson_bad=$(call lesson_id,$(*D))_bad -fno-lto -c -o $@ $<
$(BUILD)/examples/shown/table.c: examples/examples.mk examples/table.h $(LESSONS:%=examples/%/good.c)
	$(Q)mkdir -p $(@D) && { \
	echo '#include "examples/table.h"'; \
	$(foreach l,$(LESSONS),echo 'extern const struct lesson_program $(call lesson_id,$l)_good[], $(call lesson_id,$l)_bad[];';) \
	echo 'const struct example_lesson example_lessons[] = {'; \
	$(foreach l,$(LESSONS),echo '	{ "$l", $(call lesson_id,$l)_good, $(call lesson_id,$l)_bad },';) \
	echo '	{ 0 },'; echo '};'; } > $@
$(BUILD)/examples/shown/table.o: $(BUILD)/examples/shown/table.c
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# `rawprof explain` knows them all; in the static file they would be a twentieth.
rawprof: $(EXAMPLE_OBJ)
$(BUILD)/static/rawprof $(BUILD)/static/rawprof-old: $(BUILD)/examples/none.o

# The quiz: exercises are compiled one by one when they are judged, by examples/quiz/check; here only the judge is made.
QUIZ_JUDGE := $(BUILD)/examples/quiz/judge/judge
QUIZ_OBJ   := $(patsubst %.c,$(BUILD)/%.o,$(wildcard examples/quiz/judge/*.c))
$(QUIZ_JUDGE): $(QUIZ_OBJ) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

.PHONY: quiz check-quiz
quiz: $(QUIZ_JUDGE) ## 30 exercises of the course, examples/quiz: judge what you have changed; root
	$(Q)examples/quiz/check || [ $$? -eq 1 ] # a wrong answer is none of make's errors
check-quiz: rawprof $(QUIZ_JUDGE) ## to each exercise a right and a wrong answer: do they score so? root
	$(Q)scripts/run-tests examples/quiz/solutions/check.sh

.PHONY: examples solutions check-examples
examples: $(LESSON_RUN) ## build the lessons of the course, examples/*/run
solutions: $(SOLUTION_RUN)
check-examples: rawprof $(LESSON_RUN) $(SOLUTION_RUN) ## run every lesson and solution, hold what they print against EXPECT and the pages; root
	$(Q)scripts/run-tests examples/check.sh

-include $(QUIZ_OBJ:.o=.d) $(LESSON_SRC:%.c=$(BUILD)/%.d) $(patsubst examples/%.c,$(BUILD)/examples/shown/%.d,$(LESSON_SRC))
