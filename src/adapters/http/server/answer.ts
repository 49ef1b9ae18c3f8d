import { ServerResponse } from 'node:http';
import { setLast } from './node-internals.ts';

/**
 * How much of a body is encrypted at a time, in bytes. It fits into one TLS record (RFC 8446, section 5.1) with the
 * head. A second record would make Node keep 16 KiB more for each connection.
 */
const PORTION_BYTES = 14 * 1024;

/** An answer, as Node's HTTP server makes one for each request. */
export class Answer extends ServerResponse {
  /** Asked when the head is made: whether it announces the end of the connection. */
  becomesLast: ((answer: Answer) => boolean) | undefined;
  /** How much of the body waits to be written, in bytes. */
  waitingBytes = 0;

  override writeHead(...head: readonly [status: number, ...rest: never[]]): this {
    if (this.becomesLast?.(this) === true) setLast(this);
    return super.writeHead(...head);
  }

  /**
   * Over TLS, a long body is written in portions, each when the operating system has the one before: a TLS socket keeps
   * the memory that its largest write took until it closes. That was 1.8 MB for the script of the page at `/docs`.
   */
  override end(body?: unknown): this {
    this.waitingBytes = 0;
    const isLong = Buffer.isBuffer(body) && body.length > PORTION_BYTES;
    if (!isLong || !('encrypted' in this.req.socket)) return super.end(body);
    const rest = body.subarray(PORTION_BYTES);
    this.waitingBytes = rest.length;
    this.write(body.subarray(0, PORTION_BYTES), (error) => {
      if (error == null) this.end(rest);
    });
    return this;
  }
}
