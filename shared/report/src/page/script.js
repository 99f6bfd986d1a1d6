'use strict';
// Draws the report that stands in the page as data. Everything that comes from it is put in as text.
(async () => {
  // What is large is packed: gzip in base64.
  const unpacked = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
  };
  const source = document.getElementById('data');
  const data = JSON.parse(source.dataset.packed === 'gzip' ? await unpacked(source.textContent) : source.textContent);
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

  // ---- links ----
  // Charts, lanes, cards and lines are about nodes and times. What is pointed at or has the focus is marked in all of them.
  const laneOf = new Map((data.lanes?.rows ?? []).flatMap((lane) => lane.names.map((name) => [name, lane])));
  const lanesIn = (text) => [...new Set(text.split(/[\s(),:;]+/).map((word) => laneOf.get(word)).filter(Boolean))];
  const shown = {};
  const linked = (element, lanes, at = null) => {
    Object.assign(element, { lanes, at });
    element.classList.add('linked');
    return element;
  };
  const markLane = (lane) => {
    document.querySelectorAll('.linked').forEach((element) => element.classList.toggle('same', lane !== null && element.lanes.includes(lane)));
    drawn.forEach((chart) => chart.band(lane));
  };
  const markTime = (at) => shown.lanes?.now(at);
  const pointed = (event) => {
    const element = event.target.closest?.('.linked');
    markLane(element?.lanes.length === 1 ? element.lanes[0] : shown.pinned ?? null);
    if (element && element.at !== null) {
      markTime(element.at);
      drawn.forEach((chart) => chart.point(element.at));
    }
  };
  ['pointerover', 'focusin'].forEach((name) => document.addEventListener(name, pointed));
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    shown.pinned = null;
    markLane(null);
  });
  const still = window.matchMedia('(prefers-reduced-motion: reduce)');
  const bring = (element) => element.scrollIntoView({ behavior: still.matches ? 'auto' : 'smooth', block: 'start' });
  // A text in which the names of nodes open their lanes.
  const withNodes = (text, but = null) => text.split(/([\s(),:;]+)/).map((word) => {
    const lane = laneOf.get(word);
    return lane && lane !== but ? make('button', { type: 'button', class: 'node-link', onclick: () => shown.lanes.open(lane) }, word) : word;
  });

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

  const short = (value, chart) => `${chart.unit === '$' ? '$' : ''}${numbers.format(Number((value / chart.per).toPrecision(3)))}${chart.unit === 's' ? ' s' : ''}`;

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
    const step = chart.style === 'points' ? () => null : chart.style === 'bars' ? uPlot.paths.bars({ size: [0.9, 40, 3], align: 1 }) : uPlot.paths.stepped({ align: 1 });
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
      hooks: { setCursor: [(plot) => {
        readout.textContent = told(chart, plot.cursor.idx, hidden);
        markTime(chart.at[plot.cursor.idx] ?? null);
      }] },
    }, [chart.at, ...order.map((place) => drawnValues[place])], box);
  };
  const told = (chart, at, hidden) => {
    if (at === null || at === undefined) return '';
    const parts = chart.series.map((series, place) => [series, place])
      .filter(([series, place]) => !hidden.has(place) && series.values[at] !== null && (!['stack', 'bars'].includes(chart.style) || series.values[at] > 0))
      .map(([series]) => `${series.name} ${amount(series.values[at], chart)}`);
    return `${clock(chart.at[at])} UTC: ${parts.join(', ') || 'none'}`;
  };
  // The timeline and the packing at a time, which a click on a chart chooses.
  const goTo = (at) => {
    shown.packing?.at(at);
    shown.timeline?.from(at);
  };
  const chartOf = (whole) => {
    let [chart, plot, hidden] = [whole, null, new Set()];
    const readout = make('p', { class: 'readout', 'aria-live': 'polite' });
    const box = make('div', { class: 'plot', tabindex: 0, role: 'img', 'aria-label': `${chart.title}: ${chart.about} Arrow keys read values; the table below has all of them.${data.timeline ? ' Enter shows the timeline from there.' : ''}` });
    const band = make('div', { class: 'band', hidden: true, 'aria-hidden': 'true' });
    const draw = () => {
      if (plot) plot.destroy();
      plot = drawChart(chart, box, readout, hidden);
      plot.over.append(band);
    };
    const point = (at) => plot && plot.setCursor({ left: plot.valToPos(at, 'x'), top: 10 });
    box.addEventListener('keydown', (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity, Enter: 0 }[event.key];
      if (by === undefined || !plot) return;
      // Enter would also press the button that gets the focus.
      event.preventDefault();
      if (by === 0) {
        if (plot.cursor.idx !== null) goTo(chart.at[plot.cursor.idx]);
        return;
      }
      const last = chart.at.length - 1;
      const at = Math.min(last, Math.max(0, (plot.cursor.idx ?? 0) + by));
      point(chart.at[at]);
      readout.textContent = told(chart, at, hidden);
    });
    // A drag zooms, a click chooses a time.
    let pressed = 0;
    box.addEventListener('pointerdown', (event) => { pressed = event.clientX; });
    box.addEventListener('click', (event) => {
      if (plot && plot.cursor.idx !== null && Math.abs(event.clientX - pressed) < 4) goTo(chart.at[plot.cursor.idx]);
    });
    const keys = make('ul', { class: 'keys', 'aria-label': 'What is shown' });
    const below = make('div', {});
    const paint = () => {
      keys.querySelectorAll('.swatch').forEach((swatch, place) => { swatch.style.background = color(place); });
      draw();
    };
    const dress = () => {
      hidden = new Set();
      keys.replaceChildren(...chart.series.map((series, place) => {
        const button = make('button', { type: 'button', 'aria-pressed': 'true' }, make('span', { class: 'swatch', 'aria-hidden': true }), series.name);
        button.addEventListener('click', () => {
          if (!hidden.delete(place)) hidden.add(place);
          button.setAttribute('aria-pressed', String(!hidden.has(place)));
          draw();
        });
        return make('li', {}, button);
      }));
      below.replaceChildren(later('As a table', () => table(`${chart.title}, times in UTC`, ['Time', ...chart.series.map((series) => series.name)],
        chart.at.map((at, place) => [clock(at), ...chart.series.map((series) => amount(series.values[place], chart))]))));
    };
    const measures = whole.measures ?? [];
    const measure = make('select', { 'aria-label': `${whole.title} in` }, ...measures.map(({ name }, place) => make('option', { value: place }, name)));
    measure.addEventListener('change', () => {
      chart = measure.value === '0' ? whole : { ...whole, ...measures[measure.value] };
      dress();
      paint();
    });
    dress();
    drawn.push({
      paint,
      point,
      resize: () => plot && plot.setSize({ width: Math.max(box.clientWidth, 200), height: 220 }),
      band: (lane) => {
        band.hidden = lane === null || !plot;
        if (band.hidden) return;
        const [from, to] = [lane.from, lane.to ?? chart.at.at(-1)].map((at) => plot.valToPos(at, 'x'));
        band.style.left = `${from}px`;
        band.style.width = `${Math.max(to - from, 1)}px`;
      },
    });
    return section(chart.title, make('p', {}, chart.about), measures.length ? make('div', { class: 'measure' }, 'in ', measure) : null, box, readout, keys, below);
  };

  // ---- costs ----
  const costsOf = (title, costs) => {
    const area = make('div', {});
    const row = (bar) => {
      const drawnBar = make('div', { class: 'cost', 'aria-hidden': 'true' }, make('i', {}), make('i', { class: 'free' }));
      drawnBar.children[0].style.width = `${bar.requested / 10}%`;
      drawnBar.children[1].style.width = `${(bar.share - bar.requested) / 10}%`;
      return make('tr', {}, make('th', { scope: 'row' }, bar.name), make('td', {}, drawnBar), ...bar.cells.map((cell) => make('td', { class: 'number' }, cell)));
    };
    const show = (group) => {
      buttons.forEach((button, place) => button.setAttribute('aria-pressed', String(costs.groups[place] === group)));
      area.replaceChildren(make('div', { class: 'scroll costs', tabindex: 0, role: 'region', 'aria-label': `${title} by ${group.name}: rows` },
        make('table', {}, make('caption', {}, `${title} by ${group.name}`),
          make('thead', {}, make('tr', {}, ...[group.name, 'Bar', ...costs.heads].map((head, place) => make('th', { scope: 'col', class: place > 1 ? 'number' : null }, head)))),
          make('tbody', {}, ...group.rows.map(row)))));
    };
    const buttons = costs.groups.map((group) => make('button', { type: 'button', onclick: () => show(group) }, group.name));
    show(costs.groups.find((group) => group.rows.length > 1) ?? costs.groups[0]);
    const key = (name, words) => make('li', {}, make('span', { class: `swatch ${name}`, 'aria-hidden': true }), words);
    const several = buttons.length > 1;
    return section(title, make('p', {}, costs.about), several ? make('div', { class: 'choice', role: 'group', 'aria-label': `${title} by` }, 'By ', ...buttons) : null,
      several ? make('ul', { class: 'keys', 'aria-label': 'Colors' }, key('requested', 'requested by pods'), key('unrequested', 'not requested')) : null, area);
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
    const times = packing.moments.map(({ at }) => at ?? null);
    // Of a time the latest is shown first, of what would change what there is.
    const moment = make('input', { type: 'range', min: 0, max: last, step: 1, value: times[0] === null ? 0 : last });
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
    const life = (node) => (laneOf.has(node.name) ? make('button', { type: 'button', onclick: () => { dialog.close(); shown.lanes.open(laneOf.get(node.name)); } }, 'Its life') : null);
    const open = (node) => {
      const close = make('button', { type: 'button', onclick: () => dialog.close() }, 'Close');
      dialog.replaceChildren(
        make('header', {}, make('h2', { id: 'node-name' }, node.name), make('div', { class: 'buttons' }, life(node), close)),
        make('p', {}, [node.kind, node.pool && `NodePool ${node.pool}`, money(node.price), `${cores(node.cpu)} and ${gib(node.memory)} for pods`].filter(Boolean).join(' · ')),
        make('ul', {}, ...node.why.map((place) => make('li', {}, texts[place]))),
        node.pods.length ? table(`Pods on ${node.name}`, ['Pod', 'Workload', 'CPU', 'Memory', 'Why it is here'],
          node.pods.map((pod) => [pod[0], workloads[pod[1]].name, cores(workloads[pod[1]].cpu), gib(workloads[pod[1]].memory), texts[pod[2]] || '–'])) : make('p', {}, 'No pod is on it.'));
      dialog.showModal();
    };
    const card = (node) => {
      const pods = `${numbers.format(node.pods.length)} pod${node.pods.length === 1 ? '' : 's'}`;
      const mark = node.mark ?? null;
      const item = make('li', { class: mark && `mark-${mark}` },
        make('header', {}, make('h3', { title: node.name }, node.name.split('.')[0]), make('span', { class: 'price' }, money(node.price))),
        make('p', { class: 'kind' }, mark ? make('b', {}, mark) : null, [node.kind, node.pool].filter(Boolean).join(' · ') || '–'),
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
      return linked(item, laneOf.has(node.name) ? [laneOf.get(node.name)] : []);
    };
    document.addEventListener('click', () => { tip.hidden = true; });
    document.addEventListener('scroll', () => { tip.hidden = true; }, { passive: true });
    document.addEventListener('keydown', (event) => { if (event.key === 'Escape') tip.hidden = true; });
    // A cell for each node, the darker the more of its CPU is requested: what hundreds of cards cannot show at once.
    const SHADES = [0, 20, 40, 60, 80];
    const [CELL, COLUMNS, FEW] = [22, 40, 12];
    const comb = make('div', { class: 'comb' });
    const reached = make('p', { class: 'readout', 'aria-live': 'polite' });
    const describe = (node) => `${node.name}: ${Math.round(share(used(node, 'cpu'), node.cpu))} % of CPU, ${Math.round(share(used(node, 'memory'), node.memory))} % of memory`;
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
      svg.setAttribute('aria-label', `Nodes by the share of CPU that pods request: ${words}. Arrow keys go from node to node, Enter opens one.`);
      svg.setAttribute('tabindex', '0');
      reached.textContent = '';
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
        title.textContent = describe(node);
        cell.append(title);
        cell.addEventListener('click', () => open(node));
        svg.append(linked(cell, laneOf.has(node.name) ? [laneOf.get(node.name)] : []));
      });
      const cells = [...svg.querySelectorAll('polygon')];
      let current = -1;
      svg.addEventListener('keydown', (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, Home: -Infinity, End: Infinity, Enter: 0 }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        if (by === 0) {
          if (nodes[current]) open(nodes[current]);
          return;
        }
        cells[current]?.classList.remove('current');
        current = Math.min(cells.length - 1, Math.max(0, current + by));
        cells[current].classList.add('current');
        reached.textContent = describe(nodes[current]);
        markLane(cells[current].lanes[0] ?? null);
      });
      const key = (number, place) => make('li', {}, make('span', { class: `swatch share-${place}`, 'aria-hidden': true }),
        `${SHADES[place]}–${SHADES[place] + 20} % of CPU: ${numbers.format(number)}`);
      comb.replaceChildren(svg, reached, make('ul', { class: 'keys', 'aria-label': 'Shades' }, ...counts.map(key)));
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
      const goes = (node) => Number(node.mark === 'goes');
      nodes.sort((a, b) => goes(b) - goes(a) || by(a, b) || natural.compare(a.name, b.name));
      honeycomb();
      const at = packing.moments[moment.value];
      showCards(nodes, `${numbers.format(nodes.length)} of ${numbers.format(at.nodes.length + at.nodesLeftOut)} nodes`
        + (at.nodesLeftOut ? `; ${numbers.format(at.nodesLeftOut)} are not in this page, which shows the ${numbers.format(at.nodes.length)} with the most unused CPU` : ''));
    };
    shown.packing = {
      // The latest moment that is not after a time.
      at: (at) => {
        const place = times.findLastIndex((time) => time !== null && time <= at);
        if (last === 0 || times[0] === null) return;
        moment.value = Math.max(place, 0);
        choose();
      },
      // The latest moment that has a node.
      momentOf: (names) => packing.moments.findLastIndex((one) => one.nodes.some((node) => names.includes(node.name))),
      show: (names) => {
        const place = shown.packing.momentOf(names);
        moment.value = place;
        filter.value = packing.moments[place].nodes.find((node) => names.includes(node.name)).name;
        choose();
        bring(element);
        list.querySelector('button')?.focus({ preventScroll: true });
      },
    };
    order.addEventListener('change', choose);
    [filter, moment].forEach((control) => control.addEventListener('input', choose));
    const labelled = (words, control) => make('label', {}, words, control);
    const element = section('Packing', make('p', {}, packing.about),
      make('div', { class: 'controls' }, packing.moments.length > 1 ? make('label', {}, make('span', {}, times[0] === null ? 'Show: ' : 'Time ', when), moment) : null, labelled('Order', order), labelled('Only nodes with', filter)),
      count, comb, legend, list, more);
    // Only what is in the page has a width.
    return [element, choose];
  };

  // `+01:02:03` in seconds.
  const secondsOf = (elapsed) => elapsed.slice(1).split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  const timeOf = ([elapsed]) => data.timeline.start + secondsOf(elapsed);
  // The other way round.
  const elapsedAt = (at) => {
    const seconds = at - data.timeline.start;
    return `+${[seconds / 3600, seconds / 60 % 60, seconds % 60].map((part) => String(Math.floor(part)).padStart(2, '0')).join(':')}`;
  };
  const lineOf = (line, but = null) => linked(make('li', {}, make('time', { title: `${clock(timeOf(line))} UTC` }, line[0]), make('span', {}, ...withNodes(line[2], but))), lanesIn(line[2]), timeOf(line));

  // ---- lanes ----
  // Four times, from the first on, and what the last column has.
  const axisOf = ({ from, to }, last) => {
    const ticks = [0, 1, 2, 3].map((part) => make('span', {}, clock(from + Math.round((to - from) * part / 4)).slice(5, 16)));
    return make('div', { class: 'lane-axis', 'aria-hidden': 'true' }, make('span', {}, 'UTC'), make('div', {}, ...ticks), make('span', {}, last));
  };

  // A bar for each node from its launch to its end. The button on it tells why it came and why it went.
  const lanesOf = (lanes) => {
    const pools = [...new Set(lanes.rows.map((lane) => lane.pool))];
    const percent = (at) => (lanes.to > lanes.from ? (at - lanes.from) * 100 / (lanes.to - lanes.from) : 0);
    const dialog = make('dialog', { 'aria-labelledby': 'lane-name' });
    document.body.append(dialog);
    let rows = [];
    const open = (lane) => {
      const button = (words, act, off = false) => make('button', { type: 'button', disabled: off, onclick: act }, words);
      const leave = (act) => () => { dialog.close(); act(); };
      const at = rows.indexOf(lane);
      const step = (by) => rows[at + by] && at >= 0 && open(rows[at + by]);
      const until = lane.to === null ? 'it runs at the end' : `gone ${clock(lane.to)}`;
      const named = (data.timeline?.lines ?? []).filter(([, , text]) => lanesIn(text).includes(lane));
      const isNamed = ([after, kind]) => named.some((line) => timeOf(line) === lane.from + after && data.timeline.kinds[line[1]] === kind);
      // `NodeReady` as words.
      const moments = (lane.moments ?? []).filter((moment) => !isNamed(moment))
        .map(([after, kind]) => [elapsedAt(lane.from + after), null, kind.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)]);
      const lines = [...named, ...moments].sort((one, other) => timeOf(one) - timeOf(other));
      dialog.onkeydown = (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (by) step(by);
      };
      dialog.replaceChildren(
        make('header', {}, make('h2', { id: 'lane-name' }, lane.name), make('div', { class: 'buttons' },
          button('Previous', () => step(-1), at <= 0), button('Next', () => step(1), at < 0 || at === rows.length - 1), button('Close', () => dialog.close()))),
        make('p', {}, [lane.kind || 'no instance', `NodePool ${lane.pool}`, money(lane.price), `launched ${clock(lane.from)}`, until].filter(Boolean).join(' · ')),
        make('div', { class: 'buttons' },
          drawn.length ? button('Show in charts', leave(() => { shown.pinned = lane; bring(document.getElementById('charts')); markLane(lane); })) : null,
          (shown.packing?.momentOf(lane.names) ?? -1) >= 0 ? button('Show in Packing', leave(() => shown.packing.show(lane.names))) : null,
          shown.timeline && named.length ? button('Show in Timeline', leave(() => shown.timeline.about(lane))) : null),
        make('h3', {}, 'Why it came'), make('p', {}, ...withNodes(lane.came || 'No decision is recorded.', lane)),
        make('h3', {}, lane.went.length ? `Why it went: ${lane.went[0]}` : 'It stays'),
        ...(lane.went[1] ? [make('p', {}, ...withNodes(lane.went[1], lane))] : []),
        ...(lines.length ? [make('h3', {}, 'What happened to it'), make('ol', { class: 'lines' }, ...lines.map((line) => lineOf(line, lane)))] : []));
      if (!dialog.open) dialog.showModal();
      else dialog.querySelector('button:enabled')?.focus();
    };
    const row = (lane) => {
      const [from, to] = [percent(Math.max(lane.from, lanes.from)), percent(lane.to ?? lanes.to)];
      const words = `${lane.name}: ${lane.kind || 'no instance'}. ${lane.went.length ? `Went: ${lane.went[0]}` : 'Stays'}`;
      const bar = make('button', { type: 'button', class: `lane${lane.to === null ? '' : ' ended'}`, title: words, 'aria-label': words, onclick: () => open(lane) });
      bar.style.left = `${from}%`;
      bar.style.width = `${Math.max(to - from, 0.3)}%`;
      bar.style.background = `var(--c${pools.indexOf(lane.pool) % COLORS})`;
      const ending = lane.went[0] ?? 'runs';
      return linked(make('li', {}, make('span', { class: 'who' }, lane.name.split('.')[0], make('small', {}, lane.kind)), make('div', { class: 'track' }, bar), make('span', {}, ending)), [lane]);
    };
    const filter = search('a node, a type, a reason');
    const { count, list, more, show } = paged(make('ol', { class: 'lanes' }), 30, 'nodes', row);
    list.addEventListener('keydown', (event) => {
      const bars = [...list.querySelectorAll('.lane')];
      const at = bars.indexOf(document.activeElement);
      const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: bars.length - 1 }[event.key];
      if (to === undefined || at < 0) return;
      event.preventDefault();
      bars[to]?.focus();
    });
    const choose = () => {
      const wanted = filter.value.trim().toLowerCase();
      rows = lanes.rows.filter((lane) => !wanted || [lane.kind, lane.pool, ...lane.names, ...lane.went].some((text) => text.toLowerCase().includes(wanted)));
      rows.sort((one, other) => one.from - other.from || natural.compare(one.name, other.name));
      show(rows, `${numbers.format(rows.length)} of ${numbers.format(lanes.rows.length + lanes.leftOut)} nodes`
        + (lanes.leftOut ? `; the ${numbers.format(lanes.leftOut)} oldest are not in this page` : ''));
    };
    shown.lanes = {
      open,
      now: (at) => {
        list.classList.toggle('timed', at !== null);
        if (at !== null) list.style.setProperty('--now', `${percent(at)}%`);
      },
    };
    filter.addEventListener('input', choose);
    choose();
    const keys = make('ul', { class: 'keys', 'aria-label': 'Colors' }, ...pools.map((pool, place) => {
      const swatch = make('span', { class: 'swatch', 'aria-hidden': true });
      swatch.style.background = `var(--c${place % COLORS})`;
      return make('li', {}, swatch, `NodePool ${pool}`);
    }));
    return section('Nodes', make('p', {}, lanes.about), keys,
      make('div', { class: 'controls' }, make('label', {}, 'Only nodes with', filter)), count, axisOf(lanes, 'Went'), list, more);
  };

  // ---- rollouts ----
  // A lane for each NodePool, with a bar for each part of its rollouts.
  const rolloutsOf = (rollouts) => {
    // Of the kinds, in their order: what is halted is red, what is frozen gray.
    const colorOf = (kind) => `var(--c${[0, 1, 2, 7, 4, 9][kind]})`;
    const percent = (at) => (rollouts.to > rollouts.from ? (at - rollouts.from) * 100 / (rollouts.to - rollouts.from) : 0);
    const named = (span) => [rollouts.kinds[span.kind], span.text].filter(Boolean).join(': ');
    const bar = (lane, span) => {
      const words = `NodePool ${lane.pool}, ${clock(span.from)} to ${clock(span.to)}: ${named(span)}`;
      const button = make('button', { type: 'button', class: 'phase', title: words, 'aria-label': words, onclick: () => shown.timeline?.from(span.from) });
      button.style.left = `${percent(span.from)}%`;
      button.style.width = `${Math.max(percent(span.to) - percent(span.from), 0.3)}%`;
      button.style.background = colorOf(span.kind);
      return linked(button, [], span.from);
    };
    const row = (lane) => make('li', {}, make('span', { class: 'who' }, lane.pool, make('small', {}, lane.class)),
      make('div', { class: 'track' }, ...lane.spans.map((span) => bar(lane, span))), make('span', {}, lane.spans.at(-1).to < rollouts.to ? 'ended' : rollouts.kinds[lane.spans.at(-1).kind]));
    const used = new Set(rollouts.rows.flatMap((lane) => lane.spans.map((span) => span.kind)));
    const keys = make('ul', { class: 'keys', 'aria-label': 'Colors' }, ...rollouts.kinds.flatMap((kind, place) => {
      const swatch = make('span', { class: 'swatch', 'aria-hidden': true });
      swatch.style.background = colorOf(place);
      return used.has(place) ? [make('li', {}, swatch, kind)] : [];
    }));
    const rows = () => rollouts.rows.flatMap((lane) => lane.spans.map((span) => [lane.pool, lane.class, clock(span.from), clock(span.to), named(span)]));
    return section('Rollouts', make('p', {}, rollouts.about), keys, axisOf(rollouts, 'At the end'), make('ol', { class: 'phases' }, ...rollouts.rows.map(row)),
      later('As a table', () => table('Rollouts', ['NodePool', 'EC2NodeClass', 'From', 'To', 'What'], rows())));
  };

  // ---- timeline ----
  const timelineOf = (timeline) => {
    const kind = make('select', {}, make('option', { value: '' }, 'Everything'), ...timeline.kinds.map((name, place) => make('option', { value: place }, name)));
    const filter = search('a node, a type, a reason');
    const { count, list, more, show } = paged(make('ol', { class: 'lines' }), 40, 'lines', (line) => lineOf(line));
    let [start, lane] = [null, null];
    const whole = make('button', { type: 'button', onclick: () => { [start, lane] = [null, null]; choose(); filter.focus(); } });
    const choose = () => {
      const wanted = filter.value.trim().toLowerCase();
      const lines = timeline.lines.filter((line) => (kind.value === '' || line[1] === Number(kind.value)) && (!wanted || line[2].toLowerCase().includes(wanted))
        && (start === null || timeOf(line) >= start) && (lane === null || lanesIn(line[2]).includes(lane)));
      whole.hidden = start === null && lane === null;
      whole.textContent = lane ? `Only ${lane.name.split('.')[0]}: show all nodes` : start === null ? '' : `From ${clock(start)}: show all times`;
      show(lines, `${numbers.format(lines.length)} of ${numbers.format(timeline.lines.length)} lines`);
    };
    kind.addEventListener('change', choose);
    filter.addEventListener('input', choose);
    const element = section('Timeline', make('p', {}, timeline.about),
      make('div', { class: 'controls' }, make('label', {}, 'What happened', kind), make('label', {}, 'Only lines with', filter), whole),
      count, list, more);
    const jump = (to) => {
      [start, lane] = to;
      choose();
      bring(element);
      whole.focus({ preventScroll: true });
    };
    shown.timeline = { from: (at) => jump([at, null]), about: (of) => jump([null, of]) };
    choose();
    return element;
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
  if (data.prices) part(costsOf('Prices', data.prices), 'Prices');
  if (data.costs) part(costsOf('Cost', data.costs), 'Cost');
  tables.forEach(([element, name]) => part(element, name));
  if (data.lanes) part(lanesOf(data.lanes), 'Nodes');
  if (data.rollouts) part(rolloutsOf(data.rollouts), 'Rollouts');
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
