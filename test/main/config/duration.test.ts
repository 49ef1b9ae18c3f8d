import { expect, it } from 'vitest';
import { parseDurationMs } from '../../../src/main/config/forms.ts';

it.each([
  ['0s', 0],
  ['500ms', 500],
  ['25s', 25_000],
  ['2m', 120_000],
  ['24h', 86_400_000],
  ['365d', 31_536_000_000],
  ['9999999d', 863_999_913_600_000],
])('the duration %s is %d milliseconds', (text, ms) => {
  expect(parseDurationMs(text)).toBe(ms);
});

it.each(['', '5', '5 s', '5s\n', '05s', '-5s', '1.5s', '10000000d', '5S', '5w', '1h30m'])(
  'the text %j is no duration',
  (text) => {
    expect(parseDurationMs(text)).toBeUndefined();
  },
);
