import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

/**
 * Inflates a gzip file.
 *
 * @param sizeBytes of the blocks together
 * @param refusal makes the error to throw when the file is damaged, incomplete, or of another format, from a phrase that
 *   completes a sentence that begins with its name
 */
export async function* gunzipped(
  blocks: AsyncIterable<Buffer>,
  sizeBytes: number,
  refusal: (problem: string) => Error,
): AsyncGenerator<Buffer> {
  const output = createGunzip();
  // An error of either side also ends the loop below.
  pipeline(blocks, output, () => {});
  try {
    for await (const block of output) yield block as Buffer;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && String(error.code).startsWith('Z_'))) throw error;
    throw refusal(`is not a complete gzip file: ${error.message}`);
  }
  // Node ignores what follows the compressed data and is no such data itself.
  if (output.bytesWritten !== sizeBytes) throw refusal('has something else behind its gzip data');
}
