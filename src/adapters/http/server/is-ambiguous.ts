import type { IncomingMessage } from 'node:http';

/**
 * Whether a proxy in front of the service could disagree with it about where this request ends (request smuggling).
 * Node's parser refuses most such requests, but not all.
 */
export function isAmbiguous({ httpVersion, headers }: IncomingMessage): boolean {
  if (httpVersion === '1.1') {
    // Node treats any coding that ends in "chunked" as chunked. A server that does not know the coding sees no body.
    const coding = headers['transfer-encoding'];
    return coding !== undefined && coding.toLowerCase() !== 'chunked';
  }
  // HTTP/1.0 has no chunks: RFC 9112, section 6.1. Node also accepts 0.9 and 2.0, and parses them as 1.1.
  return httpVersion !== '1.0' || headers['transfer-encoding'] !== undefined;
}
