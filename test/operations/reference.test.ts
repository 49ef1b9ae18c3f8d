import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ask } from '../support/client.ts';
import { runCommand } from '../support/command.ts';
import { readDocument, tableOf } from '../support/document.ts';
import { ROOT } from '../support/process.ts';
import { startService } from '../support/service.ts';
import { newPath } from '../support/sqlite.ts';

/**
 * Returns the commands in the help of the program or, if `path` has the name of a command, in the help of this command.
 * The commands `keys` and `help` are left out, because `keys` is only a group of commands, and `help` only shows help.
 */
async function subcommandsOf(...path: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await runCommand([...path, '--help']);
  const names = stdout.split('\nCommands:\n')[1]!.matchAll(/^ {2}(?!keys|help)([a-z-]+) /gm);
  return Array.from(names, ([, name = '']) => [...path, name].join(' '));
}

it.each([...(await subcommandsOf()), ...(await subcommandsOf('keys'))])(
  'docs/reference/commands.md has the usage, the arguments, the options and the defaults of the command %s',
  async (command) => {
    const page = (await readDocument('docs/reference/commands.md')).replaceAll('`', '');
    const { stdout } = await runCommand([...command.split(' '), '--help']);
    const [, usage = ''] = /^Usage: bin\/(.*)$/m.exec(stdout) ?? [];
    expect(page).toContain(`\n## ${command}\n\ntext\n${usage}\n\n`);
    // The page has `--env` only once, because every command has this option.
    const options = stdout.replaceAll(/\n {4,}/g, ' ').matchAll(/^ {2}(--(?!env)\S+ <\w+>) +(.*)/gm);
    const expected = [...usage.matchAll(/([<[][A-Z]+[>\]])/g), ...options].map(([, name, text = '']) => {
      return [name, /\(default: "?([^")]+)/.exec(text)?.[1]];
    });
    // A default is compared only where the help has one.
    const documented = tableOf(page, command).map(([name, value], index) => {
      return [name, expected[index]?.[1] && value];
    });
    expect(documented).toStrictEqual(expected);
  },
);

it('docs/reference/logs-and-metrics.md has every metric with its type and its labels', async () => {
  const page = (await readDocument('docs/reference/logs-and-metrics.md')).replaceAll('`', '');
  const tables = ['Metrics', 'Metrics of the process'].flatMap((section) => tableOf(page, section));
  const documented = tables.map((cells) => cells.slice(0, 3));
  const env = { METRICS_PORT: '0', RATE_LIMIT: '9/9s', DATABASE_URL: `sqlite:${await newPath()}` };
  const { url, metricsUrl } = await startService(env);
  await ask(`${url}/v1/pets/1`);
  const text = await (await fetch(metricsUrl!)).text();
  const exposed = Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm)).flatMap(([, name = '', type]) => {
    const series = new RegExp(`^${name}(?:_count)?(?:{(.*)})? `, 'm').exec(text);
    const labels = Array.from((series?.[1] ?? '').matchAll(/(\w+)="/g), ([, label]) => label);
    // Some metrics count the resources of the process by kind. Without a resource, such a metric has no series.
    return series === null ? [] : [[name, type, labels.join(', ') || 'none']];
  });
  expect(documented).toStrictEqual(expect.arrayContaining(exposed));
  // The metrics of this service must all be exposed. Metrics of the process may be missing.
  const ownMetrics = documented.filter(([name]) => /^(?:http|petstore)_/.test(name!));
  expect(exposed).toStrictEqual(expect.arrayContaining(ownMetrics));
});

it('docs/reference/limits-and-file-formats.md shows each limit as the code has it', async () => {
  const page = await readDocument('docs/reference/limits-and-file-formats.md');
  const limits = Array.from(page.matchAll(/ `([^`]+)` \| `(src\/[^`]+)` \|$/gm));
  const sources = await Promise.all(
    limits.map(async ([, , path = '']) => readFile(join(ROOT, path), 'utf8')),
  );
  // If the page had another form, the pattern would find no limits.
  expect(limits.length).toBeGreaterThan(40);
  expect(limits.filter(([, code = ''], index) => !sources[index]!.includes(code))).toStrictEqual([]);
});
