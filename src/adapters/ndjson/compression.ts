import { extname } from 'node:path';
import { pipeline } from 'node:stream';
import { constants, createGunzip, createGzip, createZstdCompress, createZstdDecompress } from 'node:zlib';

const GZIP = { name: 'gzip', compress: createGzip, decompress: createGunzip };

/** With a checksum, as gzip has one. */
const ZSTD = {
  name: 'zstd',
  compress: () => createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
  decompress: createZstdDecompress,
};

/** A format of compressed files. */
export type Compression = typeof GZIP | typeof ZSTD;

const BY_ENDING: Readonly<Record<string, Compression>> = { '.gz': GZIP, '.zst': ZSTD };

/** The format that the ending of a file's name stands for; `undefined` for a plain file. */
export function compressionOf(path: string): Compression | undefined {
  return BY_ENDING[extname(path)];
}

/**
 * Inflates a file.
 *
 * @param sizeBytes of the blocks together
 * @param refusal makes the error to throw when the file is damaged, incomplete, or of another format, from a phrase that
 *   completes a sentence that begins with its name
 */
export async function* decompressed(
  blocks: AsyncIterable<Buffer>,
  sizeBytes: number,
  { name, decompress }: Compression,
  refusal: (problem: string) => Error,
): AsyncGenerator<Buffer> {
  const output = decompress();
  // An error of either side also ends the loop below.
  pipeline(blocks, output, () => {});
  try {
    for await (const block of output) yield block as Buffer;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && /^(Z_|ZSTD_)/.test(String(error.code)))) throw error;
    throw refusal(`is not a complete ${name} file: ${error.message}`);
  }
  // Node ignores what follows the compressed data and is no such data itself.
  if (output.bytesWritten !== sizeBytes) {
    throw refusal(`has something else behind its ${name} data`);
  }
}
