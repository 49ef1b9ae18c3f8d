import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { type ClientError, errorAnswer } from '../../src/adapters/http/contract/errors.ts';
import * as refusals from '../../src/adapters/http/contract/refusals.ts';
import { DamagedPet, type PetError, PetIdsExhausted } from '../../src/application/pets/errors.ts';
import {
  DamagedApiKey,
  StorageSetupError,
  StorageUnavailable,
} from '../../src/application/ports/storage-errors.ts';
import { anArchivedPet } from '../support/archived-pets.ts';
import { sqliteWith } from '../support/archives.ts';
import { Command, runCommand } from '../support/command.ts';
import { blocksOf, readDocument, readDocuments, tableOf } from '../support/document.ts';
import { freshDatabase } from '../support/mongo-database.ts';
import { ROOT } from '../support/process.ts';
import { noMongo, mongo } from '../support/shared-mongo.ts';
import { testDirectory } from '../support/test-directory.ts';

const documents = await readDocuments();
const sources = await readSources();

/** The rows below this heading, in every document of `docs`. */
const rowsOf = (section: string) => [...documents.values()].flatMap((page) => tableOf(page, section));

/** Calls that log a message of another call. The test finds that other call. */
const RELAYED = ['log.warn(message)', 'log.warn(warning)', 'log.warn(schema.warning)', 'log.fatal(message)'];

type Line = { readonly level: string; readonly message: string };

/** Returns the sources without comments. Each text is in one piece and between " quotes, with … in place of a value. */
async function readSources(): Promise<readonly string[]> {
  const paths = await Array.fromAsync(glob('src/**/*.ts', { cwd: ROOT }));
  const texts = paths.map((path) => readFile(join(ROOT, path), 'utf8'));
  return (await Promise.all(texts)).map((text) =>
    text
      .replaceAll(/\/\*\*?.*?\*\/|^ *\/\/[^\n]*$/gms, '')
      .replaceAll(/\$\{[^{}]*\}/g, '…')
      .replaceAll(/['`]/g, '"')
      .replaceAll(/\b(log|audit)\?\./gi, '$1.')
      .replaceAll(/" \+\s+"/g, ''),
  );
}

/** Returns the source of a call, from its name to its closing parenthesis. */
function callAt(source: string, start: number): string {
  let depth = 0;
  for (let end = source.indexOf('(', start); end < source.length; end++) {
    if (source[end] === '(') depth++;
    if (source[end] === ')' && --depth === 0) return source.slice(start, end + 1);
  }
  throw new Error(`a call without an end: ${source.slice(start, start + 80)}`);
}

/**
 * Returns the messages that a call can log: the last text in the call, or the value of a constant, or the entries of a
 * table in the same file.
 */
function messagesOf(call: string, source: string): readonly string[] {
  const constant = /\(([A-Z_]+)\)$/.exec(call)?.[1];
  if (constant !== undefined) {
    return sources.flatMap((text) => new RegExp(`const ${constant} =\\s+"([^"]*)"`).exec(text)?.[1] ?? []);
  }
  const table = /\b([A-Z][A-Z_]+)\[\w+\]\s*\)$/.exec(call)?.[1];
  if (table === undefined) return Array.from(call.matchAll(/"([^"]*)"/g), ([, text = '']) => text).slice(-1);
  const [, entries = ''] = new RegExp(`const ${table} = \\{(.*?)^\\}`, 'ms').exec(source) ?? [];
  return Array.from(entries.matchAll(/: "([^"]*)"/g), ([, text = '']) => text);
}

function loggedLines(): readonly Line[] {
  return sources.flatMap((source) => {
    const calls = source.matchAll(/\b(?:log|audit|host)(?:\.(info|warn|error|fatal)|\[level\])\(/gi);
    return Array.from(calls).flatMap(({ index, 1: level }) => {
      const call = callAt(source, index);
      if (RELAYED.includes(call)) return [];
      const levels = level === undefined ? ['warn', 'error'] : [level];
      const messages = messagesOf(call, source);
      if (messages.length === 0) throw new Error(`no message is found in ${call}`);
      return levels.flatMap((one) => messages.map((message) => ({ level: one, message })));
    });
  });
}

/** Whether a documented message has the form of a text in the sources, in which … is any value. */
function fits(documented: string, message: string): boolean {
  const parts = message.split('…').map((part) => RegExp.escape(part));
  return new RegExp(`^${parts.join('.*')}$`).test(documented);
}

/** The log lines in the two tables of the documents. */
const rows: readonly Line[] = ['What each log line means', 'Recovery lines']
  .flatMap(rowsOf)
  .flatMap(([level = '', cell = '']) =>
    Array.from(cell.matchAll(/`([^`]+)`/g), ([, message = '']) => ({ level, message })),
  );

const endsAnIncident = (message: string) => / again|resume/.test(message);

it('the tables of log lines have every warning and error, and every line that ends an incident', () => {
  const missing = loggedLines()
    .filter(({ level, message }) => level !== 'info' || endsAnIncident(message))
    .filter(({ level, message }) => !rows.some((row) => row.level === level && fits(row.message, message)));
  expect(missing).toStrictEqual([]);
});

it('the tables of log lines have only lines that the service logs: warnings, errors and lines that end an incident', () => {
  const all = sources.join('\n');
  const stale = rows.filter(({ level, message }) => {
    const [longest = ''] = message.split('…').toSorted((a, b) => b.length - a.length);
    return (level === 'info' && !endsAnIncident(message)) || !all.includes(longest.trim());
  });
  expect(stale).toStrictEqual([]);
});

it('the table of audit lines has exactly the actions of the service', () => {
  const actions = sources.flatMap((source) => source.match(/"(?:pet|key)\.\w+"/g) ?? []);
  const documented = rowsOf('Audit lines').map(([action = '']) => action.replaceAll('`', '"'));
  expect(documented.toSorted()).toStrictEqual([...new Set(actions)].toSorted());
});

it('the page What went wrong has only messages that the service can print', () => {
  const page = documents.get('docs/how-to/what-went-wrong.md') ?? '';
  const shown = blocksOf(page).flatMap(({ language, text }) => {
    if (language === 'text') return text.trimEnd().split('\n');
    const found = language === 'json' ? text.matchAll(/"(?:message|msg)":("(?:[^"\\]|\\.)*")/g) : [];
    return Array.from(found, ([, message = '']) => JSON.parse(message) as string);
  });
  // Only texts of several words in the first cell of a row are messages. A single word is a code, such as ECONNRESET.
  const cells = Array.from(page.matchAll(/^\| ([^|]*) \|/gm), ([, cell = '']) => cell);
  const quoted = cells.flatMap((cell) =>
    Array.from(cell.matchAll(/`([^`]+ [^`]+)`/g), ([, text = '']) => text),
  );
  // A message may be several texts of the sources. One of these texts must name the cause, not only the subject.
  const texts = sources.flatMap((source) => source.match(/[^"\n]{15,}/g) ?? []);
  const causes = texts.map((text) => text.replace(/^(?:the SQLite file|MongoDB at) …/, '').split('…'));
  const forms = causes
    .filter((parts) => parts.some(({ length }) => length > 13))
    .map((parts) => new RegExp(parts.map((part) => RegExp.escape(part)).join('.*')));
  const all = sources.join('\n');
  const unknown = [...shown, ...quoted].filter((message) => {
    const [longest = ''] = message.split('…').toSorted((one, other) => other.length - one.length);
    return !all.includes(longest.trim()) && !forms.some((form) => form.test(message));
  });
  expect(shown.length).toBeGreaterThan(30);
  expect(unknown).toStrictEqual([]);
});

it('no message of the package or the executable names a file that only a clone has', () => {
  const texts = sources.flatMap((source) => source.match(/"[^"\n]*"/g) ?? []);
  const names =
    /\b(?:bench|deploy|docs|examples|proof|scripts|test)\/[\w/-]+\.\w|(?:README|CHANGELOG|SECURITY)\.md/;
  expect(texts.filter((text) => names.test(text))).toStrictEqual([]);
});

/** Every failure that a client sees as a 5xx. */
const FAILURES = {
  'pet-ids-exhausted': new PetIdsExhausted(),
  'damaged-pet': new DamagedPet(1n, 'a problem'),
  'damaged-api-key': new DamagedApiKey('an id', 'a problem'),
  'storage-setup': new StorageSetupError('a problem'),
  'storage-unavailable': new StorageUnavailable('a problem'),
} satisfies Record<
  Exclude<PetError | DamagedApiKey | StorageSetupError | StorageUnavailable, ClientError>['kind'],
  Error
>;

const NOT_FOUND = [refusals.routeNotFound(), refusals.routeNotFound('/v1/pets')];

/** The answers to these failures and refusals, and the examples of the OpenAPI document. */
const answers = [new Error('a bug'), ...Object.values(FAILURES), ...Object.values(refusals), ...NOT_FOUND]
  .filter((value) => value instanceof Error)
  .map((error) => errorAnswer(error));
JSON.parse(await readDocument('openapi.json'), (_, value) => {
  const example = value as (typeof answers)[number] | null;
  if (typeof example?.status === 'number') answers.push(example);
  return value;
});

it.each(['4xx', '5xx'])('the table of %s answers has each code and message of the service', (statuses) => {
  const forms = answers
    .filter(({ status }) => `${status}`.startsWith(statuses.charAt(0)))
    .map(({ code, status, message }) => `\`${code}\`, ${status}: ${message}`);
  const documented = rowsOf(`What each ${statuses} means`).map(([code, message]) => `${code}: ${message}`);
  expect(documented.toSorted()).toStrictEqual([...new Set(forms)].toSorted());
});

const JSON_ANSWERS = new Map(
  rowsOf('Answers in JSON').map(([commands = '', properties = '']) => [
    commands.replaceAll('`', ''),
    Array.from(properties.matchAll(/`(\w+)`/g), ([, name = '']) => name).toSorted(),
  ]),
);

it.skipIf(mongo === undefined)(
  `the table "Answers in JSON" has the properties that the commands print${noMongo}`,
  async () => {
    const directory = await testDirectory();
    const { url: DATABASE_URL } = await sqliteWith([anArchivedPet({ id: 1n })]);
    const { url: MONGODB_URL } = await freshDatabase(mongo!, { migrated: false });
    const seen = new Map<string, Set<string>>();
    const addRow = async (row: string, ...args: readonly string[]): Promise<{ readonly id: string }> => {
      const command = new Command([...args, '--json'], { DATABASE_URL });
      await command.ended;
      const answer = JSON.parse(command.stdout);
      const names = [answer, ...(answer.findings ?? [])].flatMap(Object.keys);
      seen.set(row, new Set([...(seen.get(row) ?? []), ...names]));
      return answer;
    };
    const create = ['keys', 'create', '--label', 'x'];
    const { id } = await addRow('keys …', ...create);
    await addRow('keys …', ...create, '--output', `${directory}/key`);
    await addRow('keys …', 'keys', 'rotate', id);
    await addRow('keys …', 'keys', 'revoke', id);
    const { stdout: shown } = await runCommand(['keys', 'show', id], { DATABASE_URL });
    for (const [, name = ''] of shown.matchAll(/^(\w+):/gm)) seen.get('keys …')?.delete(name);
    await addRow('migrate', 'migrate', MONGODB_URL);
    await addRow('backup', 'backup', `${directory}/backup`);
    await addRow('restore', 'restore', `${directory}/backup`, '--to', `sqlite:${directory}/a.db`);
    await addRow('skip-ids', 'skip-ids');
    const moving = 'export, import, copy';
    await addRow(moving, 'export', `${directory}/pets`);
    await addRow(moving, 'import', `${directory}/pets`, '--to', MONGODB_URL);
    await addRow(moving, 'copy', '--from', DATABASE_URL, '--to', MONGODB_URL);
    using db = new DatabaseSync(DATABASE_URL.replace('sqlite:', ''));
    db.exec("UPDATE pets SET name = 'another'");
    await addRow('check', 'check');

    const given = Array.from(seen, ([row, names]) => [row, [...names].toSorted()] as const);
    expect(new Map(given)).toStrictEqual(JSON_ANSWERS);
  },
);

it('the table "Capacity" has the figures of bench/results.md', async () => {
  const results = await readDocument('bench/results.md');
  const expected = tableOf(results, 'Start and size').map(([storage = '', ours = '']) => {
    const [, text = ''] = results.split(new RegExp(`^## ${storage}, .*$`, 'im'));
    const figures = (workload: string) => {
      const row = new RegExp(`^\\| ${workload} \\| [^|]+ \\| ([^|]+) \\|`, 'm').exec(text)?.[1] ?? '';
      return row.trim().split(' / ');
    };
    const memory = ours.split(' / ')[1];
    const [rate, , p99] = figures('90 % reads, half of peak');
    const peaks = ['list-20', 'get', 'create'].map((workload) => figures(workload)[0]);
    return [storage, ...peaks, rate, p99, memory];
  });
  const documented = rowsOf('Capacity').map(([storage = '', ...figures]) => [
    storage.toLowerCase(),
    ...figures,
  ]);
  expect(documented).toStrictEqual(expected);
});
