import { once } from 'node:events';
import { appendFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { petLines } from '../../../src/adapters/ndjson/pet-line.ts';
import { MAX_LINE_BYTES, PetFile } from '../../../src/adapters/ndjson/pet-file.ts';
import { INT64_MAX, INT64_MIN, MAX_IMPORTED_PET_ID } from '../../../src/domain/pet.ts';
import { anArchivedPet, archivedPets, idempotencyFor } from '../../support/archived-pets.ts';
import { inputOf } from '../../support/command.ts';
import { openFilesIn } from '../../support/open-files.ts';
import { testDirectory } from '../../support/test-directory.ts';

/** Writes a file and opens it as a file of pets, until the end of the test. */
async function openFile(
  content: string | Uint8Array,
  ending = 'ndjson',
): Promise<{ path: string; pets: PetFile }> {
  const path = join(await testDirectory(), `pets.${ending}`);
  await writeFile(path, content);
  const pets = await PetFile.open(path);
  onTestFinished(() => pets[Symbol.asyncDispose]());
  return { path, pets };
}

const ignoreProgress = () => {};

async function read(content: string, after = 0n) {
  const { pets } = await openFile(content);
  const batches = await Array.fromAsync(pets.read(after));
  expect(batches).not.toContainEqual([]);
  return batches.flat();
}

it.each([
  ['the least values', anArchivedPet({ id: 1n, name: 'x', categoryId: INT64_MIN })],
  ['the greatest values', anArchivedPet({ id: MAX_IMPORTED_PET_ID, categoryId: INT64_MAX, status: 'sold' })],
  ['a name of quotes and backslashes', anArchivedPet({ id: 1n, name: '"\\"\u2028 {}\\n' })],
  ['a name of many scripts', anArchivedPet({ id: 1n, name: '名前 🐕‍🦺 \ufeff e\u0301 \u{10ffff}' })],
  ['an idempotency key', anArchivedPet({ id: 1n, idempotency: idempotencyFor('a') })],
])('a file of pets stores a pet exactly: %s', async (_, pet) => {
  const text = petLines([pet]);
  expect(await read(text)).toStrictEqual([pet]);
  expect(petLines(await read(text))).toBe(text);
});

it('a file of pets can be surveyed and read repeatedly, in bounded batches', async () => {
  const all = archivedPets(5_000);
  const { pets } = await openFile(petLines(all));
  const survey = { count: 5_000, greatestId: all.at(-1)!.id, lastId: all.at(-1)!.id };
  expect(await pets.survey(ignoreProgress)).toStrictEqual(survey);
  const batches = await Array.fromAsync(pets.read(0n));
  expect(batches.flat()).toStrictEqual(all);
  expect(Math.max(...batches.map(({ length }) => length))).toBeLessThan(1500);
  expect(await pets.survey(ignoreProgress)).toStrictEqual(survey);
  expect(await pets.recount(survey)).toBe(5_000);
});

it.each([0, 1, 2, 700, 4_999, 5_000])('a file of pets can be read after %i pets', async (count) => {
  const all = archivedPets(5_000);
  expect(await read(petLines(all), all[count - 1]?.id ?? 0n)).toStrictEqual(all.slice(count));
});

it('a file of pets may be empty', async () => {
  const { pets } = await openFile('');
  expect(await pets.survey(ignoreProgress)).toStrictEqual({ count: 0, greatestId: 0n, lastId: 0n });
});

it('a file of pets reports how many pets it has checked, and is checked only once', async () => {
  const { pets } = await openFile(petLines(archivedPets(2_000)));
  const progress: unknown[] = [];
  for (let n = 0; n < 2; n++) await pets.survey((step) => void progress.push({ ...step, n }));
  expect(progress.at(-1)).toStrictEqual({ doing: 'checking', done: 2_000, total: undefined, n: 0 });
});

it('a file of pets can be standard input, which is saved until the file is closed', async () => {
  const all = archivedPets(500);
  const pets = await PetFile.keep(inputOf(`${petLines(all)}{"id"`));
  const expected = { kind: 'pet-file', message: 'standard input:501: is not JSON' };
  await expect(pets.survey(ignoreProgress)).rejects.toMatchObject(expected);
  await expect(Array.fromAsync(pets.read(0n))).rejects.toMatchObject(expected);
  await pets[Symbol.asyncDispose]();
});

it('standard input is saved in a file without a name, which is gone after a failure', async ({ skip }) => {
  if (process.platform !== 'linux') skip('only Linux has /proc');
  const before = await openFilesIn(tmpdir());
  const failure = new Error('no more input');
  const input = (async function* () {
    yield Buffer.from('{');
    // The file is deleted already, so a program that is killed now leaves no file.
    const savedFiles = (await openFilesIn(tmpdir())).filter((path) => !before.includes(path));
    expect(savedFiles).toStrictEqual([expect.stringMatching(/ \(deleted\)$/)]);
    throw failure;
  })();
  await expect(PetFile.keep(input)).rejects.toBe(failure);
  expect(await openFilesIn(tmpdir())).toStrictEqual(before);
});

it('a file of pets may have blank lines up to the maximum length, which count in the line numbers of errors', async () => {
  const [first, second] = [anArchivedPet({ id: 1n }), anArchivedPet({ id: 2n })];
  const text = `\n \t\r\n${petLines([first])}\n\n${petLines([second])}\r\n${' '.repeat(MAX_LINE_BYTES)}`;
  expect(await read(text)).toStrictEqual([first, second]);
  const { pets } = await openFile(text);
  expect(await pets.survey(ignoreProgress)).toStrictEqual({ count: 2, greatestId: 2n, lastId: 2n });
  await expect(read(`${text}\n{}`)).rejects.toThrow(':9: id is required');
});

it('a file of pets may be written by hand', async () => {
  const text =
    '{ "categoryId": 1e3, "name": "Rex\\u0021", "id": 7.0 }\r\n{"id":8,"name":"Tom","categoryId":-0}';
  expect(await read(text)).toStrictEqual([
    anArchivedPet({ id: 7n, name: 'Rex!', categoryId: 1000n }),
    anArchivedPet({ id: 8n, name: 'Tom', categoryId: 0n }),
  ]);
});

it('a file of pets may begin with a byte order mark, which is ignored', async () => {
  const [first, second] = [anArchivedPet({ id: 1n, name: '\ufeffRex' }), anArchivedPet({ id: 2n })];
  expect(await read(`\ufeff${petLines([first, second])}`)).toStrictEqual([first, second]);
  await expect(read(`${petLines([first])}\ufeff${petLines([second])}`)).rejects.toThrow(':2: is not JSON');
});

describe('a compressed file', () => {
  const PETS = archivedPets(5_000);
  const lines = Buffer.from(petLines(PETS));

  it('can be closed before all its pets are read', async () => {
    const { pets } = await openFile(gzipSync(lines), 'gz');
    for await (const batch of pets.read(0n)) {
      expect(batch[0]).toStrictEqual(PETS[0]);
      break;
    }
    await pets[Symbol.asyncDispose]();
  });

  it.each([1, 100, 4_999])(
    'may be two gzip files in one, and is read in bounded batches: the second file begins after %i pets',
    async (cut) => {
      const parts = [PETS.slice(0, cut), PETS.slice(cut)].map((part) => gzipSync(petLines(part)));
      const { pets } = await openFile(Buffer.concat(parts), 'gz');
      expect(await pets.survey(ignoreProgress)).toMatchObject({ count: 5_000 });
      const batches = await Array.fromAsync(pets.read(0n));
      expect(batches.flat()).toStrictEqual(PETS);
      expect(Math.max(...batches.map(({ length }) => length))).toBeLessThan(1500);
    },
  );

  it.each([
    ['is plain text', lines, ' is not a complete gzip file'],
    ['is empty', Buffer.alloc(0), ' is not a complete gzip file'],
    ['lacks its end', gzipSync(lines).subarray(0, -1), ' is not a complete gzip file'],
    ['lacks a large part', gzipSync(lines).subarray(0, 20_000), ' is not a complete gzip file'],
    ['is damaged', gzipSync(lines).fill(0, 1000, 1100), ''],
    ['is followed by text', Buffer.concat([gzipSync(lines), Buffer.from('something else')]), ''],
    [
      'is followed by zeros',
      Buffer.concat([gzipSync(lines), Buffer.alloc(20)]),
      ' has other data after its gzip data$',
    ],
  ])('is refused when it %s', async (_, content, problem) => {
    const { path, pets } = await openFile(content, 'gz');
    await expect(pets.survey(ignoreProgress)).rejects.toMatchObject({
      kind: 'pet-file',
      message: expect.stringMatching(`^${RegExp.escape(path)}${problem}`),
    });
  });

  it('is not called damaged when the operating system cannot read it', async () => {
    const { pets } = await openFile(gzipSync(lines), 'gz');
    await pets[Symbol.asyncDispose]();
    await expect(pets.survey(ignoreProgress)).rejects.toMatchObject({ code: 'EBADF', syscall: 'read' });
  });
});

const REX = '{"id":3,"name":"Rex","categoryId":7,"status":"sold"}';
const tomWith = (fields: string) => `{"id":4,"name":"Tom","categoryId":7${fields}}`;
const digest = 'a'.repeat(64);

it.each<readonly [string, string | Uint8Array]>([
  ['is not JSON', '{"id":4'],
  ['is nested too deeply', `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`],
  ['must be a JSON object', '7'],
  ['id is required; name is required; categoryId is required', '{}'],
  ['id must be an integer from 1 to 9007199254740991', '{"id":"4","name":"Tom","categoryId":7}'],
  ['id must be an integer from 1 to 9007199254740991', '{"id":0,"name":"Tom","categoryId":7}'],
  [
    'categoryId must be an integer in the range of int64',
    '{"id":4,"name":"Tom","categoryId":9223372036854775808}',
  ],
  [
    'name must not be empty; idempotency.key is required',
    '{"id":4,"name":"","categoryId":7,"idempotency":{"fingerprint":"' + digest + '"}}',
  ],
  ['name must be a string', '{"id":4,"name":null,"categoryId":7}'],
  ['name must be at most 255 characters long', `{"id":4,"name":"${'x'.repeat(256)}","categoryId":7}`],
  ['status must be one of available, pending, sold', tomWith(',"status":"lost"')],
  [
    'status must be one of available, pending, sold; _id is not a field of a pet; tags is not a field of a pet',
    tomWith(',"_id":{"$oid":"1"},"status":"x","tags":[]'),
  ],
  [
    'idempotency.key is required; idempotency.fingerprint is required; idempotency.k is not a field of a pet; ' +
      'idempotency.f is not a field of a pet',
    tomWith(',"idempotency":{"k":"1","f":"2"}'),
  ],
  ['idempotency must be a JSON object', tomWith(',"idempotency":"x"')],
  [
    'idempotency.key must be 64 lower-case hex digits; idempotency.fingerprint must be 64 lower-case hex digits',
    tomWith(`,"idempotency":{"key":"${digest}x","fingerprint":"x${digest}"}`),
  ],
  ['the id 3 is also the id of the pet before', '{"id":3,"name":"Tom","categoryId":7}'],
  ['the id 2 comes after 3; pets must be in ascending order of id', '{"id":2,"name":"Tom","categoryId":7}'],
  [
    `is longer than ${MAX_LINE_BYTES} bytes`,
    `{"id":4,"name":"${'x'.repeat(MAX_LINE_BYTES)}","categoryId":7}`,
  ],
  [
    'is not UTF-8',
    Buffer.concat([Buffer.from('{"id":4,"name":"'), Buffer.from([0xc3]), Buffer.from('","categoryId":7}')]),
  ],
])('a bad file is rejected with the number of the bad line and the problem: %s', async (problem, line) => {
  const { path, pets } = await openFile(
    Buffer.concat([Buffer.from(`${REX}\n`), Buffer.from(line), Buffer.from('\n{}\n')]),
  );
  const expected = { kind: 'pet-file', message: `${path}:2: ${problem}` };
  await expect(pets.survey(ignoreProgress)).rejects.toMatchObject(expected);
  await expect(Array.fromAsync(pets.read(0n))).rejects.toMatchObject(expected);
});

it('a survey rejects an idempotency key that two distant pets have, and accepts keys that only begin alike', async () => {
  const key = (end: string) => `abcdef0${end.padStart(57, '0')}`;
  const fingerprint = '0'.repeat(64);
  const lines = Array.from({ length: 3_000 }, (_, n) =>
    JSON.stringify({ id: n + 1, name: 'Rex', categoryId: 7, idempotency: { key: key(`${n}`), fingerprint } }),
  );
  const similarKeys = await openFile(lines.join('\n'));
  expect(await similarKeys.pets.survey(ignoreProgress)).toMatchObject({ count: 3_000 });

  const withSameKey = JSON.stringify({
    id: 3_001,
    name: 'Tom',
    categoryId: 7,
    idempotency: { key: key('0'), fingerprint },
  });
  const sameKey = await openFile([...lines, withSameKey].join('\n'));
  await expect(sameKey.pets.survey(ignoreProgress)).rejects.toMatchObject({
    kind: 'pet-file',
    message: `${sameKey.path}:3001: the idempotency key is also that of an earlier pet`,
  });
});

const ARRAY = 'is a JSON array; write one pet per line, such as with: jq -c .[] (jq 1.7 or later)';
const SEVERAL = 'is not JSON; write each pet on one line, such as with: jq -c . (jq 1.7 or later)';
it.each([
  ['an array on one line', `[${REX}]`, `1: ${ARRAY}`],
  ['a long array on one line', `\n [${Array.from({ length: 2_000 }, () => REX).join()}]`, `2: ${ARRAY}`],
  ['an array with a pet per line', `[${REX},\n${REX}]\n`, `1: ${ARRAY}`],
  ['an array on many lines', JSON.stringify([JSON.parse(REX)], null, 2), `1: ${ARRAY}`],
  ['an object on many lines', JSON.stringify(JSON.parse(REX), null, 2), `1: ${SEVERAL}`],
  ['an object on two lines, after a pet', `${REX}\r\n{"id":4,\r\n"name":"Tom"}`, `2: ${SEVERAL}`],
])('a bad file is rejected with advice that fits %s', async (_, content, problem) => {
  const { path, pets } = await openFile(content);
  await expect(pets.survey(ignoreProgress)).rejects.toThrow(`${path}:${problem}`);
});

const MANY = petLines(archivedPets(5_000)).split('\n');
it.each([
  ['the line is far down', MANY.with(4_776, '{"id":1').join('\n'), 4_777],
  ['the next line is too long', `{"id":1\n${' '.repeat(MAX_LINE_BYTES + 1)}\n`, 1],
])('a bad file is rejected with the number of its first bad line, even if %s', async (_, content, line) => {
  const { path, pets } = await openFile(content);
  await expect(pets.survey(ignoreProgress)).rejects.toThrow(`${path}:${line}: is not JSON`);
});

it('a bad file is rejected when it has changed after the survey', async () => {
  const { path, pets } = await openFile(`${REX}\n`);
  await pets.survey(ignoreProgress);
  await writeFile(path, '{"id":1}\n');
  await expect(Array.fromAsync(pets.read(0n))).rejects.toThrow(`${path}:1: `);
});

it('a file of pets is rejected when it has grown after it was opened, because it may be incomplete', async () => {
  const { path, pets } = await openFile(`${REX}\n`);
  await appendFile(path, '{"id":4,"name":"Tom","categoryId":7}\n');
  const grown = `${path} has grown since it was opened; try again later`;
  await expect(pets.survey(ignoreProgress)).rejects.toThrow(grown);
  await expect(Array.fromAsync(pets.read(0n))).rejects.toThrow(grown);
});

it('a socket cannot be opened as a file of pets', async () => {
  const path = join(await testDirectory(), 'socket');
  const server = createServer().listen(path);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  await expect(PetFile.open(path)).rejects.toThrow('is not a regular file; an import reads it twice');
});

it('a file is refused when its name ends in the suffix of another compression than gzip', async () => {
  const path = join(await testDirectory(), 'pets.ndjson.zst');
  await writeFile(path, '');
  await expect(PetFile.open(path)).rejects.toThrow(`${path} cannot be used: only .gz is known, not .zst; `);
});

it.each([
  ['/nonexistent/pets.ndjson', /^\/nonexistent\/pets\.ndjson does not exist$/],
  ['/dev/null/pets.ndjson', /^\/dev\/null\/pets\.ndjson cannot be opened: ENOTDIR: not a directory/],
  [tmpdir(), /is not a regular file; an import reads it twice/],
  ['/dev/null', /is not a regular file; an import reads it twice/],
])('a path cannot be opened as a file of pets: %s', async (path, message) => {
  await expect(PetFile.open(path)).rejects.toThrow(message);
});
