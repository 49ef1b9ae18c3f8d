import { expect, it } from 'vitest';
import { countsOf, reasonFor } from './skipped-reporter.ts';

it('the report of skipped tests has a line with the number of tests for each reason', () => {
  const reasons = [
    reasonFor('the rules > pass promtool', 'there is no promtool'),
    ...['starts', 'stops'].map((test) =>
      reasonFor(`the image (left out: no engine; start one) > ${test}`, undefined),
    ),
    reasonFor('a contract: memory > a second one works (skipped: there is one)', undefined),
    reasonFor('a test with another name', undefined),
  ];
  expect(countsOf(reasons)).toBe(
    '     2  no engine; start one\n' +
      '     1  there is no promtool\n' +
      '     1  memory cannot: there is one\n' +
      '     1  not asked for\n',
  );
});
