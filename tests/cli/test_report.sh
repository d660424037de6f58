#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof record, -o FILE.rawprof and rawprof report: what is kept is what was recorded, in every format.
. "$(dirname "$0")/lib.sh"
need_profile

nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs)
# keep NAME COMMAND ARGS...: saves what the command records in $tmp/NAME.rawprof.
keep() {
	local name=$1 command=$2
	shift 2
	run "$rawprof" record "$command" -o "$tmp/$name.rawprof" "$@"
	is "$name: it is saved" "$status" 0
}
# report ARGS...: the output in $out.
report() { run "$rawprof" report "$@"; }
# number KEY: of the JSON in $out.
number() { python3 -c 'import json, sys; print(eval("d" + sys.argv[1], { "d": json.load(sys.stdin), "sum": sum }))' "$1" <"$out"; }

# ---- each command: every format comes out of the file, and the file out of itself

each_format() {
	local name=$1 format
	shift
	for format in "$@"; do
		report --format "$format" "$tmp/$name.rawprof"
		# Without a request there are no lines of stacks.
		[ "$status" -eq 0 ] && { [ -s "$out" ] || [ "$name" = stacks ]; } ||
			fail "$name: $format" "status $status"
	done
	report --format rawprof "$tmp/$name.rawprof" -o "$tmp/again.rawprof"
	if cmp -s "$tmp/$name.rawprof" "$tmp/again.rawprof"; then
		ok "$name: saved again it is the same file"
	else
		fail "$name" 'saved again it is another file'
	fi
}
stacks='table folded svg html pprof perf speedscope json'
figures='table json prometheus'
# Words of $stacks and $figures are arguments.
# shellcheck disable=SC2086
{
	keep cpu cpu -F 999 -- "$work/split"
	each_format cpu $stacks
	keep offcpu offcpu -- "$work/naps"
	each_format offcpu $stacks
	keep wall wall -F 999 -- "$work/naps"
	each_format wall $stacks
	keep lock lock -- "$work/lockpair"
	each_format lock $stacks
	keep mem mem -- "$work/mem_exact"
	each_format mem $stacks
	keep hist lock --hist type -- "$work/lockpair"
	each_format hist $figures
	keep io io -d 0.5
	each_format io $figures
	keep stacks io --stacks -- dd if=/dev/zero of="$tmp/f" bs=64k count=8 conv=fsync status=none
	each_format stacks $stacks
	keep runq offcpu --runq -d 0.3
	each_format runq $figures
}
is 'rawprof record and -o do the same' \
	"$("$rawprof" io --processes -q -d 0.2 -o "$tmp/x.rawprof" && head -c 8 "$tmp/x.rawprof" | od -An -c | tr -d ' ')" \
	'211RPROF\r\n'

# A program that allocates the same each time: what was saved of one run is what another run is shown as.
for format in folded table pprof; do
	run "$rawprof" mem --format "$format" -o "$tmp/direct" -- "$work/mem_exact"
	report --format "$format" -o "$tmp/saved" "$tmp/mem.rawprof"
	if [ "$format" = folded ]; then
		sort "$tmp/direct" >"$tmp/a"
		sort "$tmp/saved" >"$tmp/b"
		holds 'mem: stacks' "$(wc -l <"$tmp/a") > 20"
		# A first call behind the exec may have come before the program's tables, in one of the runs.
		holds 'mem: folded as directly: lines that differ' "$(diff "$tmp/a" "$tmp/b" | grep -c '^[<>]') <= 4"
	else
		holds "mem: $format has it" "$(wc -c <"$tmp/saved") > 1000"
	fi
done

# ---- what reading takes: no root, no kernel, whole files

cp "$tmp/cpu.rawprof" "$tmp/open.rawprof"
chmod 755 "$tmp"
chmod 644 "$tmp/open.rawprof"
"$rawprof" report --format folded "$tmp/cpu.rawprof" >"$tmp/by-root" 2>/dev/null
if "${nobody[@]}" test -x "$rawprof" 2>/dev/null; then
	run "${nobody[@]}" "$rawprof" report --format folded "$tmp/open.rawprof"
	is 'without root it is the same' "$(cksum <"$out")" "$(cksum <"$tmp/by-root")"
else
	skip 'without root it is the same' 'setpriv cannot'
fi
run sh -c "'$rawprof' report --format folded /dev/stdin <'$tmp/cpu.rawprof'"
is 'from a pipe it is the same' "$(cksum <"$out")" "$(cksum <"$tmp/by-root")"
size=$(stat -c %s "$tmp/cpu.rawprof")
for cut in 0 1 15 100 $((size / 2)) $((size - 1)); do
	head -c "$cut" "$tmp/cpu.rawprof" >"$tmp/cut.rawprof"
	report "$tmp/cut.rawprof"
	is "cut at $cut bytes: status" "$status" 1
	is "cut at $cut bytes: nothing is shown" "$(wc -c <"$out")" 0
done
has 'cut: it is said' "$err" 'cut.rawprof: it is truncated'
report "$tmp/nothing.rawprof"
has 'no such file' "$err" 'nothing.rawprof: No such file'
report /bin/sh
has 'another file' "$err" 'no profile'
(cd "$tmp" && "$rawprof" record -q -d 0.1 && "$rawprof" report) >"$out" 2>"$err"
has 'a name by itself' "$out" '^rawprof cpu'

# ---- views

report --by comm --format json "$tmp/cpu.rawprof"
whole=$(number "['rows'] and sum(r['samples'] for r in d['rows'])" 2>/dev/null)
report --format json "$tmp/cpu.rawprof"
kept=$(number "['ledger']['kept']")
is '--by comm: all samples' "$whole" "$kept"
report --format folded "$tmp/cpu.rawprof"
folded=$(awk '{ n += $NF } END { print n + 0 }' "$out")
is 'folded: all samples' "$folded" "$kept"
top=work_30
inside=$(awk -v f="$top" '{ n = $NF; $NF = ""; k = split($0, a, ";"); for (i = 2; i <= k; i++) { sub(/ $/, "", a[i]); if (a[i] == f) { s += n; break } } } END { print s + 0 }' "$out")
holds "a function that is in it ($top)" "$inside > 100 && $inside < $kept"
report --filter "symbol='$top'" --format folded "$tmp/cpu.rawprof"
is '--filter symbol=: its samples' "$(awk '{ n += $NF } END { print n + 0 }' "$out")" "$inside"
report --filter "not symbol='$top'" --format folded "$tmp/cpu.rawprof"
is '--filter not: the others' "$(awk '{ n += $NF } END { print n + 0 }' "$out")" "$((kept - inside))"
tr -d , <"$err" >"$tmp/plain"
has 'what was left out is filtered' "$tmp/plain" "= $((kept - inside)) kept.*other than --filter $inside"
report --callees "$top" --format folded "$tmp/cpu.rawprof"
is '--callees: its samples' "$(awk '{ n += $NF } END { print n + 0 }' "$out")" "$inside"
is '--callees: each stack begins with it' "$(sed 's/ [0-9]*$//' "$out" | awk -F';' '{ print $2 }' | sort -u)" "$top"
report --callers "$top" --format folded "$tmp/cpu.rawprof"
is '--callers: its samples' "$(awk '{ n += $NF } END { print n + 0 }' "$out")" "$inside"
is '--callers: each stack ends in it' "$(sed 's/ [0-9]*$//' "$out" | awk -F';' '{ print $NF }' | sort -u)" "$top"
report --tree "$tmp/cpu.rawprof"
has '--tree' "$out" '^ +100\.0%|TOTAL +SELF +CALLS'
# Events of a tracepoint are called as it is, which is no word of a table.
run "$rawprof" cpu -q -e sched:sched_switch -o "$tmp/switches.rawprof" -- "$work/naps" 0.3
report --by comm,pid --format json "$tmp/switches.rawprof"
is '--by of events of a tracepoint: status' "$status" 0
has '--by of events of a tracepoint' "$out" '"sched_sched_switch":[0-9]+.*"comm":"naps"'
report --by comm "$tmp/switches.rawprof"
has '--by of events of a tracepoint: as a table' "$out" ' naps$'
report --by state --format json "$tmp/wall.rawprof"
has '--by state' "$out" '"state":"'
report --weight delay --format folded "$tmp/offcpu.rawprof"
is '--weight: that which is the default' "$(cksum <"$out")" \
	"$("$rawprof" report --format folded "$tmp/offcpu.rawprof" 2>/dev/null | cksum)"


refused() { # NAME STATUS REGEX ARGS...
	local name=$1 want=$2 regex=$3
	shift 3
	report "$@"
	is "$name: status" "$status" "$want"
	has "$name: why" "$err" "$regex"
}

# ---- instructions

if command -v objdump >/dev/null; then
	report --format folded "$tmp/cpu.rawprof"
	leaves=$(awk '{ n = $NF; $NF = ""; sub(/ $/, ""); k = split($0, a, ";"); if (a[k] == "work_60") s += n } END { print s + 0 }' "$out")
	report --annotate work_60 "$tmp/cpu.rawprof"
	is '--annotate: all samples of the function' \
		"$(awk 'NR > 3 && $1 ~ /%$/ && $3 ~ /^[0-9]+$/ { s += $3 } END { print s + 0 }' "$out")" "$leaves"
	has '--annotate: instructions' "$out" '^ +[0-9.]+% +[0-9]+ +[0-9]+  [0-9a-f]+: '
	report --annotate work_60 -o "$tmp/text" "$tmp/cpu.rawprof"
	is '--annotate: to a file' "$(cksum <"$tmp/text")" "$("$rawprof" report --annotate work_60 "$tmp/cpu.rawprof" | cksum)"
	report --annotate work_60 --format html "$tmp/cpu.rawprof"
	is '--annotate in the page: all samples of the function' \
		"$(sed -n 's/^,"code":[[]{"name":"work_60",.*"self":\([0-9]*\),.*/\1/p' "$out")" "$leaves"
	has '--annotate in the page: instructions' "$out" '^\["[0-9a-f]+: [^"]*",[0-9]+,[0-9]+\],?$'
	refused '--annotate: folded' 2 'is text, in place of the table, or in the page' --annotate work_60 --format folded "$tmp/cpu.rawprof"
	# Whose rights objdump has: a file may have been made for what it does wrong.
	if [ "$(id -u)" = 0 ]; then
		mkdir "$tmp/bin"
		mkdir -m 777 "$tmp/seen"
		cat >"$tmp/bin/objdump" <<-EOF
			#!/bin/bash -p
			{ id -u; id -G; } >$tmp/seen/ids
			env >$tmp/seen/env
			pwd >$tmp/seen/cwd
			ulimit -v >$tmp/seen/memory
			ls -l /proc/self/fd >$tmp/seen/files
			read -r _ _ _ _ _ session _ </proc/self/stat
			echo \$session >$tmp/seen/session
			exec $(command -v objdump) "\$@"
		EOF
		chmod 755 "$tmp" "$tmp/bin" "$tmp/bin/objdump"
		cp "$work/split" "$tmp/theirs"
		chown 1234:1235 "$tmp/theirs"
		chmod 700 "$tmp/theirs"
		keep theirs cpu -F 999 -d 1 -- "$tmp/theirs"
		read -r _ _ _ _ _ session _ </proc/self/stat
		run env PATH="$tmp/bin:$PATH" SECRET=known "$rawprof" report --annotate work_60 "$tmp/theirs.rawprof" 7<"$tmp/cpu.rawprof"
		is "--annotate: of another user's file: status" "$status" 0
		is '--annotate: objdump runs as that user' "$(tr '\n' ' ' <"$tmp/seen/ids")" '1234 1235 '
		lacks '--annotate: and knows no variables of root' "$tmp/seen/env" SECRET
		is '--annotate: with 2 GB of memory' "$(cat "$tmp/seen/memory")" 2097152
		is '--annotate: no directory' "$(cat "$tmp/seen/cwd")" /
		lacks '--annotate: no other files' "$tmp/seen/files" "rawprof$|$err"
		lacks '--annotate: and no session' "$tmp/seen/session" "^$session\$"
		rm -rf "$tmp/seen" && mkdir "$tmp/seen"
		run env PATH="$tmp/bin:$PATH" "$rawprof" report --annotate work_60 "$tmp/cpu.rawprof"
		is '--annotate: of a file of root as root' "$(head -1 "$tmp/seen/ids")" 0
	fi
	# Names are as long as the file says, and stand at each call: an objdump that was given one of those.
	mkdir "$tmp/long"
	printf '#!/bin/sh\nyes "  401000:	call $(printf %%05000d 0)" | head -n $LINES_OF_IT\n' >"$tmp/long/objdump"
	chmod 755 "$tmp/long/objdump"
	run env PATH="$tmp/long:$PATH" LINES_OF_IT=3 "$rawprof" report --annotate work_60 "$tmp/cpu.rawprof"
	is '--annotate: long lines are cut' "$(awk 'length > 4000 { n++ } length > 4200 { n = "long" } END { print n }' "$out")" 3
	run env PATH="$tmp/long:$PATH" LINES_OF_IT=70000 "$rawprof" report --annotate work_60 "$tmp/cpu.rawprof"
	is '--annotate: more than there is room for' $status 1
	has '--annotate: and why' "$err" 'more than 256 MB'
	cp "$work/split" "$tmp/program"
	keep gone cpu -d 1 -- "$tmp/program"
	cp "$work/naps" "$tmp/program"
	refused '--annotate: another file' 1 'another file than was recorded' --annotate main "$tmp/gone.rawprof"
	rm "$tmp/program"
	refused '--annotate: no file' 1 'No such file' --annotate main "$tmp/gone.rawprof"
else
	skip '--annotate' 'objdump is not installed'
fi
# BPF programs, while they are loaded: those of a rawprof that counts system calls.
"$rawprof" trace --syscalls -q -d 60 >"$tmp/calls" 2>&1 &
counter=$!
dd if=/dev/zero of=/dev/null bs=1 count=2000000000 2>"$tmp/dd" &
caller=$!
for _ in 1 2 3 4 5; do
	keep bpf cpu -F 4999 -d 1
	report --format folded "$tmp/bpf.rawprof"
	read -r leaves leaf < <(sed -nE 's/^.*;(bpf_prog_[0-9a-f]{16}_[^;]*) ([0-9]+)$/\1 \2/p' "$out" |
		awk '{ n[$1] += $2 } END { for (f in n) print n[f], f }' | sort -rn)
	[ "${leaves:-0}" -lt 5 ] || break
done
report --annotate "${leaf:-bpf_prog_none}" "$tmp/bpf.rawprof"
if [ "$status" = 0 ]; then
	is '--annotate: all samples of a BPF program' \
		"$(awk '$1 ~ /%$/ && $3 ~ /^[0-9]+$/ { s += $3 } END { print s + 0 }' "$out")" "$leaves"
	has '--annotate: its lines' "$out" '^ +[0-9.]+% +[0-9]+ +[0-9]+  ; .* @ .*programs/.*\.c:[0-9]+'
	has '--annotate: its instructions' "$out" '^ +[0-9]+: \([0-9a-f]{2}\) r[0-9] '
else
	has '--annotate: why there is no BPF program' "$err" 'is not loaded any more|to root alone|no stack has'
	skip '--annotate: a BPF program' "$(cat "$err")"
fi
kill "$caller"
kill -INT "$counter"
wait "$caller" "$counter" 2>/dev/null
# The kernel lets go of it a moment later.
for _ in 1 2 3 4 5 6 7 8 9 10; do
	[ -n "${leaf:-}" ] && "$rawprof" report --annotate "$leaf" "$tmp/bpf.rawprof" >"$tmp/text" 2>&1 || break
	sleep 0.5
done
[ -z "${leaf:-}" ] ||
	refused '--annotate: a BPF program that is gone' 1 'is not loaded any more' --annotate "$leaf" "$tmp/bpf.rawprof"
refused '--annotate: no such function' 2 'no stack has such a function' --annotate nonesuch "$tmp/cpu.rawprof"

# ---- names that come later

keep stripped cpu -F 999 -- "$work/split-stripped"
report --by symbol "$tmp/stripped.rawprof"
lacks '--resolve: before it there are no names' "$out" 'work_60'
report --resolve "$work/split" --by symbol --format json "$tmp/stripped.rawprof"
holds '--resolve: work_60 is found' "$(number "['rows'] and [r['samples'] for r in d['rows'] if r['symbol'] == 'work_60'][0]") > 500"
if command -v objcopy >/dev/null; then
	cp "$out" "$tmp/whole"
	objcopy --only-keep-debug "$work/split" "$tmp/split.debug"
	report --resolve "$work/naps,$tmp/split.debug" --by symbol --format json "$tmp/stripped.rawprof"
	is '--resolve: a debug file alone has the names' "$(cksum <"$out")" "$(cksum <"$tmp/whole")"
	has '--resolve: a file that belongs to nothing is named' "$err" 'naps: no address of the profile'
	report --resolve "$tmp/split.debug" --format json "$tmp/stripped.rawprof"
	if ldd "$rawprof" | grep -q libdw; then
		# What is inlined into it is in work.h.
		is '--resolve: its source lines' "$(number "['frames'] and {
			f.get('file', '').split('/')[-1] in ('split.c', 'work.h') and f.get('line', 0) > 0
			for f in d['frames'] if f.get('name') == 'work_60'}")" '{True}'
		lacks '--resolve: inlined functions are not asked for' "$out" '"kind":"inlined"'
		report --resolve "$tmp/split.debug" --inline --format folded "$tmp/stripped.rawprof"
		holds '--resolve --inline: what was inlined is in the stacks' \
			"$(sed -nE 's/^split-stripped;.*;main;work_60;burn_until ([0-9]+)$/\1/p' "$out") > 400"
		is '--resolve --inline: all samples' "$(awk '{ n += $NF } END { print n }' "$out")" \
			"$("$rawprof" report --format folded "$tmp/stripped.rawprof" 2>/dev/null | awk '{ n += $NF } END { print n }')"
	else
		skip '--resolve: source lines' 'built without libdw'
	fi
else
	skip '--resolve: a debug file' 'objcopy is not installed'
fi
refused '--inline alone' 2 '--inline goes with --resolve' --inline "$tmp/stripped.rawprof"
refused '--resolve: no ELF file' 1 'passwd: it is no ELF file' --resolve /etc/passwd "$tmp/stripped.rawprof"

# ---- what makes no sense

refused 'a key that is not there' 2 "nothing has a 'nonsense'" --filter nonsense=1 "$tmp/cpu.rawprof"
refused 'half an expression' 2 "a '\)' is missing" --filter '(comm=a' "$tmp/cpu.rawprof"
refused 'no regular expression' 2 'no regular expression' --filter 'comm~[' "$tmp/cpu.rawprof"
refused 'a function that is not there' 2 'no stack has such a function' --callers nonesuch "$tmp/cpu.rawprof"
refused 'no times' 2 'wants two times' --between 5,1 "$tmp/cpu.rawprof"
refused 'a tree of histograms' 2 'is for stacks' --tree "$tmp/hist.rawprof"
refused 'a flame graph of histograms' 2 'holds no histograms' --format svg "$tmp/hist.rawprof"
refused 'no such weight' 2 'there are samples, cpu' --weight nonesuch "$tmp/cpu.rawprof"
refused 'an order that is none' 2 'there are self, total' --sort size "$tmp/cpu.rawprof"
refused 'nothing fits' 2 'no sample of the profile fits' --filter comm=nonesuch "$tmp/cpu.rawprof"
{ cat "$tmp/cpu.rawprof"; echo; } >"$tmp/behind.rawprof"
refused 'something behind the profile' 1 'no part begins behind the last' "$tmp/behind.rawprof"
run "$rawprof" record -o "$tmp/x.svg" -- true
is 'record to another ending: status' "$status" 2
has 'record to another ending: says what to do' "$err" '\.svg is the ending of svg'
run "$rawprof" record --format svg -- true
is 'record in another format: status' "$status" 2
finish
