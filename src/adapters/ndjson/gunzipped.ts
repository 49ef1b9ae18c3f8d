import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

/**
 * @param sizeBytes the size of all blocks together
 * @param refusal makes an error from a phrase that follows the name of the file
 */
export async function* gunzipped(
  blocks: AsyncIterable<Buffer>,
  sizeBytes: number,
  refusal: (problem: string) => Error,
): AsyncGenerator<Buffer> {
  const output = createGunzip();
  // An error of `blocks` or `output` also ends the loop.
  pipeline(blocks, output, () => {});
  try {
    for await (const block of output) yield block as Buffer;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && String(error.code).startsWith('Z_'))) throw error;
    throw refusal(`is not a complete gzip file: ${error.message}`);
  }
  // Node ignores other data behind the compressed data.
  if (output.bytesWritten !== sizeBytes) throw refusal('has other data after its gzip data');
}
