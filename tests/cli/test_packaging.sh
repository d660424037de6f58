#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The package unpacks and runs; the unit is one; what it grants is enough.
. "$(dirname "$0")/lib.sh"

if command -v dpkg-deb >/dev/null && command -v ldd >/dev/null; then
	run scripts/deb "$rawprof" 1.2.3 "$tmp/rawprof.deb"
	is 'the package is built' "$status" 0
	dpkg-deb -x "$tmp/rawprof.deb" "$tmp/root"
	is 'what is in it' "$(cd "$tmp/root" && find . -type f | sort | tr '\n' ' ')" \
		"./lib/systemd/system/rawprof-agent.service ./usr/bin/rawprof ./usr/share/bash-completion/completions/rawprof ./usr/share/doc/rawprof/copyright ./usr/share/man/man1/rawprof.1.gz "
	is 'its version' "$(dpkg-deb -f "$tmp/rawprof.deb" Version)" 1.2.3
	run dpkg-deb -f "$tmp/rawprof.deb" Depends
	has 'it depends on the libraries that it is linked with' "$out" 'libelf1'
	is 'all of it is of root' "$(dpkg-deb -c "$tmp/rawprof.deb" | awk '{ print $2 }' | sort -u)" root/root
	run "$tmp/root/usr/bin/rawprof" --version
	is 'it runs from there' "$status" 0
	program=$tmp/root/usr/bin/rawprof
else
	skip 'the package' 'no dpkg-deb'
	program=$rawprof
fi

if command -v systemd-analyze >/dev/null; then
	sed -e "s,/usr/bin/rawprof,$program," -e '/^Documentation=/d' packaging/rawprof-agent.service >"$tmp/rawprof-agent.service"
	run systemd-analyze verify "$tmp/rawprof-agent.service"
	is 'systemd takes the unit' "$status $(cat "$err")" '0 '
else
	skip 'systemd takes the unit' 'no systemd-analyze'
fi

# ---- as another user, with the unit's capabilities and no others
if [ "$(id -u)" = 0 ] && can_profile && command -v setpriv >/dev/null; then
	caps=$(sed -n 's/^AmbientCapabilities=//p' packaging/rawprof-agent.service | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
	chmod 755 "$tmp"
	install -m 755 "$rawprof" "$tmp/rawprof"
	install -d -o 65534 -g 65534 -m 700 "$tmp/windows"
	"$work/leaf" 20 >/dev/null &
	busy=$!
	run setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps="$caps" --ambient-caps="$caps" \
		--bounding-set="-all,$caps" --no-new-privs "$tmp/rawprof" agent --dir "$tmp/windows" --window 2 -d 5
	is 'no uid 0: it records' "$status" 0
	windows=("$tmp"/windows/cpu-*.rawprof)
	is 'its windows are of that user alone' "$(stat -c '%u %a' "${windows[0]}")" '65534 600'
	run "$rawprof" report -n 1000 "${windows[1]}"
	has 'with the names of programs of root' "$out" ' leaf$'
	has 'and of functions of the kernel' "$out" '\[kernel\]'
	has 'with its ledger' "$out" '^ledger: [0-9,]+ samples fired'
	lacks 'which closes' "$out" 'does not close'
	kill "$busy"
	wait "$busy" 2>/dev/null
else
	skip 'no uid 0: it records' "${why_not:-no root, or no setpriv}"
fi
finish
