import type { FileHandle } from 'node:fs/promises';

export const LF = 0x0a;

/** In bytes: some hundred pets. */
const BLOCK = 65_536;

/** A line is longer than it may be. */
export class LineTooLong extends Error {
  /** How many lines came before it. */
  readonly before: number;

  constructor(before: number) {
    super('a line is too long');
    this.name = 'LineTooLong';
    this.before = before;
  }
}

/**
 * The lines of the first `size` bytes of a file, without their line feeds, as bytes, in batches. Holds no more than a
 * block and a line in memory. What follows the last line feed is a line too, unless it is empty.
 *
 * @throws {LineTooLong}
 */
export async function* linesOf(
  file: FileHandle,
  size: number,
  maxBytes: number,
): AsyncGenerator<readonly Buffer[]> {
  let rest: Buffer = Buffer.alloc(0);
  let before = 0;
  for await (const block of blocksOf(file, size)) {
    const bytes = rest.length === 0 ? block : Buffer.concat([rest, block]);
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
      if (end - start > maxBytes) throw new LineTooLong(before + lines.length);
      lines.push(bytes.subarray(start, end));
      start = end + 1;
    }
    rest = bytes.subarray(start);
    before += lines.length;
    if (lines.length > 0) yield lines;
    if (rest.length > maxBytes) throw new LineTooLong(before);
  }
  if (rest.length > 0) yield [rest];
}

/**
 * So many bytes of a file from its beginning, so that one that grows has an end. Not a stream: one that is left early
 * closes the file, whatever it was told.
 */
export async function* blocksOf(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let position = 0; position < size; ) {
    const wanted = Math.min(BLOCK, size - position);
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(BLOCK), 0, wanted, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
