# warpgym. `make demo` and `make test` are all a fresh Debian 12 needs; `make help` lists the rest.
#
#   SAN=address|thread   the same with sanitizers, beside the plain build, under build/SAN/
#   CC=clang             another compiler; objects are rebuilt whenever compiler or flags change
#   WERROR=1             warnings end the build
#   V=1                  whole command lines

VERSION := $(file <VERSION)
ifeq ($(origin CC),default)
CC := gcc
endif
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 10
Q := $(if $(V),,@)
SUBMAKE = $(MAKE) --no-print-directory $(if $(V),,-s) \
	$(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(JOBS))

# A variant repeats the layout of the checkout under its own root, because the binary looks for its
# child program, problems and Python files beside itself.
ROOT := $(if $(SAN),build/$(SAN),.)
OBJ := $(ROOT)/build/obj

SANITIZE_address := -fsanitize=address,undefined -fno-sanitize-recover=undefined
SANITIZE_thread := -fsanitize=thread
SANITIZE_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
SANITIZE := $(SANITIZE_$(SAN))
ifneq ($(SAN),$(if $(SANITIZE),$(SAN)))
$(error SAN=$(SAN): choose address or thread)
endif

# A callback has the parameters of its kind, whether it reads them or not: -Wno-unused-parameter.
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla \
	-Wwrite-strings -Wformat=2 -Wno-unused-parameter -Wno-format-nonliteral -Wno-psabi
CPPFLAGS := -D_GNU_SOURCE -Isrc -Iinclude -DWARPGYM_VERSION='"$(VERSION)"'
# Fortified calls hide from the sanitizers what those are there to see.
HARDEN := -fstack-protector-strong $(if $(SAN),-fno-omit-frame-pointer,-D_FORTIFY_SOURCE=2)
CFLAGS := -std=gnu17 -O2 -g $(WARNINGS) $(if $(WERROR),-Werror) $(HARDEN) $(EXTRA_CFLAGS)
LDFLAGS := -Wl,-z,relro,-z,now,--as-needed
LIBS := -ljansson -lfyaml -lcrypto -lseccomp -lsqlite3 -lhiredis -lmicrohttpd -lcurl \
	-lpcre2-8 -lutf8proc -lz -lm -lpthread

# All C files of a folder and of those below it.
sources = $(wildcard $(1)/*.c $(1)/*/*.c)
MODULES := base problem device compile sandbox judge queue client worker lm retrieval policy \
	gym rl server config
# The settings of the shared library, which has fewer of them than the program.
RL_REGISTRY := src/rl/library/registry.c
LIB_SOURCES := $(filter-out src/judge/child/% src/judge/trace/% $(RL_REGISTRY),$(sort $(foreach m,$(MODULES),$(call sources,src/$(m)))))
CLI_SOURCES := $(call sources,src/cli)
# The far child of the fence takes from these modules what it calls, and links nothing else. It is
# never instrumented: a sanitizer's shadow memory does not fit its limits.
CHILD_SOURCES := $(wildcard src/judge/child/*.c)
CHILD_LIB_SOURCES := $(wildcard src/base/*.c src/problem/*.c src/sandbox/*.c src/judge/process/wire.c \
	src/judge/numeric/oracle.c $(patsubst %,src/device/%.c,library cuda gpu gpu_context gpu_memory \
	nvrtc nvrtc_headers))
# A library of its own beside the candidate: it needs libc and libgcc alone.
TRACE_SOURCES := $(wildcard src/judge/trace/*.c)
# The mathematics alone, for other people's trainers; from these modules it takes what it calls.
RL_LIB_SOURCES := $(wildcard src/base/*.c src/rl/method/*.c src/gym/reward/*.c) \
	$(wildcard src/judge/verdict*.c) src/judge/profile_text.c src/lm/train/loss.c \
	src/sandbox/sandbox.c src/device/gpu_reasons.c
FENCE_SOURCES := $(patsubst %,src/sandbox/%.c,sandbox enter mount landlock filter server)
# What a candidate may link against is in the address space before the fence closes.
CHILD_LIBS := -lseccomp -lffi -Wl,--no-as-needed -lm -lmvec -lgomp -lgcc_s
TEST_SOURCES := $(wildcard tests/*/test_*.c)
SUPPORT_SOURCES := $(wildcard tests/support/*.c)
FAKES = $(patsubst tests/fake/%.c,$(ROOT)/build/tests/fake/%.so,$(wildcard tests/fake/*.c))
FUZZ_SOURCES := $(wildcard fuzz/fuzz_*.c)
TIDY_SOURCES := $(LIB_SOURCES) $(CLI_SOURCES) $(CHILD_SOURCES) $(TRACE_SOURCES) $(TEST_SOURCES) \
	$(SUPPORT_SOURCES) $(wildcard bench/*.c) $(RL_REGISTRY)

objects = $(patsubst %.c,$(OBJ)/%.o,$(1))
child_objects = $(patsubst %.c,$(OBJ)/child/%.o,$(1))
BINARY := $(ROOT)/warpgym
LIBRARY := $(ROOT)/build/libwarpgym.a
CLI_LIBRARY := $(ROOT)/build/libcli.a
CHILD := $(ROOT)/build/warpgym-child
CHILD_SO := $(ROOT)/build/libwarpgym_child.so
CHILD_LIBRARY := $(ROOT)/build/libchild.a
TRACE_SO := $(ROOT)/build/libwarpgym_trace.so
RL_SO := $(ROOT)/build/libwarpgym_rl.so
RL_LIBRARY := $(ROOT)/build/librl.a
TESTS := $(patsubst %.c,$(ROOT)/build/%,$(TEST_SOURCES))
LINKED := $(if $(SAN),$(addprefix $(ROOT)/,$(wildcard problems prompts configs python demo .venv)))

.PHONY: all setup tests test-needs test test-units test-system test-gpu demo train-demo reproduce lint tidy generate format fuzz fuzzers bench bench-gpu compare docs dist wheel deb release install uninstall clean help faults
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BINARY) $(CHILD) $(CHILD_SO) $(TRACE_SO) $(RL_SO) $(LINKED) ## build ./warpgym (the default)

# Objects depend on a file that holds the command, so that other flags or libraries never meet old
# objects and what was linked of them.
FLAGS := $(OBJ)/flags
COMMAND := $(CC) $(CPPFLAGS) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $(LIBS) $(CHILD_LIBS)
ifneq ($(file <$(FLAGS)),$(COMMAND))
.PHONY: $(FLAGS)
endif
$(FLAGS):
	@$(shell mkdir -p $(@D))$(file >$@,$(COMMAND))

# Before a compiler says so of each file.
LIBRARIES := $(OBJ)/libraries
$(LIBRARIES): scripts/libraries
	@mkdir -p $(@D) && scripts/libraries "$(CC)" && touch $@

$(OBJ)/%.o: %.c $(FLAGS) | $(LIBRARIES)
	@mkdir -p $(@D) $(if $(V),,&& echo "$(CC) $<")
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(SANITIZE) -fPIE -MMD -MP -c -o $@ $<

$(OBJ)/child/%.o: %.c $(FLAGS) | $(LIBRARIES)
	@mkdir -p $(@D) $(if $(V),,&& echo "$(CC) $<")
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -MMD -MP -c -o $@ $<

# `--version` names the commit: one file is compiled anew for another. Its date, not today's, so that
# the same commit gives the same bytes.
COMMIT := $(or $(shell GIT_CEILING_DIRECTORIES=$(dir $(CURDIR)) GIT_OPTIONAL_LOCKS=0; \
	export GIT_CEILING_DIRECTORIES GIT_OPTIONAL_LOCKS; \
	name=$$(git describe --always --dirty --abbrev=8 --exclude='*' 2>/dev/null) && \
	git log -1 --format="$$name, %cs"),unknown)
ifneq ($(file <$(OBJ)/commit),$(COMMIT))
.PHONY: $(OBJ)/commit
endif
$(OBJ)/commit:
	@$(shell mkdir -p $(@D))$(file >$@,$(COMMIT))
$(OBJ)/src/cli/main.o: CPPFLAGS += -DWARPGYM_COMMIT='"$(COMMIT)"'
$(OBJ)/src/cli/main.o: $(OBJ)/commit

# A seed means the same weights on every machine.
$(OBJ)/src/lm/model/fresh.o: CFLAGS += -ffp-contract=off
$(OBJ)/src/judge/gpu/gpu_work.o: src/judge/gpu/gpu_work.cu
$(OBJ)/src/device/gpu_peaks.o: src/device/gpu_peaks.cu
$(OBJ)/src/queue/redis_script.o: $(wildcard src/queue/redis/*.lua)
$(OBJ)/src/server/api/openapi.o: src/server/api/openapi.json
$(OBJ)/src/gym/report/assets.o: $(wildcard src/gym/report/page/*)
$(OBJ)/src/server/mcp/gym.o: src/server/mcp/gym.json

# Debian's libjs-chart.js, of this version alone: what another draws has not been looked at.
CHART_VERSION := 3.9.1
CHART := $(shell grep -lsF -m1 'Chart.js v$(CHART_VERSION)' /usr/share/javascript/chart.js/chart.min.js)
ifneq ($(file <$(OBJ)/chart),$(CHART))
.PHONY: $(OBJ)/chart
endif
$(OBJ)/chart:
	@$(shell mkdir -p $(@D))$(file >$@,$(CHART))$(if $(CHART),,echo "make: Chart.js $(CHART_VERSION) \
		(libjs-chart.js) is missing: the dashboard shows tables instead of curves" >&2)
$(OBJ)/src/server/web/assets.o: CPPFLAGS += $(if $(CHART),-DWEB_CHART_FILE='"$(CHART)"')
$(OBJ)/src/server/web/assets.o: $(OBJ)/chart $(CHART) $(wildcard src/server/web/page/*)
$(OBJ)/src/device/nvrtc_headers.o $(OBJ)/child/src/device/nvrtc_headers.o: \
	$(wildcard src/device/headers/*)

# Vectorised loops: one source for each instruction set, chosen when the program runs. Nothing here
# changes what NaN, infinity or the order of operations mean.
VECTORS := $(call objects,$(wildcard src/lm/cpu/loops_*.c))
$(VECTORS): CFLAGS += -O3 -fopenmp-simd -fno-math-errno -fno-trapping-math \
	$(if $(SAN),-Wno-pass-failed) # clang warns of each loop that a sanitizer keeps it from vectorising
ifneq ($(filter x86_64%,$(shell $(CC) -dumpmachine)),)
$(OBJ)/src/lm/cpu/loops_avx2.o: CFLAGS += -mavx2 -mfma
$(OBJ)/src/lm/cpu/loops_avx512.o: CFLAGS += -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma
endif

$(LIBRARY): $(call objects,$(LIB_SOURCES))
	$(Q)rm -f $@ && ar rcs $@ $^

$(CLI_LIBRARY): $(call objects,$(filter-out %/main.c,$(CLI_SOURCES)))
	$(Q)rm -f $@ && ar rcs $@ $^

$(CHILD_LIBRARY): $(call child_objects,$(filter-out %/main.c,$(CHILD_SOURCES)) $(CHILD_LIB_SOURCES))
	$(Q)rm -f $@ && ar rcs $@ $^

$(BINARY): $(call objects,$(CLI_SOURCES)) $(LIBRARY)
	$(Q)$(CC) $(SANITIZE) -pie $(LDFLAGS) -o $@ $^ $(LIBS)

$(CHILD): $(call child_objects,$(CHILD_SOURCES)) $(CHILD_LIBRARY)
	$(Q)$(CC) -pie $(LDFLAGS) -o $@ $^ $(CHILD_LIBS)

# Python loads this one through ctypes: the fence, its memory, its calls, and nothing of the native
# child.
$(CHILD_SO): $(call child_objects,$(FENCE_SOURCES) $(patsubst %,src/judge/child/%.c,segments \
	python_call blocks tensor_memory)) $(CHILD_LIBRARY)
	$(Q)$(CC) -shared $(LDFLAGS) -Wl,-z,defs -o $@ $^ -lseccomp -lm

# The CUDA driver loads this one into a child, to trace its launches.
$(TRACE_SO): CFLAGS += -fvisibility=hidden
$(TRACE_SO): $(call child_objects,$(TRACE_SOURCES))
	$(Q)$(CC) -shared $(LDFLAGS) -Wl,-z,defs -o $@ $^ -lgcc_s -lpthread

$(RL_LIBRARY): $(call child_objects,$(RL_LIB_SOURCES))
	$(Q)rm -f $@ && ar rcs $@ $^

$(RL_SO): $(call child_objects,$(wildcard src/rl/library/*.c)) $(RL_LIBRARY) src/rl/library/exports
	$(Q)$(CC) -shared $(LDFLAGS) -Wl,-z,defs -Wl,--version-script=src/rl/library/exports -o $@ \
		-Wl,-rpath,'$$ORIGIN' $(filter-out %/exports,$^) -ljansson -lm

$(LINKED):
	@mkdir -p $(@D)
	@ln -sfn ../../$(@F) $@

# One program for each test file, of what it calls and no more: there are hundreds. Tests of the
# child take its functions from its own archive.
TEST_LIBRARY := $(ROOT)/build/libtests.a
$(TEST_LIBRARY): $(call objects,$(SUPPORT_SOURCES))
	$(Q)rm -f $@ && ar rcs $@ $^

TEST_PARTS := $(TEST_LIBRARY) $(CLI_LIBRARY) $(LIBRARY) $(CHILD_LIBRARY)
$(ROOT)/build/tests/%: $(OBJ)/tests/%.o $(TEST_PARTS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANITIZE) -pie $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS) -lffi

$(ROOT)/build/fuzz/fuzz_rl_compute: $(OBJ)/src/cli/rl/rows.o
$(ROOT)/build/fuzz/%: $(OBJ)/fuzz/%.o $(LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(subst fuzzer-no-link,fuzzer,$(SANITIZE)) -pie $(LDFLAGS) -o $@ \
		$(filter %.o,$^) $(filter %.a,$^) $(LIBS)

# Stand-ins for libraries of hardware that CI has none of (tests/fake).
$(ROOT)/build/tests/fake/%.so: tests/fake/%.c $(wildcard src/device/*.h src/judge/trace/*.h)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu17 -O1 $(WARNINGS) -fPIC -shared -o $@ $<

# The judge's own kernels for the stand-in driver.
FAKES += $(ROOT)/build/tests/fake/gpu_work.cubin
$(ROOT)/build/tests/fake/gpu_work.cubin: src/judge/gpu/gpu_work.cu $(wildcard tests/fake/*)
	@mkdir -p $(@D)
	$(Q)tests/fake/kernels $< $@

# Programs that Python tests run beside the command.
PROBES := $(addprefix $(ROOT)/build/tests/,lm/chat_probe lm/lm_probe lm/tokenizer_probe \
	policy/train_backend_probe rl/write_events rl/write_run)
tests: $(TESTS) test-needs
test-needs: $(FAKES) $(ROOT)/build/tests/judge/build_judge \
	$(addprefix $(ROOT)/build/bench/,handwritten handwritten_gpu) \
	$(ROOT)/build/tests/server/http_echo $(ROOT)/build/tests/server/fake_worker \
	$(ROOT)/build/bench/http_load $(PROBES)
fuzzers: $(patsubst %.c,$(ROOT)/build/%,$(FUZZ_SOURCES))

setup: ## install what is missing (setup.sh)
	@./setup.sh

test: ## build, run every unit test and system test, print the counts
	@./setup.sh gym docs
	+@$(SUBMAKE) all tests
	@scripts/test $(ROOT) $(TESTS)

test-system: setup ## build and run the system tests only, those of SYSTEM_TESTS
	+@$(SUBMAKE) all test-needs
	@scripts/test --system $(ROOT)

test-units: setup ## build and run the unit tests only
	+@$(SUBMAKE) all tests
	@scripts/test --units $(ROOT) $(TESTS)

$(ROOT)/build/tests/gpu/%: $(OBJ)/tests/gpu/%.o $(OBJ)/tests/support/gpu_checks.o \
	$(OBJ)/tests/support/tensor_checks.o $(LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANITIZE) -pie $(LDFLAGS) -o $@ $^ $(LIBS)

test-gpu: ## CUDA candidates, on a machine with a GPU and nvcc
	+@$(SUBMAKE) all $(addprefix $(ROOT)/build/tests/gpu/,work facts)
	@TEST_WARPGYM=$(abspath $(BINARY)) $(firstword $(wildcard .venv/bin/python3) python3) -m pytest \
		-q -rs -p no:cacheprovider tests/gpu

FAULT_TRIALS ?= 160
faults: all ## servers, workers and Redis die at random, FAULT_TRIALS times for each store
	@FAULT_TRIALS=$(FAULT_TRIALS) TEST_WARPGYM=$(abspath $(BINARY)) \
		$(firstword $(wildcard .venv/bin/python3) python3) -m pytest -q -s -p no:cacheprovider tests/faults

demo: setup ## build and judge a dozen candidates
	+@$(SUBMAKE) all
	@scripts/demo

SEEDS ?= 1 2 3
train-demo: setup ## a small model learns to write kernels, SEEDS="1 2 3", 20 minutes each at most
	+@$(SUBMAKE) all
	@SEEDS="$(SEEDS)" scripts/train-demo

REPRODUCE_SEEDS ?= 1 2 3 4 5
reproduce: setup ## the papers' claims at a small scale, REPRODUCE_SEEDS="1 2 3 4 5", hours; it resumes
	+@$(SUBMAKE) all
	@python3 demo/reproduce/run.py --seeds $(REPRODUCE_SEEDS)

lint: ## layout, clang-tidy, layers, banned calls, ceilings, Python
	@./setup.sh lint
	+@MAKE="$(SUBMAKE)" scripts/lint

# The object is made anew when a header of its file changes: then clang-tidy looks again, too. Nearly
# all of its time is the analyzer's, by how many states of a function it looks at; its own default,
# TIDY_STATES=225000, takes three times as long.
TIDY_STATES ?= 75000
build/tidy/%.ok: %.c $(OBJ)/%.o .clang-tidy
	@mkdir -p $(@D)
	@clang-tidy --quiet $< -- -std=gnu17 $(CPPFLAGS) $(WARNINGS) \
		-Xclang -analyzer-config -Xclang max-nodes=$(TIDY_STATES) >$(@:.ok=.log) 2>&1 \
		|| { grep -v ' warnings* .*generated' $(@:.ok=.log); exit 1; }
	@touch $@
tidy: $(patsubst %.c,build/tidy/%.ok,$(TIDY_SOURCES))

generate: all ## write the pages, the schema and the types that follow from our own tables
	@./warpgym settings --markdown >docs/reference/settings.md
	@./warpgym languages --markdown >docs/reference/languages.md
	@scripts/docs-commands >docs/reference/commands.md
	@scripts/verdict

format: ## lay out all C sources with clang-format
	@./setup.sh lint
	@scripts/format

fuzz: ## run each fuzz target for FUZZ_SECONDS (10)
	@./setup.sh lint
	+@$(SUBMAKE) SAN=fuzz CC=clang fuzzers
	@scripts/fuzz $(FUZZ_SECONDS) $(FUZZ_SOURCES)

# Everything but glibc is in it: it goes to machines with a GPU, which have none of our libraries.
HANDWRITTEN_GPU := $(ROOT)/build/bench/handwritten_gpu
$(HANDWRITTEN_GPU): $(OBJ)/bench/handwritten_gpu.o $(CHILD_LIBRARY) $(LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANITIZE) -pie $(LDFLAGS) -o $@ $^ -Wl,-Bstatic -ljansson -lfyaml -lcrypto \
		-lseccomp -lffi -Wl,-Bdynamic -lm -lpthread

# What it loads may want the libraries that a child has.
$(ROOT)/build/bench/handwritten: $(OBJ)/bench/handwritten.o $(CHILD_LIBRARY) $(LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANITIZE) -pie $(LDFLAGS) -o $@ $^ $(LIBS) $(CHILD_LIBS)

$(ROOT)/build/bench/http_load: $(OBJ)/bench/http_load.o $(LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANITIZE) -pie $(LDFLAGS) -o $@ $^ $(LIBS)

bench-gpu: ## what `bench/gpu/run agreement` needs beside warpgym
	+@$(SUBMAKE) all $(HANDWRITTEN_GPU)

$(ROOT)/build/bench/queue: $(OBJ)/bench/queue.o $(LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANITIZE) -pie $(LDFLAGS) -o $@ $^ $(LIBS)

$(ROOT)/build/bench/retrieval: $(OBJ)/bench/retrieval.o $(LIBRARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANITIZE) -pie $(LDFLAGS) -o $@ $^ $(LIBS)

bench: setup ## measure speed and precision (bench/bench.py)
	+@$(SUBMAKE) all $(addprefix $(ROOT)/build/,bench/handwritten bench/queue bench/http_load \
		tests/server/http_echo)
	@.venv/bin/python bench/bench.py

compare: setup ## this judge and other projects' on the same cheats (bench/compare.py); needs a GPU
	+@$(SUBMAKE) all
	@python3 bench/compare.py $(COMPARE)

docs: ## the documentation as a site, build/site/index.html, with search and the Python package
	@./setup.sh docs
	@scripts/docs-site

dist: setup ## dist/warpgym-VERSION-linux-ARCH.tar.gz, runs without installation
	+@$(SUBMAKE) all
	@scripts/dist $(VERSION)

wheel: setup ## dist/warpgym-VERSION-py3-none-manylinux_2_34_ARCH.whl, for pip install
	+@$(SUBMAKE) all
	@scripts/wheel $(VERSION)

deb: setup ## dist/warpgym_VERSION_ARCH.deb, for this machine's release of Debian or Ubuntu
	+@$(SUBMAKE) all
	@scripts/deb $(VERSION)

release: setup ## dist/VERSION: wheel, archive, deb, image, what they bring, checksums; of a tagged commit (DRAFT=1: of any)
	+@$(SUBMAKE) all
	@DRAFT=$(DRAFT) scripts/release $(VERSION)

# As root it builds nothing: what it made would be root's.
PREFIX ?= /usr/local
install: ## what `make` has built, below PREFIX (/usr/local); DESTDIR=DIR for packages
	@[ -x $(BINARY) -a -x $(CHILD) ] || { echo "make: build it first: make" >&2; exit 1; }
	@DESTDIR="$(DESTDIR)" scripts/install "$(PREFIX)"

uninstall: ## what `make install` put below PREFIX
	@DESTDIR="$(DESTDIR)" scripts/install --remove "$(PREFIX)"

clean: ## remove what was built (.venv stays)
	rm -rf build dist warpgym python/build python/*.egg-info

help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' Makefile

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
