import { existsSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, expect } from 'vitest';

/** The state that all test files of a process share. */
const sharedState = () => ({
  cwd: process.cwd(),
  environment: { ...process.env },
  exitCode: process.exitCode,
  title: process.title,
  listeners: Object.fromEntries(process.eventNames().map((name) => [name, process.listeners(name)])),
  clocks: [Date, performance.now, setImmediate, setInterval, setTimeout, clearInterval, clearTimeout],
  random: Math.random,
  limits: kernelValue('limits', /^.*/s),
  umask: kernelValue('status', /^Umask:.*/m),
  users: kernelValue('status', /^Uid:.*/m),
  ignoredSignals: kernelValue('status', /^SigIgn:.*/m),
});

/** The matching part of a file in `/proc/self`, or `undefined`. Only Linux has these files. */
function kernelValue(name: string, pattern: RegExp): string | undefined {
  const file = `/proc/self/${name}`;
  return existsSync(file) ? pattern.exec(readFileSync(file, 'utf8'))?.[0] : undefined;
}

// vitest loads this file before each test file. A test that must change shared state does so in a process of its own.
const before = Object.entries(sharedState());
afterAll(expectUnchanged);

function expectUnchanged(): void {
  const after = Object.entries(sharedState());
  const changed = after.filter(([, value], index) => !isDeepStrictEqual(value, before[index]?.[1]));
  const names = changed.map(([name]) => name);
  const expected = before.filter(([name]) => names.includes(name));
  expect(changed, `changed parts: ${names.join(', ')}`).toStrictEqual(expected);
}
