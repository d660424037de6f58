/* SPDX-License-Identifier: BSD-2-Clause */
/* What was recorded, where, how; whether every event is accounted for; what it cost. */
function setupAbout() {
	const { info, ledger, cost } = data, box = byId('about'), ns = v => scaled(v, 1000, ['ns', 'us', 'ms', 's']);
	const list = (title, rows) => {
		const known = rows.filter(([, v]) => v !== undefined && v !== null && v !== '');
		if (!known.length)
			return;
		const h = document.createElement('h2'), dl = document.createElement('dl');
		h.textContent = title;
		for (const [name, v] of known) {
			const dt = document.createElement('dt'), dd = document.createElement('dd');
			dt.textContent = plain(name);
			dd.textContent = plain(v);
			dl.append(dt, dd);
		}
		const group = document.createElement('section');
		group.append(h, dl);
		box.append(group);
	};
	const rate = v => v && `${three(v)} per second and CPU`;
	list('Recording', [
		['Command', info.command && `rawprof ${info.command}`], ['Of', info.target], ['Event', info.event],
		['Began', info.start_ns && new Date(info.start_ns / 1e6).toISOString().replace('T', ' ').replace(/\.\d+Z/, ' UTC')],
		['Lasted', info.duration_ns && ns(info.duration_ns)], ['Asked for', rate(info.rate_asked)],
		['Came', rate(info.rate_achieved)],
		['Period', info.period && `${number.format(info.period.value)} ${info.period.unit || ''}`], ['Note', info.note]]);
	list('Machine', [['Host', info.host], ['Kernel', info.kernel], ['Kernel build id', info.kernel_build_id],
		['CPUs watched', info.cpus], ['Program', info.main_module]]);
	list('In this page', [...data.types.map(t => [`${t.type} (${t.unit})`, number.format(BigInt(t.total))]),
		['Distinct stacks', number.format(new Set(samples.node).size)], ['Threads', number.format(nthreads)],
		['Functions', number.format(new Set(places.name).size)],
		['Moments in time', stream && number.format(stream.n)],
		['Without a time', data.stream && data.stream.missed ? number.format(data.stream.missed) : '']]);
	if (ledger)
		list('Ledger', [['Fired', number.format(ledger.fired)], ['Kept', number.format(ledger.kept)],
			...ledger.lines.filter(l => l.count).map(l => [`${l.fate}: ${l.name}`, number.format(l.count)]),
			['Closes', ledger.closes ? 'yes' : `no: ${number.format(ledger.gap)}`]]);
	if (cost)
		list('Own cost', [['BPF', cost.bpf_runs ? `${ns(cost.bpf_ns)} in ${number.format(cost.bpf_runs)} runs` : ''],
			['CPU, user', ns(cost.user_cpu_ns)], ['CPU, system', ns(cost.system_cpu_ns)],
			['Memory', cost.peak_rss_bytes && scaled(cost.peak_rss_bytes, 1024, ['B', 'KiB', 'MiB', 'GiB'])]]);
}

// The colours that are in use: of labels if they colour, else of kinds of code.
function fillLegend(box) {
	box.textContent = '';
	const add = (color, name) => {
		const item = document.createElement('span'), dot = document.createElement('i');
		item.className = 'key';
		dot.style.background = color;
		item.append(dot, name);
		box.append(item);
	};
	if (labelNames.length)
		return labelNames.slice(0, 12).forEach((name, place) => add(placeColor(place), data.names[name].slice(1, -1)));
	const kinds = new Set(places.name.map(name => nameKind[name]));
	for (let kind = 0; kind < COMM; kind++)
		if (kind !== MARK && kinds.has(kind)) {
			const [hue, hues, saturation, lightness, lightnesses] = data.ranges.kinds[kind];
			add(`hsl(${hue + hues / 2} ${saturation}% ${lightness + lightnesses / 2}%)`, KIND_NAMES[kind]);
		}
}
