'use strict';
// Draws the report that stands in the page as data. Everything that comes from it is put in as text.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const root = document.documentElement;
  const main = document.getElementById('main');
  const COLORS = 10;
  const numbers = new Intl.NumberFormat('en-US');
  // `node-10` comes after `node-9`.
  const natural = new Intl.Collator('en', { numeric: true });

  // An element with attributes, listeners (`on…`) and children; text stays text.
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null) element.setAttribute(name, value === true ? '' : value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  };
  let ids = 0;
  const section = (title, ...children) => {
    const id = `part-${++ids}`;
    const heading = make('h2', { id: `${id}-title` }, title);
    return make('section', { id, 'aria-labelledby': heading.id }, heading, ...children);
  };
  const part = (element, name) => {
    main.append(element);
    document.getElementById('parts').append(make('li', {}, make('a', { href: `#${element.id}` }, name)));
  };
  const table = (caption, heads, rows) => make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `${caption}: rows` },
    make('table', {}, make('caption', {}, caption),
      make('thead', {}, make('tr', {}, ...heads.map((head) => make('th', { scope: 'col' }, head)))),
      make('tbody', {}, ...rows.map((row) => make('tr', {},
        ...row.map((cell, place) => make(place ? 'td' : 'th', place ? {} : { scope: 'row' }, cell)))))));
  // What is long is made when it is asked for.
  const later = (words, build) => {
    const details = make('details', {}, make('summary', {}, words));
    details.addEventListener('toggle', () => {
      if (details.open && details.children.length === 1) details.append(build());
    });
    return details;
  };
  // A list that begins with `size` of its items and shows more on demand. `show` takes them, and what is said of how many.
  const paged = (list, size, noun, item) => {
    const count = make('p', { class: 'count', role: 'status' });
    const more = make('button', { type: 'button', class: 'more' });
    let [items, shown] = [[], size];
    const render = () => {
      list.replaceChildren(...items.slice(0, shown).map(item));
      const rest = Math.max(items.length - shown, 0);
      more.hidden = rest === 0;
      more.textContent = `Show ${numbers.format(Math.min(size, rest))} more of ${numbers.format(rest)} ${noun}`;
    };
    more.addEventListener('click', () => { shown += size; render(); });
    const show = (chosen, words) => {
      [items, shown] = [chosen, size];
      count.textContent = words;
      render();
    };
    return { count, list, more, show };
  };
  const search = (placeholder) => make('input', { type: 'search', placeholder, autocomplete: 'off', spellcheck: 'false' });
  const color = (place) => getComputedStyle(root).getPropertyValue(`--c${place % COLORS}`).trim();
  const tone = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // Times are UTC: reports are compared between people.
  const pad = (number) => String(number).padStart(2, '0');
  const clock = (seconds) => {
    const at = new Date(seconds * 1000);
    return `${at.getUTCFullYear()}-${pad(at.getUTCMonth() + 1)}-${pad(at.getUTCDate())} ${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}:${pad(at.getUTCSeconds())}`;
  };
  const amount = (value, chart) => {
    if (value === null || value === undefined) return '–';
    const number = value / chart.per;
    if (chart.unit === '$') return `$${number < 1 ? number.toFixed(4) : number.toFixed(2)}`;
    const text = Number.isInteger(number) ? numbers.format(number) : number.toFixed(1);
    return chart.unit ? `${text} ${chart.unit}` : text;
  };

  // What the ticks of a time axis say, from the widest distance on; a new day says which.
  const day = '{YYYY}-{MM}-{DD}';
  const TIMES = [[86400, day], [60, '{HH}:{mm}'], [1, '{HH}:{mm}:{ss}']]
    .map(([distance, words]) => [distance, words, words === day ? null : `\n${day}`, null, words === day ? null : `\n${day}`, null, null, null, 1]);

  const short = (value, chart) => `${chart.unit === '$' ? '$' : ''}${numbers.format(Number((value / chart.per).toPrecision(3)))}`;

  // What is counted has no halves.
  const WHOLE = [1, 10, 100, 1e3, 1e4, 1e5, 1e6].flatMap((unit) => [unit, 2 * unit, 5 * unit]);

  // ---- charts ----
  const drawn = [];
  const cursor = uPlot.sync('time');
  const drawChart = (chart, box, readout, hidden) => {
    const isShown = (place) => !hidden.has(place);
    const stacked = chart.style === 'stack' || chart.style === 'bars';
    // On top of each other: each series is drawn at the sum of those before it, the last one first.
    const sums = chart.at.map(() => 0);
    const drawnValues = chart.series.map((series, place) => {
      if (!stacked) return series.values;
      if (!isShown(place)) return sums.slice();
      return series.values.map((value, at) => (sums[at] += value ?? 0));
    });
    const order = chart.series.map((_, place) => place);
    if (stacked) order.reverse();
    const step = chart.style === 'points' ? () => null : chart.style === 'bars' ? uPlot.paths.bars({ size: [0.9, 40], align: 1 }) : uPlot.paths.stepped({ align: 1 });
    const lines = order.map((place) => ({
      label: chart.series[place].name,
      show: isShown(place),
      stroke: color(place),
      fill: stacked ? color(place) : undefined,
      width: stacked ? 0 : 2,
      paths: step,
      points: { show: chart.style === 'points' || chart.at.length === 1, size: 6, fill: color(place), stroke: color(place) },
      spanGaps: false,
    }));
    const axis = { stroke: tone('--soft'), grid: { stroke: tone('--grid'), width: 1 }, ticks: { stroke: tone('--grid') }, font: '12px system-ui, sans-serif' };
    const width = Math.max(box.clientWidth, 200);
    return new uPlot({
      width,
      height: 220,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'UTC'),
      legend: { show: false },
      cursor: { sync: { key: 'time' }, y: false, points: { show: !stacked }, drag: { x: true, y: false } },
      scales: { x: { time: true }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] } },
      series: [{}, ...lines],
      axes: [{ ...axis, space: 64, values: TIMES }, { ...axis, size: 62, incrs: chart.per === 1 ? WHOLE : undefined, values: (_, ticks) => ticks.map((tick) => short(tick, chart)) }],
      hooks: { setCursor: [(plot) => { readout.textContent = told(chart, plot.cursor.idx, hidden); }] },
    }, [chart.at, ...order.map((place) => drawnValues[place])], box);
  };
  const told = (chart, at, hidden) => {
    if (at === null || at === undefined) return '';
    const parts = chart.series.map((series, place) => [series, place])
      .filter(([series, place]) => !hidden.has(place) && series.values[at] !== null && (!['stack', 'bars'].includes(chart.style) || series.values[at] > 0))
      .map(([series]) => `${series.name} ${amount(series.values[at], chart)}`);
    return `${clock(chart.at[at])} UTC: ${parts.join(', ') || 'none'}`;
  };
  const chartOf = (chart) => {
    const hidden = new Set();
    const readout = make('p', { class: 'readout', 'aria-live': 'polite' });
    const box = make('div', { class: 'plot', tabindex: 0, role: 'img', 'aria-label': `${chart.title}: ${chart.about} Arrow keys read values; the table below has all of them.` });
    let plot = null;
    const draw = () => {
      if (plot) plot.destroy();
      plot = drawChart(chart, box, readout, hidden);
    };
    box.addEventListener('keydown', (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      if (by === undefined || !plot) return;
      event.preventDefault();
      const last = chart.at.length - 1;
      const at = Math.min(last, Math.max(0, (plot.cursor.idx ?? 0) + by));
      plot.setCursor({ left: plot.valToPos(chart.at[at], 'x'), top: 10 });
      readout.textContent = told(chart, at, hidden);
    });
    const swatches = chart.series.map((_, place) => make('span', { class: 'swatch' , 'aria-hidden': true, 'data-color': place }));
    const keys = make('ul', { class: 'keys', 'aria-label': 'What is shown' }, ...chart.series.map((series, place) => {
      const button = make('button', { type: 'button', 'aria-pressed': 'true' }, swatches[place], series.name);
      button.addEventListener('click', () => {
        if (!hidden.delete(place)) hidden.add(place);
        button.setAttribute('aria-pressed', String(!hidden.has(place)));
        draw();
      });
      return make('li', {}, button);
    }));
    const values = later('As a table', () => table(`${chart.title}, times in UTC`, ['Time', ...chart.series.map((series) => series.name)],
      chart.at.map((at, place) => [clock(at), ...chart.series.map((series) => amount(series.values[place], chart))])));
    const paint = () => { swatches.forEach((swatch, place) => { swatch.style.background = color(place); }); draw(); };
    drawn.push({ paint, resize: () => plot && plot.setSize({ width: Math.max(box.clientWidth, 200), height: 220 }), box });
    return section(chart.title, make('p', {}, chart.about), box, readout, keys, values);
  };

  // ---- packing ----
  const share = (part, whole) => (whole > 0 ? Math.min(100, part * 100 / whole) : 0);
  const gib = (bytes) => `${(bytes / 1073741824).toFixed(bytes < 10737418240 ? 2 : 1)} GiB`;
  const cores = (milli) => `${(milli / 1000).toFixed(milli % 1000 ? 2 : 0)} CPU`;
  const money = (micros) => (micros === null ? '' : `$${(micros / 1e6).toFixed(4)}/h`);
  const packingOf = (packing) => {
    const { workloads, texts } = packing;
    const used = (node, what) => node.pods.reduce((sum, pod) => sum + workloads[pod[1]][what], 0);
    const tip = make('div', { class: 'tip', hidden: true, 'aria-hidden': true });
    document.body.append(tip);
    const dialog = make('dialog', { 'aria-labelledby': 'node-name' });
    document.body.append(dialog);
    const last = packing.moments.length - 1;
    const moment = make('input', { type: 'range', min: 0, max: last, step: 1, value: last });
    const when = make('span', { class: 'when' });
    const order = make('select', {}, ...[['free', 'Most unused CPU first'], ['full', 'Fullest CPU first'], ['price', 'Most expensive first'], ['name', 'By name']].map(([value, words]) => make('option', { value }, words)));
    const filter = search('node, type, zone, pool, pod');
    let nodes = [];
    // Pods of a workload that would be drawn too thin to be seen are one area.
    const THIN = 2;
    const areas = (node, what) => {
      const byWorkload = new Map();
      node.pods.forEach((pod) => byWorkload.set(pod[1], [...(byWorkload.get(pod[1]) ?? []), pod]));
      return [...byWorkload].flatMap(([workload, pods]) => {
        const each = node[what] > 0 ? workloads[workload][what] * 100 / node[what] : 0;
        return each < THIN ? [{ pods, percent: each * pods.length }] : pods.map((pod) => ({ pods: [pod], percent: each }));
      });
    };
    const sentences = (node, pods) => {
      const { cpu, memory } = workloads[pods[0][1]];
      const requested = `${cores(cpu * pods.length)} and ${gib(memory * pods.length)} requested of ${node.name}`;
      return [pods.length === 1 ? texts[pods[0][2]] : '', requested].filter(Boolean);
    };
    const bar = (node, words, what) => {
      const all = areas(node, what);
      const total = all.reduce((sum, { percent }) => sum + percent, 0);
      const pods = make('div', { class: 'pods' }, ...all.map((area) => {
        const element = make('i', {});
        // More than there is cannot be drawn: the parts keep their proportions.
        element.style.width = `${area.percent * 100 / Math.max(total, 100)}%`;
        element.style.background = `var(--c${area.pods[0][1] % COLORS})`;
        element.pods = area.pods;
        return element;
      }));
      return make('div', { class: 'bar', 'aria-hidden': 'true' }, words, pods, make('b', {}, `${Math.round(share(used(node, what), node[what]))}%`));
    };
    const open = (node) => {
      const close = make('button', { type: 'button', onclick: () => dialog.close() }, 'Close');
      dialog.replaceChildren(
        make('header', {}, make('h2', { id: 'node-name' }, node.name), close),
        make('p', {}, [node.kind, node.pool && `NodePool ${node.pool}`, money(node.price), `${cores(node.cpu)} and ${gib(node.memory)} for pods`].filter(Boolean).join(' · ')),
        make('ul', {}, ...node.why.map((place) => make('li', {}, texts[place]))),
        node.pods.length ? table(`Pods on ${node.name}`, ['Pod', 'Workload', 'CPU', 'Memory', 'Why it is here'],
          node.pods.map((pod) => [pod[0], workloads[pod[1]].name, cores(workloads[pod[1]].cpu), gib(workloads[pod[1]].memory), texts[pod[2]] || '–'])) : make('p', {}, 'No pod is on it.'));
      dialog.showModal();
    };
    const card = (node) => {
      const pods = `${numbers.format(node.pods.length)} pod${node.pods.length === 1 ? '' : 's'}`;
      const item = make('li', {},
        make('header', {}, make('h3', { title: node.name }, node.name.split('.')[0]), make('span', { class: 'price' }, money(node.price))),
        make('p', { class: 'kind' }, [node.kind, node.pool].filter(Boolean).join(' · ') || '–'),
        bar(node, 'CPU', 'cpu'), bar(node, 'Memory', 'memory'),
        make('button', { type: 'button', 'aria-label': `${pods}, and why: ${node.name}`, onclick: () => open(node) }, `${pods}, and why`));
      const same = (event, is) => {
        const { pods } = event.target;
        if (!pods) return null;
        item.querySelectorAll('.pods i').forEach((area) => area.classList.toggle('same', is && area.pods.some((pod) => pods.includes(pod))));
        return pods;
      };
      const show = (event) => {
        const pods = same(event, true);
        if (!pods) return;
        const title = pods.length === 1 ? pods[0][0] : `${numbers.format(pods.length)} pods of ${workloads[pods[0][1]].name}`;
        tip.replaceChildren(make('strong', {}, title), ...sentences(node, pods).flatMap((words, place) => (place ? [make('br'), words] : [words])));
        tip.hidden = false;
        const box = event.target.getBoundingClientRect();
        tip.style.left = `${Math.max(8, Math.min(box.left, window.innerWidth - tip.offsetWidth - 8))}px`;
        tip.style.top = `${box.bottom + 8 + tip.offsetHeight > window.innerHeight ? box.top - tip.offsetHeight - 8 : box.bottom + 8}px`;
      };
      item.addEventListener('pointerover', show);
      item.addEventListener('click', (event) => { if (event.target.pods) { show(event); event.stopPropagation(); } });
      item.addEventListener('pointerout', (event) => { if (event.pointerType === 'mouse') { same(event, false); tip.hidden = true; } });
      return item;
    };
    document.addEventListener('click', () => { tip.hidden = true; });
    document.addEventListener('scroll', () => { tip.hidden = true; }, { passive: true });
    document.addEventListener('keydown', (event) => { if (event.key === 'Escape') tip.hidden = true; });
    // A cell for each node, the darker the more of its CPU is requested: what hundreds of cards cannot show at once.
    const SHADES = [0, 20, 40, 60, 80];
    const [CELL, COLUMNS, FEW] = [22, 40, 12];
    const comb = make('div', { class: 'comb' });
    const honeycomb = () => {
      comb.hidden = nodes.length <= FEW;
      if (comb.hidden) return;
      const shade = (node) => SHADES.findLastIndex((from) => from <= share(used(node, 'cpu'), node.cpu));
      const counts = SHADES.map((_, place) => nodes.filter((node) => shade(node) === place).length);
      const columns = Math.min(COLUMNS, Math.max(8, Math.floor(comb.clientWidth / CELL) - 1));
      const height = CELL * 0.87;
      const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      const words = counts.map((number, place) => `${numbers.format(number)} from ${SHADES[place]} %`).join(', ');
      svg.setAttribute('role', 'img');
      svg.setAttribute('aria-label', `Nodes by the share of CPU that pods request: ${words}`);
      svg.setAttribute('viewBox', `0 0 ${(columns + 0.5) * CELL} ${Math.ceil(nodes.length / columns) * height + CELL * 0.3}`);
      svg.style.maxWidth = `${(columns + 0.5) * CELL}px`;
      nodes.forEach((node, at) => {
        const [row, column] = [Math.floor(at / columns), at % columns];
        const [x, y] = [(column + (row % 2 ? 1 : 0.5)) * CELL, (row + 0.58) * height];
        const corner = (turn) => `${(x + CELL * 0.54 * Math.sin(turn * Math.PI / 3)).toFixed(1)},${(y + CELL * 0.54 * Math.cos(turn * Math.PI / 3)).toFixed(1)}`;
        const cell = document.createElementNS('http://www.w3.org/2000/svg', 'polygon');
        cell.setAttribute('points', [0, 1, 2, 3, 4, 5].map(corner).join(' '));
        cell.setAttribute('class', `share-${shade(node)}`);
        const title = document.createElementNS('http://www.w3.org/2000/svg', 'title');
        title.textContent = `${node.name}: ${Math.round(share(used(node, 'cpu'), node.cpu))} % of CPU, ${Math.round(share(used(node, 'memory'), node.memory))} % of memory`;
        cell.append(title);
        cell.addEventListener('click', () => open(node));
        svg.append(cell);
      });
      const key = (number, place) => make('li', {}, make('span', { class: `swatch share-${place}`, 'aria-hidden': true }),
        `${SHADES[place]}–${SHADES[place] + 20} % of CPU: ${numbers.format(number)}`);
      comb.replaceChildren(svg, make('ul', { class: 'keys', 'aria-label': 'Shades' }, ...counts.map(key)));
    };
    const legend = make('ul', { class: 'keys', 'aria-label': 'Workloads' }, ...workloads.slice(0, COLORS).map((workload, place) => {
      const swatch = make('span', { class: 'swatch', 'aria-hidden': true });
      swatch.style.background = `var(--c${place})`;
      return make('li', {}, swatch, workload.name);
    }), workloads.length > COLORS ? make('li', {}, `and ${numbers.format(workloads.length - COLORS)} more, in the same colors again`) : null);
    const { count, list, more, show: showCards } = paged(make('ul', { class: 'nodes' }), 24, 'nodes', card);
    const choose = () => {
      const wanted = filter.value.trim().toLowerCase();
      const fits = (node) => !wanted || [node.name, node.kind, node.pool].some((text) => text.toLowerCase().includes(wanted))
        || node.pods.some((pod) => pod[0].toLowerCase().includes(wanted) || workloads[pod[1]].name.toLowerCase().includes(wanted));
      nodes = packing.moments[moment.value].nodes.filter(fits);
      const unused = (node) => node.cpu - used(node, 'cpu');
      const part = (node) => share(used(node, 'cpu'), node.cpu);
      when.textContent = packing.moments[moment.value].name;
      const by = { free: (a, b) => unused(b) - unused(a), full: (a, b) => part(b) - part(a), price: (a, b) => (b.price ?? 0) - (a.price ?? 0), name: () => 0 }[order.value];
      nodes.sort((a, b) => by(a, b) || natural.compare(a.name, b.name));
      honeycomb();
      const at = packing.moments[moment.value];
      showCards(nodes, `${numbers.format(nodes.length)} of ${numbers.format(at.nodes.length + at.nodesLeftOut)} nodes`
        + (at.nodesLeftOut ? `; ${numbers.format(at.nodesLeftOut)} are not in this page, which shows the ${numbers.format(at.nodes.length)} with the most unused CPU` : ''));
    };
    order.addEventListener('change', choose);
    [filter, moment].forEach((control) => control.addEventListener('input', choose));
    const labelled = (words, control) => make('label', {}, words, control);
    const element = section('Packing', make('p', {}, packing.about),
      make('div', { class: 'controls' }, packing.moments.length > 1 ? make('label', {}, make('span', {}, 'Time ', when), moment) : null, labelled('Order', order), labelled('Only nodes with', filter)),
      count, comb, legend, list, more);
    // Only what is in the page has a width.
    return [element, choose];
  };

  const lineOf = ([at, , text]) => make('li', {}, make('time', {}, at), make('span', {}, text));

  // ---- lanes ----
  // A bar for each node from its launch to its end. The button on it tells why it came and why it went.
  const lanesOf = (lanes) => {
    const pools = [...new Set(lanes.rows.map((lane) => lane.pool))];
    const percent = (at) => (lanes.to > lanes.from ? (at - lanes.from) * 100 / (lanes.to - lanes.from) : 0);
    const dialog = make('dialog', { 'aria-labelledby': 'lane-name' });
    document.body.append(dialog);
    const open = (lane) => {
      const close = make('button', { type: 'button', onclick: () => dialog.close() }, 'Close');
      const until = lane.to === null ? 'it runs at the end' : `gone ${clock(lane.to)}`;
      const about = (text) => text.split(/[\s(),:;]+/).some((word) => lane.names.includes(word));
      const lines = (data.timeline?.lines ?? []).filter(([, , text]) => about(text));
      dialog.replaceChildren(
        make('header', {}, make('h2', { id: 'lane-name' }, lane.name), close),
        make('p', {}, [lane.kind || 'no instance', `NodePool ${lane.pool}`, money(lane.price), `launched ${clock(lane.from)}`, until].filter(Boolean).join(' · ')),
        make('h3', {}, 'Why it came'), make('p', {}, lane.came || 'No decision is recorded.'),
        make('h3', {}, lane.went.length ? `Why it went: ${lane.went[0]}` : 'It stays'),
        ...(lane.went[1] ? [make('p', {}, lane.went[1])] : []),
        make('h3', {}, 'What happened to it'),
        make('ol', { class: 'lines' }, ...lines.map(lineOf)));
      dialog.showModal();
    };
    const row = (lane) => {
      const [from, to] = [percent(Math.max(lane.from, lanes.from)), percent(lane.to ?? lanes.to)];
      const words = `${lane.name}: ${lane.kind || 'no instance'}. ${lane.went.length ? `Went: ${lane.went[0]}` : 'Stays'}`;
      const bar = make('button', { type: 'button', class: `lane${lane.to === null ? '' : ' ended'}`, title: words, 'aria-label': words, onclick: () => open(lane) });
      bar.style.left = `${from}%`;
      bar.style.width = `${Math.max(to - from, 0.3)}%`;
      bar.style.background = `var(--c${pools.indexOf(lane.pool) % COLORS})`;
      const ending = lane.went[0] ?? 'runs';
      return make('li', {}, make('span', { class: 'who' }, lane.name.split('.')[0], make('small', {}, lane.kind)), make('div', { class: 'track' }, bar), make('span', {}, ending));
    };
    const ticks = [0, 1, 2, 3].map((part) => make('span', {}, clock(lanes.from + Math.round((lanes.to - lanes.from) * part / 4)).slice(5, 16)));
    const axis = make('div', { class: 'lane-axis', 'aria-hidden': 'true' }, make('span', {}, 'UTC'), make('div', {}, ...ticks), make('span', {}, 'Went'));
    const filter = search('a node, a type, a reason');
    const { count, list, more, show } = paged(make('ol', { class: 'lanes' }), 30, 'nodes', row);
    const choose = () => {
      const wanted = filter.value.trim().toLowerCase();
      const rows = lanes.rows.filter((lane) => !wanted || [lane.kind, lane.pool, ...lane.names, ...lane.went].some((text) => text.toLowerCase().includes(wanted)));
      rows.sort((one, other) => one.from - other.from || natural.compare(one.name, other.name));
      show(rows, `${numbers.format(rows.length)} of ${numbers.format(lanes.rows.length + lanes.leftOut)} nodes`
        + (lanes.leftOut ? `; the ${numbers.format(lanes.leftOut)} oldest are not in this page` : ''));
    };
    filter.addEventListener('input', choose);
    choose();
    const keys = make('ul', { class: 'keys', 'aria-label': 'Colors' }, ...pools.map((pool, place) => {
      const swatch = make('span', { class: 'swatch', 'aria-hidden': true });
      swatch.style.background = `var(--c${place % COLORS})`;
      return make('li', {}, swatch, `NodePool ${pool}`);
    }));
    return section('Nodes', make('p', {}, lanes.about), keys,
      make('div', { class: 'controls' }, make('label', {}, 'Only nodes with', filter)), count, axis, list, more);
  };

  // ---- timeline ----
  const timelineOf = (timeline) => {
    const kind = make('select', {}, make('option', { value: '' }, 'Everything'), ...timeline.kinds.map((name, place) => make('option', { value: place }, name)));
    const filter = search('a node, a type, a reason');
    const { count, list, more, show } = paged(make('ol', { class: 'lines' }), 40, 'lines', lineOf);
    const choose = () => {
      const wanted = filter.value.trim().toLowerCase();
      const lines = timeline.lines.filter(([, what, text]) => (kind.value === '' || what === Number(kind.value)) && (!wanted || text.toLowerCase().includes(wanted)));
      show(lines, `${numbers.format(lines.length)} of ${numbers.format(timeline.lines.length)} lines`);
    };
    kind.addEventListener('change', choose);
    filter.addEventListener('input', choose);
    choose();
    return section('Timeline', make('p', {}, timeline.about),
      make('div', { class: 'controls' }, make('label', {}, 'What happened', kind), make('label', {}, 'Only lines with', filter)),
      count, list, more);
  };

  // ---- the page ----
  document.getElementById('about').textContent = data.about;
  if (data.figures.length) {
    part(section('Summary', make('dl', { class: 'figures' }, ...data.figures.map((figure) => make('div', {},
      make('dt', {}, figure.name), make('dd', {}, figure.value, figure.more ? make('small', {}, figure.more) : null))))), 'Summary');
  }
  const tables = data.tables.map((one) => [section(one.title, table(one.title, one.heads, one.rows)), one.title]);
  if (data.charts.length) {
    const charts = make('div', { class: 'charts', id: 'charts' });
    part(charts, 'Over time');
    charts.append(...data.charts.map(chartOf));
  }
  tables.forEach(([element, name]) => part(element, name));
  if (data.lanes) part(lanesOf(data.lanes), 'Nodes');
  if (data.packing) {
    const [element, choose] = packingOf(data.packing);
    part(element, 'Packing');
    choose();
  }
  if (data.timeline) part(timelineOf(data.timeline), 'Timeline');
  if (data.notes.length) {
    part(section('Notes', ...data.notes.flatMap((note) => [make('h3', {}, note.title), make('ul', {}, ...note.lines.map((line) => make('li', {}, line)))])), 'Notes');
  }

  const button = document.getElementById('theme');
  const wish = window.matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;
  const dress = () => {
    const dark = chosen ?? wish.matches;
    root.dataset.theme = dark ? 'dark' : 'light';
    button.setAttribute('aria-pressed', String(dark));
    drawn.forEach((chart) => chart.paint());
  };
  button.addEventListener('click', () => { chosen = !(chosen ?? wish.matches); dress(); });
  wish.addEventListener('change', dress);
  dress();
  let width = window.innerWidth;
  window.addEventListener('resize', () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    drawn.forEach((chart) => chart.resize());
  });
  root.dataset.ready = 'true';
})();
