import { expect, test } from 'vitest';
import { jsonErrorPosition, type Position } from '../../../src/adapters/json/json-error-position.ts';

function positionOf(text: string): Position {
  try {
    JSON.parse(text);
  } catch (error) {
    return jsonErrorPosition(text, error as SyntaxError);
  }
  throw new Error('this is JSON');
}

test.each<readonly [string, number, number]>([
  ['{"name": "Rex"', 1, 15],
  ['{"name": "Rex",\n "categoryId": 7,\n}', 3, 1],
  ['{"name": "Rex",\r\n "categoryId" 7}', 2, 15],
  ['{name: "Rex"}', 1, 2],
  ["{'name': 1}", 1, 2],
  ['{"name": Rex, "categoryId": 7}', 1, 10],
  ['{"name": "Rex", "status": True}', 1, 27],
  ['{"name": "a,[:b", "categoryId": }', 1, 33],
  ['{"name": "a\\"", "categoryId": ,}', 1, 31],
  ['[1, 2, ]', 1, 8],
  ['[true, false, null, -1.5e3, ]', 1, 29],
  ['[[], [,]]', 1, 7],
  ['{"categoryId": +1}', 1, 16],
  ['{"categoryId": -}', 1, 17],
  ['{"name": "Re\nx"}', 1, 13],
  ['nul', 1, 1],
  ['\n\n  #', 3, 3],
  [' ', 1, 2],
])('jsonErrorPosition finds the error in %j at line %i, column %i', (text, line, column) => {
  expect(positionOf(text)).toStrictEqual({ line, column });
});

test('jsonErrorPosition takes linear time', () => {
  const text = `[${'"\\\\",'.repeat(20_000)}x]`;
  expect(positionOf(text)).toStrictEqual({ line: 1, column: text.length - 1 });
});
