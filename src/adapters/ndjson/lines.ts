import type { FileHandle } from 'node:fs/promises';

const LF = 0x0a;

const BLOCK_BYTES = 65_536;

/**
 * Yields lines without their line feeds. Holds at most a block and a line in memory.
 *
 * @param maxLineBytes a longer line ends the reading. That line may be incomplete, so the caller must refuse it
 */
export async function* linesOf(
  blocks: AsyncIterable<Buffer>,
  maxLineBytes: number,
): AsyncGenerator<readonly Buffer[]> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const block of blocks) {
    const bytes = rest.length === 0 ? block : Buffer.concat([rest, block]);
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
      lines.push(bytes.subarray(start, end));
      start = end + 1;
    }
    rest = bytes.subarray(start);
    if (lines.length > 0) yield lines;
    if (rest.length > maxLineBytes) break;
  }
  if (rest.length > 0) yield [rest];
}

/** Reads the first `sizeBytes` of a file, even if the file grows. */
export async function* blocksOf(file: FileHandle, sizeBytes: number): AsyncGenerator<Buffer> {
  for (let position = 0; position < sizeBytes; ) {
    const length = Math.min(BLOCK_BYTES, sizeBytes - position);
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(BLOCK_BYTES), 0, length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
