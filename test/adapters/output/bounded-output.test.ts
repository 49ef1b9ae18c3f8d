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

function openUntilEnd(path: string, flags: string): number {
  const fd = openSync(path, flags);
  onTestFinished(() => closeSync(fd));
  return fd;
}

/** Opens an output to a pipe without a reader. `reports` has the numbers of dropped lines that the output reports. */
async function openUnread(): Promise<{ fifo: Fifo; output: BoundedOutput; reports: number[] }> {
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

/** Writes the lines, and waits for a turn of the event loop after every 50 lines. */
async function writeAll(output: BoundedOutput, lines: readonly string[]): Promise<void> {
  for (const [index, line] of lines.entries()) {
    output.write(line);
    if (index % 50 === 0) await turn();
  }
}

const many = (count: number, line: (n: number) => string) => Array.from({ length: count }, (_, n) => line(n));

describe('an output with a reader', { timeout: 30_000 }, () => {
  it('gets every line in order, and at the end the lines that were not written yet', async () => {
    const path = `${await testDirectory()}/log`;
    const output = new BoundedOutput(openUntilEnd(path, 'w'));
    const lines = many(2_000, request);
    await writeAll(output, lines);
    await new Promise<void>((resolve) => output.flush(resolve));
    expect(await readFile(path, 'utf8')).toBe(lines.join(''));
    output.write('under way\n');
    const written = new Promise<void>((resolve) => output.flush(resolve));
    output.write('last\n');
    output.end();
    await written;
    const remaining = (await readFile(path, 'utf8')).slice(lines.join('').length);
    expect(remaining.split('\n').toSorted()).toStrictEqual(['', 'last', 'under way']);
  });

  it('gets a line without a flush', async () => {
    const { fifo, output } = await openUnread();
    output.write('one\n');
    output.write('two\n');
    expect((await fifo.read(/two\n/)).input).toBe('one\ntwo\n');
    output.write('three\n');
    expect((await fifo.read(/three\n/)).input).toBe('one\ntwo\nthree\n');
  });
});

describe('an output without a reader', { timeout: 30_000 }, () => {
  it('drops lines above a limit, and reports their number once, after the lines that were written', async () => {
    const { fifo, output, reports } = await openUnread();
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
    // No line waits, and no write is in progress, so only the size of the next line decides.
    await new Promise<void>((resolve) => output.flush(resolve));
    output.write('x'.repeat(MAX_BYTES + 1));
    output.write('a line that would fit, but must not overtake\n');
    await fifo.read(/last\n[^]*"report":true\}\n/);
    expect(reports).toStrictEqual([8_000 - count, 2]);
  });

  it('waits at the end for a slow reader, and reports the number of dropped lines', async () => {
    const { fifo, output, reports } = await openUnread();
    // The last line is short and would fit, but lines before it were dropped.
    await writeAll(output, [...many(6_000, request), '\n']);
    // This program reads while this process is blocked in `end`.
    const copy = `${await testDirectory()}/log`;
    const reader = spawn('sh', ['-c', 'echo ready; read go; exec cat "$0" > "$1"', fifo.path, copy]);
    onTestFinished(() => void reader.kill());
    await once(reader.stdout, 'data');
    // A write that is in progress at the end counts as written: wait until it has failed.
    await new Promise<void>((resolve) => output.flush(resolve));
    reader.stdin.write('go\n');
    // `end` waits for half a second at most. The clock stands still, so that a slow machine does not end the wait.
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
