#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof agent --sample: some waits are taken for all, and what windows say of all is what the program has measured itself,
# within what chance does to so many draws. A weight of 1 is off by ten times as much, and so is one that goes the other way.
. "$(dirname "$0")/lib.sh"
need_profile
have_python || finish
end_pids_too
"$work/drawn" 12 >"$said" &
program=$!
pids=$program
for ((i = 0; i < 100; i++)); do
	[ -s "$said" ] && break
	sleep 0.1
done
run "$rawprof" agent --dir "$tmp/windows" --profile offcpu --sample 20 --window 2 -p $program -d 8
is 'the agent: status' "$status" 0
wait $program
pids=
for window in "$tmp"/windows/*.rawprof; do
	"$rawprof" report --format json "$window" >"$window.json" 2>/dev/null
done
# A wait that is cut by the beginning or the end of a window counts there for its part.
python3 - "$said" "$tmp"/windows/*.json >"$out" <<'END'
import collections, json, math, sys
T = 20e6
windows, got, counts, drawn, kept = [], collections.Counter(), collections.Counter(), 0, 0
for path in sys.argv[2:]:
    d = json.load(open(path))
    windows.append((d['info']['start_ns'], d['info']['start_ns'] + d['info']['duration_ns']))
    kept += d['ledger']['kept']
    types = [t['type'] for t in d['value_types']]
    for s in d['samples']:
        for site in {d['frames'][f].get('name') for f in d['stacks'][s['stack']]} & {'blink', 'pause_3', 'either_short', 'either_long'}:
            got[site] += s['values'][types.index('delay')]
            counts[site] += s['values'][types.index('contentions')]
truth, number, variance, number_variance, last = (collections.Counter() for _ in range(5))
for line in open(sys.argv[1]):
    word = line.split()
    if word[0] == 'begins':
        continue
    thread, site, end, ns = word[0], word[1], int(word[2]), int(word[3])
    weight = 1
    while thread in last and weight < 16 and last[thread] * weight < T:
        weight *= 2
    last[thread] = ns
    inside = max((min(end, b) - max(end - ns, a) for a, b in windows), default=0)
    if inside <= 0:
        continue
    truth[site] += inside
    number[site] += 1
    variance[site] += inside ** 2 * (weight - 1)
    number_variance[site] += weight - 1
for site in truth:
    print(site, truth[site], got[site], 0.1 * truth[site] + 5 * math.sqrt(variance[site]),
          number[site], counts[site], 0.1 * number[site] + 5 * math.sqrt(number_variance[site]))
print('all', sum(number.values()), kept)
END
while read -r site truth got bound number count count_bound; do
	if [ "$site" = all ]; then
		holds 'most waits are not drawn' "$got < $truth / 2"
		continue
	fi
	near "$site: as long as the program has measured, ms" "$((got / 1000000))" "$((truth / 1000000))" "$(awk "BEGIN { print $bound / 1e6 }")"
	near "$site: as often" "$count" "$number" "$count_bound"
	# A machine that is so busy that waits are few and long shows no weight that is half of what it has to be.
	awk "BEGIN { exit !($bound < 0.5 * $truth) }" || skip "$site: narrow enough to tell" 'the machine is too busy'
done <"$out"
is 'each site has been seen' "$(wc -l <"$out")" 5
finish
