import { existsSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, expect } from 'vitest';

/** What all files of a process share. */
const sharedState = () => ({
  cwd: process.cwd(),
  environment: { ...process.env },
  exitCode: process.exitCode,
  title: process.title,
  listeners: Object.fromEntries(process.eventNames().map((name) => [name, process.listeners(name)])),
  clocks: [Date, performance.now, setImmediate, setInterval, setTimeout, clearInterval, clearTimeout],
  random: Math.random,
  limits: ofKernel('limits', /^.*/s),
  umask: ofKernel('status', /^Umask:.*/m),
  users: ofKernel('status', /^Uid:.*/m),
  ignoredSignals: ofKernel('status', /^SigIgn:.*/m),
});

/** Only Linux has these files. */
function ofKernel(name: string, pattern: RegExp): string | undefined {
  const file = `/proc/self/${name}`;
  return existsSync(file) ? pattern.exec(readFileSync(file, 'utf8'))?.[0] : undefined;
}

// vitest loads this file before each test file. A test that must change what others share runs a process of its own.
const before = Object.entries(sharedState());
afterAll(expectUnchanged);

function expectUnchanged(): void {
  const after = Object.entries(sharedState());
  const changed = after.filter(([, value], index) => !isDeepStrictEqual(value, before[index]?.[1]));
  const names = changed.map(([what]) => what);
  const expected = before.filter(([what]) => names.includes(what));
  expect(changed, `left changed: ${names.join(', ')}`).toStrictEqual(expected);
}
