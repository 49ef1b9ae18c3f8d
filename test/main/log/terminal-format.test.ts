import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { terminalFormat } from '../../../src/main/log/open-log.ts';

it('leaves a line alone that is no log line: a worker may have written past its log', async () => {
  const format = await terminalFormat();
  expect(format('Debugger attached.\n')).toBe('Debugger attached.\n');
  const line = format('{"level":30,"time":0,"msg":"listening"}\n');
  expect(stripVTControlCharacters(line)).toMatch(/INFO: listening\n$/);
});
