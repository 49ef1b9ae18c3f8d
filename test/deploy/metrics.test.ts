import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DURATION_BUCKETS } from '../../src/adapters/metrics/request-metrics.ts';
import { ask } from '../support/client.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { scrape } from '../support/metrics.ts';
import { findOnPath } from '../support/mongod-binary.ts';
import { ROOT, run } from '../support/process.ts';
import { startService } from '../support/service.ts';
import { testDirectory } from '../support/test-directory.ts';

const DASHBOARD = 'deploy/grafana/petstore.json';
const ALERTS = 'deploy/prometheus/alerts.yaml';
const ALERT_TESTS = 'deploy/prometheus/alerts.test.yaml';

/** The labels that Prometheus adds to every series. */
const TARGET_LABELS = ['job', 'instance'];
/** The metrics that Prometheus makes itself. */
const OWN_METRICS = ['up'];

type Panel = {
  readonly id: number;
  readonly title: string;
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
};

const { panels, templating } = JSON.parse(await readFile(join(ROOT, DASHBOARD), 'utf8')) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
};
const alerts = await readFile(join(ROOT, ALERTS), 'utf8');

/** The expressions of the rules: on the line of `expr`, or in the lines below it that are indented further. */
const ruleExpressions = Array.from(
  alerts.matchAll(/^( +)(?:- )?expr: (?:\|\n((?:\1 +.*\n)+)|(.*)\n)/gm),
  ([, , block, line]) => block ?? line ?? '',
);
const ruleNames = Array.from(alerts.matchAll(/^ +- record: (\S+)$/gm), ([, name = '']) => name);

type Metrics = ReadonlyMap<string, ReadonlySet<string>>;

type MetricUse = { readonly name: string; readonly labels: readonly string[] };

/** The metrics in an expression. Each has the labels in its `{…}` and in the `by (…)` of the expression. */
function usesOf(expression: string): readonly MetricUse[] {
  const grouped = Array.from(expression.matchAll(/\bby \(([^)]*)\)/g), ([, list = '']) =>
    list.split(/, */),
  ).flat();
  const names = expression
    .replaceAll(/\bby \([^)]*\)/g, ' ')
    .matchAll(/\b([a-zA-Z_:][\w:]*)(?:\{([^}]*)\})?(?![\w:]*\s*\()/g);
  return Array.from(names, ([, name = '', matchers = '']) => ({
    name,
    labels: [...matchers.matchAll(/(\w+)\s*[=!]~?/g)].map(([, label = '']) => label).concat(grouped),
  })).filter(({ name }) => !['or', 'and', 'unless', 'by', 'd', 'h', 'm', 's'].includes(name));
}

/** Returns the metrics that a service exposes after some requests or that Prometheus makes, each with its labels. */
async function existingMetrics(): Promise<Metrics> {
  // Only SQLite has the metrics of a write-ahead log.
  const DATABASE_URL = `sqlite:${join(await testDirectory(), 'petstore.db')}`;
  const { url, metricsUrl } = await startService({ METRICS_PORT: '0', DATABASE_URL });
  await ask(`${url}/v1/pets`, { body: '{"name":"Rex","categoryId":7}' });
  await ask(`${url}/v1/pets/1`);
  collectGarbage();
  const read = async () => {
    const found = new Map<string, Set<string>>();
    for (const series of (await scrape(metricsUrl)).keys()) {
      const [name = '', labels = ''] = series.split('{');
      const metricLabels = found.get(name) ?? new Set(TARGET_LABELS);
      for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) metricLabels.add(label);
      found.set(name, metricLabels);
    }
    return found;
  };
  // The service measures the garbage collection with a delay.
  await expect.poll(async () => (await read()).has('nodejs_gc_duration_seconds_sum')).toBe(true);
  const otherMetrics = [...OWN_METRICS, ...ruleNames].map((name) => [name, new Set(TARGET_LABELS)] as const);
  return new Map([...(await read()), ...otherMetrics]);
}

function expectToExist(uses: readonly MetricUse[], metrics: Metrics): void {
  expect(uses).not.toStrictEqual([]);
  for (const { name, labels } of uses) {
    expect([...metrics.keys()]).toContain(name);
    for (const label of labels) expect([...metrics.get(name)!], name).toContain(label);
  }
}

it('the dashboard and the alert rules query metrics that exist, and show labels that these metrics have', async () => {
  const metrics = await existingMetrics();
  for (const { expr, legendFormat } of panels.flatMap(({ targets }) => targets)) {
    const uses = usesOf(expr.replaceAll('$__rate_interval', '5m'));
    expectToExist(uses, metrics);
    const shownLabels = Array.from(legendFormat.matchAll(/\{\{(\w+)\}\}/g), ([, label = '']) => label);
    expectToExist(
      uses.map(({ name }) => ({ name, labels: shownLabels })),
      metrics,
    );
  }
  expect(ruleExpressions).toHaveLength(alerts.split('expr:').length - 1);
  for (const expression of ruleExpressions) expectToExist(usesOf(expression), metrics);
});

it('the dashboard and the alert rules pass promtool', async ({ skip }) => {
  if ((await findOnPath('promtool')) === undefined) skip('no promtool on PATH: install prometheus');
  const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const rules = expressions.map((expr, index) => ({
    record: `dashboard:${index}`,
    expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$', ''),
  }));
  // promtool reads YAML, and every JSON text is also YAML.
  const file = join(await testDirectory(), 'rules.yaml');
  await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
  for (const args of [
    ['check', 'rules', file, ALERTS],
    ['test', 'rules', ALERT_TESTS],
  ]) {
    const promtool = run('promtool', args);
    const { code } = await promtool.ended;
    expect(code, `${promtool.stdout}${promtool.stderr}`).toBe(0);
  }
});

it('the dashboard has a different id for each panel, and variables that exist', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const variables = templating.list.map(({ name }) => name);
  const used = JSON.stringify(panels).matchAll(/\$\{?(\w+)/g);
  for (const [, name = ''] of used) expect([...variables, '__rate_interval']).toContain(name);
  const queries = templating.list.map(({ query }) => /^label_values\((\w+)/.exec(query)?.[1]);
  expect(queries).toStrictEqual([undefined, 'petstore_storage_ready', 'petstore_storage_ready']);
});

it('the limit of the latency in the alert rules is one of the buckets of the histogram', () => {
  const bounds = new Set(Array.from(alerts.matchAll(/le="([^"]*)"/g), ([, le]) => Number(le)));
  expect(bounds).toStrictEqual(new Set([0.25]));
  expect(DURATION_BUCKETS).toContain(0.25);
});
