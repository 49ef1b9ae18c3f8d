import type { TLSSocket } from 'node:tls';

/** How much is encrypted at a time, in bytes: what fits into one TLS record (RFC 8446, section 5.1). */
const PORTION_BYTES = 16 * 1024;

type Callback = (error?: Error | null) => void;

/**
 * Makes a TLS socket write in small portions, each when the operating system has the one before. A TLS socket keeps the
 * memory that its largest portion took until it closes (Node 26.10): 1.8 MB for the script of the page at `/docs`.
 */
export function writeInPortions(socket: TLSSocket): void {
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  const writePortions = (bytes: Buffer, callback: Callback) => {
    const rest = bytes.subarray(PORTION_BYTES);
    write(bytes.subarray(0, PORTION_BYTES), 'buffer' as BufferEncoding, (error) => {
      if (error != null || rest.length === 0) callback(error);
      else writePortions(rest, callback);
    });
  };
  socket._write = (chunk: Buffer | string, encoding, callback) => {
    if (chunk.length <= PORTION_BYTES) write(chunk, encoding, callback);
    else writePortions(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk, callback);
  };
  socket._writev = (chunks: { chunk: Buffer | string; encoding: BufferEncoding }[], callback) => {
    const length = chunks.reduce((sum, { chunk }) => sum + chunk.length, 0);
    if (length <= PORTION_BYTES) writev?.(chunks, callback);
    else {
      const all = chunks.map(({ chunk, encoding }) =>
        typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk,
      );
      writePortions(Buffer.concat(all), callback);
    }
  };
}
