import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { UnparsedInput } from '../../../../src/adapters/http/server/unparsed-input.ts';

const END = '\r\n\r\n';

/** Input of a socket without a connection, whose listeners record what happens. */
function anInput({ onData = () => {} }: { readonly onData?: (input: UnparsedInput) => void } = {}) {
  const socket = new Socket();
  const events: string[] = [];
  let others = 0;
  socket.on('data', () => others++).on('end', () => others++);
  socket.on('data', (bytes: Buffer) => void events.push(bytes.toString()));
  socket.on('end', () => void events.push('the end'));
  const received: number[] = [];
  const input: UnparsedInput = new UnparsedInput(socket, {
    onData: (bytes) => {
      received.push(bytes);
      onData(input);
    },
    onResume: () => void events.push('resumed'),
    onEnd: () => input.parseEnd(),
  });
  return { socket, input, events, received, others: () => others };
}

test('input is held until it is parsed', () => {
  const { socket, input, events, received, others } = anInput();
  expect(input.isEmpty).toBe(true);
  for (const bytes of ['GET ', '/ HTTP/1.1']) socket.emit('data', Buffer.from(bytes));
  expect([input.isEmpty, events, received]).toStrictEqual([false, [], [4, 10]]);
  expect(input.parsePortion().toString()).toBe('GET / HTTP/1.1');
  expect([input.isEmpty, events, others()]).toStrictEqual([true, ['GET / HTTP/1.1'], 2]);
});

test.each([
  ['nothing, because it is short', `${'a'.repeat(100)}${END}${'b'.repeat(152)}`, [256]],
  ['the end of headers that makes 256 bytes', `${'a'.repeat(252)}${END}${'b'.repeat(100)}`, [256, 100]],
  ['the first end of headers after that', `${'a'.repeat(253)}${END}b${END}c`, [257, 6]],
  ['nothing, because all headers end before', `${'a'.repeat(251)}${END}${'b'.repeat(100)}`, [355]],
])('a portion ends at %s', (_, text, lengths) => {
  const { socket, input, events } = anInput();
  socket.emit('data', Buffer.from(text));
  const portions: number[] = [];
  while (!input.isEmpty) portions.push(input.parsePortion().length);
  expect(portions).toStrictEqual(lengths);
  expect(events.join('')).toBe(text);
});

test('the end of the client waits for the input before it', () => {
  const { socket, input, events } = anInput();
  socket.emit('data', Buffer.from('a'));
  socket.emit('end');
  expect(events).toStrictEqual([]);
  input.parsePortion();
  input.resume();
  input.resume();
  expect(events).toStrictEqual(['a', 'the end']);
});

test('the end of a client without input is passed on at once', () => {
  const { socket, events } = anInput();
  socket.emit('end');
  expect(events).toStrictEqual(['the end']);
});

test('only what was paused here is resumed', () => {
  const { socket, input } = anInput();
  socket.pause();
  input.resume();
  expect(socket.isPaused()).toBe(true);
  socket.resume();
  input.pause();
  expect(socket.isPaused()).toBe(true);
  input.resume();
  expect(socket.isPaused()).toBe(false);
  socket.pause();
  input.resume();
  expect(socket.isPaused()).toBe(true);
});

test('reports that Node has resumed the socket only if there is input', () => {
  const { socket, events } = anInput();
  socket.emit('resume');
  expect(events).toStrictEqual([]);
  socket.emit('data', Buffer.from('a'));
  socket.emit('resume');
  expect(events).toStrictEqual(['resumed']);
});

test('what is discarded is not parsed, and neither is what follows', () => {
  const { socket, input, events } = anInput();
  socket.emit('data', Buffer.from('a'));
  input.pause();
  input.discard();
  expect([input.isEmpty, socket.isPaused()]).toStrictEqual([true, false]);
  socket.emit('data', Buffer.from('b'));
  input.parsePortion();
  socket.emit('end');
  expect(events).toStrictEqual([]);
});

test('discarding reads on only what was paused here', () => {
  const { socket, input } = anInput();
  socket.pause();
  input.discard();
  expect(socket.isPaused()).toBe(true);
});

test('small input takes its own size only, although small buffers share memory', () => {
  const { socket, input } = anInput();
  expect(input.heldBytes).toBe(0);
  for (const bytes of ['abc', 'de']) socket.emit('data', Buffer.from(bytes));
  expect(input.heldBytes).toBe(5);
  expect(input.parsePortion().toString()).toBe('abcde');
});

test('what is left of small input takes its own size only', () => {
  const { socket, input } = anInput({ onData: (of) => void of.parsePortion() });
  socket.emit('data', Buffer.from(`${'a'.repeat(300)}${END}rest`));
  expect(input.heldBytes).toBe(4);
  expect(input.parsePortion().toString()).toBe('rest');
});

test('a buffer counts in full until all of it is parsed', () => {
  const { socket, input } = anInput({ onData: (of) => void of.parsePortion() });
  const bytes = Buffer.allocUnsafeSlow(1000).fill(END);
  socket.emit('data', bytes);
  expect(input.heldBytes).toBe(1000);
});

test('what the socket has read counts too', () => {
  const { socket, input } = anInput();
  socket.emit('data', Buffer.from('abc'));
  input.pause();
  socket.push('defgh');
  expect(input.heldBytes).toBe(8);
});
