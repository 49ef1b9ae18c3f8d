import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { BoundedOutput } from '../../../src/adapters/output/bounded-output.ts';
import { Fifo } from '../../support/fifo.ts';
import { testDirectory } from '../../support/test-directory.ts';

const MAX_BYTES = 1024 * 1024;
const PIPE_BYTES = 64 * 1024;

const request = (n: number) => `{"n":${n},"msg":"request","é":"${'x'.repeat(200)}"}\n`;

function opened(path: string, flags: string): number {
  const fd = openSync(path, flags);
  onTestFinished(() => closeSync(fd));
  return fd;
}

/** An output without a reader so far, and its reports of dropped lines. */
async function unread(): Promise<{ fifo: Fifo; output: BoundedOutput; reports: number[] }> {
  const fifo = await Fifo.make();
  const fd = fifo.open();
  onTestFinished(() => closeSync(fd));
  const reports: number[] = [];
  const output = new BoundedOutput(fd, {
    onRoom: (lines) => {
      reports.push(lines);
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

describe('an output with a reader', { timeout: 30_000 }, () => {
  it('gets every line, in order, and what is left at the end', async () => {
    const path = `${await testDirectory()}/log`;
    const output = new BoundedOutput(opened(path, 'w'));
    const lines = many(2_000, request);
    await writeAll(output, lines);
    await new Promise<void>((resolve) => output.flush(resolve));
    expect(await readFile(path, 'utf8')).toBe(lines.join(''));
    output.write('under way\n');
    const written = new Promise<void>((resolve) => output.flush(resolve));
    output.write('last\n');
    output.end();
    await written;
    const rest = (await readFile(path, 'utf8')).slice(lines.join('').length);
    expect(rest.split('\n').toSorted()).toStrictEqual(['', 'last', 'under way']);
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

describe('an output without a reader', { timeout: 30_000 }, () => {
  it('drops lines beyond a limit, and reports once how many behind the lines before them', async () => {
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
    expect(fifo.text.slice(kept.length)).toBe('{"report":true}\nlast\n');
    // Nothing waits before it, and no write is under way.
    await new Promise<void>((resolve) => output.flush(resolve));
    output.write('x'.repeat(MAX_BYTES + 1));
    output.write('it would fit, but not in its place\n');
    await fifo.read(/last\n[^]*"report":true\}\n/);
    expect(reports).toStrictEqual([8_000 - count, 2]);
  });

  it('waits at the end for a slow reader, and reports what was dropped', async () => {
    const { fifo, output, reports } = await unread();
    // There would be room for the last one.
    await writeAll(output, [...many(6_000, request), '\n']);
    // Reads while this process waits in `end`.
    const copy = `${await testDirectory()}/log`;
    const reader = spawn('sh', ['-c', 'echo ready; read go; exec cat "$0" > "$1"', fifo.path, copy]);
    onTestFinished(() => void reader.kill());
    await once(reader.stdout, 'data');
    // A write that is in progress at the end counts as written: wait until it has failed.
    await new Promise<void>((resolve) => output.flush(resolve));
    reader.stdin.write('go\n');
    // The half second does not pass, however slow the machine is.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    output.end();
    expect(reports).toHaveLength(1);
    clock.mockRestore();
    const text = await vi.waitUntil(async () => {
      const read = await readFile(copy, 'utf8');
      return read.endsWith('{"report":true}\n') && read;
    }, 120_000);
    const kept = text.split('\n').length - 2;
    expect(text).toBe(`${many(kept, request).join('')}{"report":true}\n`);
    expect(reports).toStrictEqual([6_001 - kept]);
  });
});
