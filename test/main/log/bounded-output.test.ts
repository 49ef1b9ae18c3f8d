import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BoundedOutput, type Dropped } from '../../../src/main/log/bounded-output.ts';
import { Fifo } from '../../support/fifo.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const MAX_BYTES = 1024 * 1024;
const PIPE_BYTES = 64 * 1024;

const request = (n: number) => `{"n":${n},"msg":"request","é":"${'x'.repeat(200)}"}\n`;
const audit = (n: number) => `{"n":${n},"audit":"pet.created","x":"${'x'.repeat(200)}"}\n`;

function opened(path: string, flags: string): number {
  const fd = openSync(path, flags);
  onTestFinished(() => closeSync(fd));
  return fd;
}

/** An output without a reader so far, and its reports of dropped lines. */
async function unread(): Promise<{ fifo: Fifo; output: BoundedOutput; reports: Dropped[] }> {
  const fifo = await Fifo.make();
  onTestFinished(() => fifo[Symbol.asyncDispose]());
  const fd = fifo.open();
  onTestFinished(() => closeSync(fd));
  const reports: Dropped[] = [];
  const output = new BoundedOutput(fd, {
    onRoom: (dropped) => {
      reports.push(dropped);
      output.write('{"report":true}\n');
    },
  });
  return { fifo, output, reports };
}

/** Writes the lines, with iterations of the event loop in between. */
async function writeAll(output: BoundedOutput, lines: readonly string[]): Promise<void> {
  for (const [index, line] of lines.entries()) {
    output.write(line);
    if (index % 50 === 0) await turn();
  }
}

const many = (count: number, line: (n: number) => string) => Array.from({ length: count }, (_, n) => line(n));

describe('an output with a reader', () => {
  it('gets every line, in order', async () => {
    await using directory = await temporaryDirectory('output');
    const path = `${directory.path}/log`;
    const output = new BoundedOutput(opened(path, 'w'));
    const lines = many(2_000, (n) => (n % 3 === 0 ? audit(n) : request(n)));
    await writeAll(output, lines);
    await new Promise<void>((resolve) => output.flush(resolve));
    expect(await readFile(path, 'utf8')).toBe(lines.join(''));
    expect(output.end()).toBeUndefined();
  });

  it('gets a line soon, without a flush', async () => {
    const { fifo, output } = await unread();
    output.write('one\n');
    output.write('two\n');
    expect((await fifo.read(/two\n/)).input).toBe('one\ntwo\n');
    output.write('three\n');
    expect((await fifo.read(/three\n/)).input).toBe('one\ntwo\nthree\n');
  });
});

describe('an output without a reader', () => {
  it('drops lines beyond a limit, and reports how many as soon as there is room', async () => {
    const { fifo, output, reports } = await unread();
    const lines = many(8_000, request);
    await writeAll(output, lines);
    expect(reports).toStrictEqual([]);

    await fifo.read(/"report":true\}\n/);
    output.write('last\n');
    await fifo.read(/last\n/);

    const kept = fifo.text.slice(0, fifo.text.indexOf('{"report":true}\n'));
    const count = kept.split('\n').length - 1;
    expect(kept).toBe(lines.slice(0, count).join(''));
    expect(Buffer.byteLength(kept)).toBeGreaterThan(MAX_BYTES - 1000);
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(MAX_BYTES + PIPE_BYTES);
    expect(reports).toStrictEqual([{ lines: 8_000 - count, auditLines: 0 }]);
    expect(fifo.text.slice(kept.length)).toBe('{"report":true}\nlast\n');
  });

  it('has room for audit lines after it drops others, and counts the audit lines that it drops', async () => {
    const { fifo, output, reports } = await unread();
    await writeAll(output, many(6_000, request));
    await writeAll(output, many(900, audit));
    await writeAll(output, many(10, request));
    await writeAll(output, many(1_100, audit));

    await fifo.read(/"report":true\}\n/);

    const kept = fifo.text.split('\n').slice(0, -1);
    const requests = kept.filter((line) => line.includes('"request"')).length;
    const audits = kept.filter((line) => line.includes('"audit"')).length;
    expect(audits).toBeGreaterThan(1_000);
    expect(audits).toBeLessThan(2_000);
    expect(reports).toStrictEqual([{ lines: 8_010 - requests - audits, auditLines: 2_000 - audits }]);
    for (const line of kept) JSON.parse(line);
  });

  it('reports at the end what is lost', async () => {
    const { fifo, output } = await unread();
    await writeAll(output, [...many(6_000, request), ...many(100, audit)]);
    // A write that is in progress at the end counts as written: wait until it has failed.
    await new Promise<void>((resolve) => output.flush(resolve));
    const lost = output.end();
    expect(lost).toStrictEqual({ lines: expect.any(Number), auditLines: 100 });
    const written = 6_100 - (lost?.lines ?? 0);
    expect(written).toBeGreaterThan(0);
    await fifo.read(new RegExp(`"n":${written - 1},.*\n`));
    expect(fifo.text).not.toContain(`"n":${written + 1},`);
  });

  it('waits at the end for a slow reader', async () => {
    const { fifo, output } = await unread();
    await writeAll(output, many(500, request));
    // Starts to read while this process waits.
    const reader = spawn('sh', ['-c', 'exec cat "$0"', fifo.path]);
    let text = '';
    reader.stdout.on('data', (chunk) => (text += String(chunk)));
    const lost = output.end();
    expect(lost).toBeUndefined();
    reader.kill();
  });
});

describe('an output that cannot be written to', () => {
  it.each(['/dev/full', 'a pipe without a reader'])('never fails: %s', async (path) => {
    const { fifo } = await unread();
    const fd = path === '/dev/full' ? opened(path, 'w') : fifo.open();
    if (path !== '/dev/full') await fifo.close();
    const output = new BoundedOutput(fd);
    await writeAll(output, [...many(6_000, request), ...many(10, audit)]);
    await new Promise<void>((resolve) => output.flush(resolve));
    expect(output.end()).toStrictEqual({ lines: 6_010, auditLines: 10 });
  });
});
