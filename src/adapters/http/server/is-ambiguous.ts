import type { IncomingMessage } from 'node:http';

/**
 * Whether a proxy in front of the service could see another end of this request than the service does (request
 * smuggling). Node's parser refuses most such requests, but not all.
 */
export function isAmbiguous({ httpVersion, headers }: IncomingMessage): boolean {
  if (httpVersion === '1.1') {
    // Node takes any coding that ends in "chunked" for chunks; a server that does not know the coding sees no body.
    const coding = headers['transfer-encoding'];
    return coding !== undefined && coding.toLowerCase() !== 'chunked';
  }
  // HTTP/1.0 has no chunks: RFC 9112, section 6.1. Node also accepts 0.9 and 2.0, and parses them as 1.1.
  return httpVersion !== '1.0' || headers['transfer-encoding'] !== undefined;
}
