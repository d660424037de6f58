# rawprof: `make help` lists the targets.
CC      ?= gcc
BUILD   ?= build
CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
           -Wwrite-strings -Wvla -Wundef -Wformat=2 -Wno-missing-field-initializers
CPPFLAGS += -Iinclude -D_GNU_SOURCE
ALL_CFLAGS = -std=gnu11 $(CFLAGS) $(WARN) -ffile-prefix-map=$(CURDIR)/= -MMD -MP $(CPPFLAGS)
LIBS    := -lelf -lz

LIB_DIRS := asm loader symbolize report programs
LIB_SRC  := $(wildcard $(LIB_DIRS:%=%/*.c))
LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/%.o)
CLI_SRC  := $(wildcard cli/*.c)
CLI_OBJ  := $(CLI_SRC:%.c=$(BUILD)/%.o)

UNIT_SRC   := $(wildcard tests/unit/test_*.c)
UNIT_BIN   := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/unit/%)
KERNEL_SRC := $(wildcard tests/kernel/test_*.c)
KERNEL_BIN := $(KERNEL_SRC:tests/kernel/%.c=$(BUILD)/kernel/%)

.PHONY: all
all: rawprof

rawprof: $(CLI_OBJ) $(BUILD)/librawprof.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/librawprof.a: $(LIB_OBJ)
	rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Unit tests are built apart from the product, with sanitizers.
SAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SAN_OBJ := $(LIB_SRC:%.c=$(BUILD)/san/%.o)
$(BUILD)/san/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(SAN) -c -o $@ $<
$(BUILD)/san/librawprof.a: $(SAN_OBJ)
	rm -f $@
	$(AR) rcs $@ $^
$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/san/librawprof.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(SAN) -o $@ $< $(BUILD)/san/librawprof.a $(shell pkg-config --libs check) $(LIBS)
$(BUILD)/kernel/%: tests/kernel/%.c $(BUILD)/librawprof.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -o $@ $< $(BUILD)/librawprof.a $(shell pkg-config --libs check) $(LIBS)

.PHONY: check-unit check-kernel
check-unit: $(UNIT_BIN)
	@set -e; for t in $^; do echo "== $$t"; ./$$t; done
check-kernel: rawprof $(KERNEL_BIN)
	@set -e; for t in $(KERNEL_BIN); do echo "== $$t"; ./$$t; done

.PHONY: clean
clean:
	rm -rf $(BUILD) rawprof

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(SAN_OBJ:.o=.d) $(UNIT_BIN:%=%.d) $(KERNEL_BIN:%=%.d)
