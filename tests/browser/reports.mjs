// The reports as people open them: each page from its file, at the width of a phone and of a desk, light and
// dark, clicked through. Started by tests/browser/run.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const out = process.env.JOURNEYMAN_BROWSER_OUT;
const require = createRequire(join(process.env.JOURNEYMAN_BROWSER_MODULES, 'package.json'));
const { chromium } = require('playwright-core');
const axe = require.resolve('axe-core/axe.min.js');

const MEGABYTES_MAX = 0.4;
const INTERACTIVE_MAX_MS = 2_000;
const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1440, height: 900 } };
// What each page must have of: charts over time, a packing view, a timeline with a kind of lines, the lives of nodes,
// costs, charts in several measures, and rollouts.
const PAGES = {
  story: { charts: 6, packing: true, timeline: 'InstanceLaunched', lanes: true, costs: true, measures: true },
  shadow: { charts: 4, packing: true, timeline: 'InstanceLaunched' },
  hostile: { charts: 6, packing: true, timeline: 'InstanceLaunched', lanes: true, costs: true, measures: true },
  plan: { charts: 0, packing: true },
  disruption: { charts: 0, packing: true, costs: true },
  compare: { charts: 0, packing: true, costs: true },
  explain: { charts: 0, timeline: 'Launch', lanes: true },
  replay: { charts: 0, packing: true },
  churn: { charts: 6, packing: true, timeline: 'InstanceLaunched', lanes: true, costs: true, measures: true },
  rollout: { charts: 6, packing: true, timeline: 'InstanceLaunched', lanes: true, costs: true, measures: true, rollouts: true },
  crowd: { charts: 0, packing: true, costs: true },
};

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
});
after(() => browser?.close());

// A page that was opened, with everything that it complained about or asked for.
const opened = async (name, size, colorScheme) => {
  const context = await browser.newContext({ viewport: SIZES[size], colorScheme, hasTouch: size === 'phone', isMobile: size === 'phone', locale: 'en-US', timezoneId: 'America/Los_Angeles' });
  const page = await context.newPage();
  const complaints = [];
  const url = pathToFileURL(join(out, `${name}.html`)).href;
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()); });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('dialog', (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', (request) => { if (request.url() !== url) complaints.push(`asks for ${request.url()}`); });
  const started = Date.now();
  await page.goto(url);
  await page.locator('html[data-ready="true"]').waitFor();
  return { page, context, complaints, took: Date.now() - started };
};

// Unfolds the table of `part` if it is folded. Its rows are made a moment after the click.
const unfolded = async (part) => {
  const heading = part.getByText('As a table');
  if (!await heading.evaluate((summary) => summary.parentElement.open)) await heading.click();
  await part.locator('tbody tr').first().waitFor();
};

const violations = async (page) => {
  await page.evaluate(readFileSync(axe, 'utf8'));
  const { violations: found } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] }));
  return found.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 120)} (${node.failureSummary?.split('\n')[1]?.trim()})`).join(' | ')}`);
};

// How many pods the cards say that their nodes have, in ascending order.
const podsOfNodes = async (page) => {
  const words = await page.locator('.nodes > li button').allTextContents();
  return words.map((text) => parseInt(text.replace(',', ''), 10)).sort((one, other) => one - other);
};

for (const [name, wanted] of Object.entries(PAGES)) {
  describe(name, () => {
    // A page that is there is whole: it is moved to its place. How long it takes depends on who else is at work here.
    before(async () => {
      while (!existsSync(join(out, `${name}.html`)) && !existsSync(join(out, 'ended'))) await setTimeout(1_000);
    });
    it('is small', () => {
      const megabytes = statSync(join(out, `${name}.html`)).size / 1e6;
      assert.ok(megabytes < MEGABYTES_MAX, `${megabytes} MB`);
      console.log(`${name}.html: ${megabytes.toFixed(2)} MB`);
    });
    for (const size of Object.keys(SIZES)) {
      for (const scheme of ['light', 'dark']) {
        it(`opens on a ${size}, ${scheme}`, async () => {
          const { page, context, complaints, took } = await opened(name, size, scheme);
          console.log(`${name} ${size} ${scheme}: interactive after ${took} ms`);
          assert.ok(took < INTERACTIVE_MAX_MS, `interactive after ${took} ms`);
          assert.equal(await page.locator('html').getAttribute('data-theme'), scheme);
          assert.equal(await page.locator('.plot canvas').count(), wanted.charts);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
          assert.ok(wide <= 0, `it is ${wide} pixels wider than the window`);
          await page.screenshot({ path: join(out, 'screenshots', `${name}-${size}-${scheme}.png`), fullPage: true });
          assert.deepEqual(await violations(page), []);
          assert.deepEqual(complaints, []);
          await context.close();
        });
      }
    }
    it('is clicked through', async () => {
      const { page, context, complaints } = await opened(name, 'desktop', 'light');
      await page.getByRole('button', { name: 'Dark' }).click();
      assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark');
      for (const link of await page.locator('nav a').all()) await link.click();
      if (wanted.charts) {
        const chart = page.locator('section', { has: page.locator('.plot') }).first();
        await unfolded(chart);
        assert.ok(await chart.locator('tbody tr').count() > 10);
        await chart.locator('.plot').focus();
        await page.keyboard.press('End');
        await page.keyboard.press('ArrowLeft');
        assert.match(await chart.locator('.readout').textContent(), /UTC: /);
        const key = chart.locator('.keys button').first();
        await key.click();
        assert.equal(await key.getAttribute('aria-pressed'), 'false');
        await key.click();
      }
      if (wanted.charts) {
        // What is drawn is in the table, too: for whoever cannot see the lines.
        const prices = page.locator('section', { has: page.getByRole('heading', { name: 'Cost per hour' }) });
        assert.match(await prices.locator('p').first().textContent(), /The lower bound is proved/);
        await unfolded(prices);
        const heads = await prices.locator('thead th').allTextContents();
        const bounds = await prices.locator(`tbody tr td:nth-child(${heads.indexOf('lower bound') + 1})`).allTextContents();
        assert.ok(heads.includes('lower bound') && bounds.some((text) => /^\$[0-9.]+$/.test(text)), heads.join());
      }
      if (wanted.packing) {
        const packing = page.locator('section', { has: page.getByRole('heading', { name: 'Packing' }) });
        const area = packing.locator('.pods i').first();
        await area.hover();
        assert.match(await page.locator('.tip').textContent(), /requested of/);
        await area.click();
        assert.ok(await page.locator('.tip').isVisible());
        await packing.getByRole('button', { name: /and why/ }).first().click();
        assert.ok(await page.getByRole('dialog').isVisible());
        assert.deepEqual(await violations(page), []);
        await page.screenshot({ path: join(out, 'screenshots', `${name}-node.png`) });
        await page.keyboard.press('Escape');
        const times = packing.getByLabel(/^(Time|Show)/);
        if (await times.count()) {
          await times.fill(await times.getAttribute('max'));
          const latest = await packing.locator('.when').textContent();
          await times.fill('0');
          assert.notEqual(await packing.locator('.when').textContent(), latest);
          await times.fill(await times.getAttribute('max'));
        }
        await packing.getByLabel('Order').selectOption('name');
        const all = await packing.locator('.nodes > li').count();
        await packing.getByLabel('Only nodes with').fill('no such node');
        assert.equal(await packing.locator('.nodes > li').count(), 0);
        await packing.getByLabel('Only nodes with').fill('');
        assert.equal(await packing.locator('.nodes > li').count(), all);
      }
      if (wanted.timeline) {
        const timeline = page.locator('section', { has: page.getByRole('heading', { name: 'Timeline' }) });
        const lines = await timeline.locator('.lines li').count();
        assert.ok(lines > 20);
        await timeline.getByLabel('Only lines with').fill('spot');
        for (const text of await timeline.locator('.lines li').allTextContents()) assert.match(text.toLowerCase(), /spot/);
        await timeline.getByLabel('Only lines with').fill('');
        await timeline.getByLabel('What happened').selectOption({ label: wanted.timeline });
        assert.ok(await timeline.locator('.lines li').count() > 0);
      }
      assert.deepEqual(complaints, []);
      await context.close();
    });
    it('says why a node went when its bar is clicked', async () => {
      const { page, context, complaints } = await opened(name, 'desktop', 'light');
      const lanes = page.locator('.lane');
      if (!wanted.lanes) assert.equal(await lanes.count(), 0);
      else {
        const part = page.locator('section', { has: page.locator('.lanes') });
        const ended = part.locator('.lane.ended').first();
        // Two minutes of the hostile page are too short for an end.
        const lane = (await ended.count()) ? ended : lanes.first();
        const words = await lane.getAttribute('aria-label');
        await lane.focus();
        await page.keyboard.press('Enter');
        const dialog = page.getByRole('dialog');
        assert.match(await dialog.textContent(), /Why it came(provision|It was there)/);
        const [, reason] = /Went: (.*)/.exec(words) ?? [null, null];
        if (reason) assert.ok(await dialog.getByRole('heading', { name: `Why it went: ${reason}` }).isVisible());
        else assert.ok(await dialog.getByRole('heading', { name: 'It stays' }).isVisible());
        assert.ok(await dialog.locator('.lines li').count() > 2);
        assert.deepEqual(await violations(page), []);
        await page.screenshot({ path: join(out, 'screenshots', `${name}-lane.png`) });
        await page.keyboard.press('Escape');
        await part.getByLabel('Only nodes with').fill('no such node');
        assert.equal(await part.locator('.lane').count(), 0);
      }
      assert.deepEqual(complaints, []);
      await context.close();
    });
    for (const size of Object.keys(SIZES)) {
      it(`draws of each node what it says, on a ${size}`, async () => {
        if (!wanted.packing) return;
        const { page, context } = await opened(name, size, 'light');
        const bars = await page.evaluate(() => [...document.querySelectorAll('.bar')].map((bar) => {
          const width = (element) => element.getBoundingClientRect().width;
          const drawn = [...bar.querySelectorAll('.pods i')].reduce((sum, area) => sum + width(area), 0);
          return { drawn: drawn * 100 / width(bar.querySelector('.pods')), said: parseInt(bar.querySelector('b').textContent, 10) };
        }));
        assert.ok(bars.length > 1);
        for (const { drawn, said } of bars) assert.ok(Math.abs(drawn - said) <= 1, `${drawn} is drawn, and ${said} said`);
        if (name === 'crowd') assert.deepEqual(await podsOfNodes(page), [1, 20, 100, 250]);
        await context.close();
      });
    }
    it('draws of each cost what it says', async () => {
      const { page, context } = await opened(name, 'desktop', 'light');
      const part = page.locator('section', { has: page.getByRole('heading', { name: 'Cost', exact: true }) });
      assert.equal(await part.count(), wanted.costs ? 1 : 0);
      for (const by of wanted.costs ? ['NodePool', 'Namespace', 'Workload'] : []) {
        await part.getByRole('button', { name: by }).click();
        const rows = await part.locator('tbody tr').evaluateAll((all) => all.map((row) => {
          const width = (element) => element.getBoundingClientRect().width;
          const drawn = [...row.querySelectorAll('.cost i')].reduce((sum, area) => sum + width(area), 0);
          return { drawn: drawn * 100 / width(row.querySelector('.cost')), said: parseFloat(row.querySelectorAll('td')[3].textContent) };
        }));
        assert.ok(rows.length > 0);
        for (const { drawn, said } of rows) assert.ok(Math.abs(drawn - said) <= 1, `${by}: ${drawn} is drawn, and ${said} said`);
        const sum = rows.reduce((all, { said }) => all + said, 0);
        assert.ok(Math.abs(sum - 100) <= 1, `${by}: ${sum} %`);
      }
      await context.close();
    });
    it('draws capacity in what is chosen', async () => {
      if (!wanted.measures) return;
      const { page, context, complaints } = await opened(name, 'desktop', 'light');
      const chart = page.locator('section', { has: page.getByRole('heading', { name: 'Capacity by instance type' }) });
      const highest = async () => {
        await unfolded(chart);
        const cells = await chart.locator('tbody td').allTextContents();
        return Math.max(...cells.map((cell) => parseFloat(cell.replace(/[$,]/g, ''))));
      };
      const vcpus = await highest();
      await chart.getByLabel('Capacity by instance type in').selectOption('nodes');
      const nodes = await highest();
      // The smallest type here has two.
      assert.ok(nodes > 0 && vcpus >= 2 * nodes, `${vcpus} vCPUs, ${nodes} nodes`);
      await chart.getByLabel('Capacity by instance type in').selectOption('dollars an hour');
      await highest();
      assert.match(await chart.locator('tbody td').first().textContent(), /^\$/);
      assert.deepEqual(complaints, []);
      await context.close();
    });
    it('leads from charts, lanes, cards and lines to each other', async () => {
      if (!wanted.lanes || !wanted.packing) return;
      const { page, context, complaints } = await opened(name, 'desktop', 'light');
      const [charts, nodes, packing, timeline] = ['Capacity by instance type', 'Nodes', 'Packing', 'Timeline']
        .map((title) => page.locator('section', { has: page.getByRole('heading', { name: title, exact: true }) }));
      // A lane is marked where its time is in the charts.
      const lane = nodes.locator('.lane').first();
      await lane.hover();
      assert.ok(await charts.locator('.band').isVisible());
      assert.equal(await nodes.locator('li.same').count(), 1);
      // Arrows go from lane to lane, Enter opens one, arrows go on, Escape closes it.
      await lane.focus();
      await page.keyboard.press('ArrowDown');
      assert.equal(await nodes.locator('.lane').nth(1).evaluate((bar) => bar === document.activeElement), true);
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog');
      const second = await dialog.getByRole('heading').first().textContent();
      await page.keyboard.press('ArrowLeft');
      const first = await dialog.getByRole('heading').first().textContent();
      assert.notEqual(first, second);
      await page.keyboard.press('Escape');
      assert.equal(await dialog.count(), 0);
      // What is shown in the charts stays marked there, wherever the pointer is.
      await lane.click();
      await dialog.getByRole('button', { name: 'Show in charts' }).click();
      await charts.getByRole('heading').hover();
      assert.ok(await charts.locator('.band').isVisible());
      await page.keyboard.press('Escape');
      assert.ok(!await charts.locator('.band').isVisible());
      // From a lane that a card shows to that card and back, and to the lines about it.
      await nodes.locator('.lane:not(.ended)').first().click();
      const node = await dialog.getByRole('heading').first().textContent();
      await dialog.getByRole('button', { name: 'Show in Packing' }).click();
      assert.equal(await packing.locator('.nodes > li h3').first().getAttribute('title'), node);
      await packing.getByRole('button', { name: /and why/ }).first().click();
      await dialog.getByRole('button', { name: 'Its life' }).click();
      assert.equal(await dialog.getByRole('heading').first().textContent(), node);
      const toLines = dialog.getByRole('button', { name: 'Show in Timeline' });
      // Where lines that are alike are one, none may name it.
      if (await toLines.count()) {
        await toLines.click();
        const lines = await timeline.locator('.lines li').count();
        assert.ok(lines > 0);
        // From a line to the lane of the node that it names.
        await timeline.locator('.lines .node-link').first().click();
        assert.ok(await dialog.getByRole('heading').first().isVisible());
        await page.keyboard.press('Escape');
        await timeline.getByRole('button', { name: 'show all nodes' }).click();
        assert.ok(await timeline.locator('.lines li').count() > lines);
      } else await page.keyboard.press('Escape');
      // From a time in a chart to the lines from there on, and to the lanes.
      const plot = charts.locator('.plot');
      await plot.focus();
      await page.keyboard.press('Home');
      for (let step = 0; step < 5; step += 1) await page.keyboard.press('ArrowRight');
      const [at] = /^[^U]+/.exec(await charts.locator('.readout').textContent());
      assert.ok(await nodes.locator('.lanes.timed').count());
      await page.keyboard.press('Enter');
      assert.ok(await timeline.getByRole('button', { name: `From ${at.trim()}: show all times` }).isVisible());
      const begun = await timeline.locator('.lines time').first().getAttribute('title');
      assert.ok(begun.slice(0, 19) >= at.trim(), `${begun} comes before ${at}`);
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(complaints, []);
      await context.close();
    });
    it('draws the parts of rollouts', async () => {
      const { page, context, complaints } = await opened(name, 'desktop', 'light');
      const part = page.locator('section', { has: page.getByRole('heading', { name: 'Rollouts', exact: true }) });
      assert.equal(await part.count(), wanted.rollouts ? 1 : 0);
      if (wanted.rollouts) {
        const parts = await part.locator('.keys li').allTextContents();
        assert.deepEqual(parts, ['canaries launched', 'bake time', 'other nodes replaced', 'frozen']);
        const bars = await part.locator('.phase').evaluateAll((all) => all.map((bar) => bar.getBoundingClientRect()).map(({ left, right }) => [left, right]));
        assert.equal(bars.length, parts.length);
        bars.slice(1).forEach(([left], place) => assert.ok(left >= bars[place][1] - 1, 'bars are one after the other'));
        await unfolded(part);
        assert.equal(await part.locator('tbody tr').count(), bars.length);
        assert.deepEqual(await violations(page), []);
        await part.locator('.phase').nth(1).focus();
        await page.keyboard.press('Enter');
        assert.ok(await page.getByRole('button', { name: 'show all times' }).isVisible());
      }
      assert.deepEqual(complaints, []);
      await context.close();
    });
    it('is walked through node by node with the keyboard', async () => {
      if (!wanted.packing) return;
      const { page, context, complaints } = await opened(name, 'desktop', 'light');
      const comb = page.locator('.comb svg');
      if (await comb.isVisible()) {
        await comb.focus();
        await page.keyboard.press('ArrowRight');
        await page.keyboard.press('ArrowRight');
        const [, node] = /^(.*): \d+ % of CPU/.exec(await page.locator('.comb .readout').textContent());
        await page.keyboard.press('Enter');
        assert.equal(await page.getByRole('dialog').getByRole('heading').first().textContent(), node);
      }
      assert.deepEqual(complaints, []);
      await context.close();
    });
    it('shows a pod on a tap', async () => {
      if (!wanted.packing) return;
      const { page, context } = await opened(name, 'phone', 'light');
      const area = page.locator('.pods i').first();
      await area.scrollIntoViewIfNeeded();
      await area.tap();
      assert.match(await page.locator('.tip').textContent(), /requested of/);
      assert.ok(await page.locator('.tip').isVisible());
      await context.close();
    });
  });
}
