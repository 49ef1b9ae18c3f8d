import type { IncomingMessage } from 'node:http';
import { HEADERS_END } from './unparsed-input.ts';

/** Where a portion of the input was parsed. */
type Place = {
  /** The portion began the latest request. */
  readonly isNew: boolean;
  /** No request was in progress before the portion. */
  readonly isBetweenRequests: boolean;
};

/**
 * Watches what Node's parser does with the input after a request that offers another protocol (RFC 9110, section 7.8).
 * The service ignores such an offer, but the parser drops the bytes after the body that it was given at once, and
 * reports no error until the next request.
 */
export class UpgradeOffer {
  /** How many bytes were parsed after the headers. `NaN` if it is not known where the headers end. */
  #bytes = 0;
  /** How many characters of the end of headers the last portion ended with: less than all of them. */
  #matched = 0;
  #hidesErrors = false;
  #isOpen = false;

  /** The body of the offer is not complete. What comes with its end will be lost. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Bytes after the offer are not a request yet. If they are broken, the parser does not say so. */
  get hidesErrors(): boolean {
    return this.#hidesErrors;
  }

  /**
   * Call it after each portion.
   *
   * @param latest the last request that was parsed
   * @returns whether the parser has dropped bytes after it
   */
  hasLost(
    portion: Buffer,
    latest: IncomingMessage | undefined,
    { isNew, isBetweenRequests }: Place,
  ): boolean {
    const matchedBefore = this.#matched;
    this.#matched = matchedEnd(portion, matchedBefore);
    if (latest === undefined) return false;
    const isOffer = offersUpgrade(latest);
    if (isBetweenRequests && !isNew) {
      this.#hidesErrors ||= isOffer && !isEmptyLines(portion);
      return false;
    }
    this.#hidesErrors = false;
    this.#isOpen = isOffer && !latest.complete;
    if (!isOffer) return false;
    if (!isNew) this.#bytes += portion.length;
    else this.#bytes = isBetweenRequests ? bytesAfterHeaders(portion, matchedBefore) : NaN;
    return latest.complete && this.#bytes !== bodyBytes(latest);
  }
}

function offersUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? '');
}

/** A server ignores empty lines before a request: RFC 9112, section 2.2. */
function isEmptyLines(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x0d || byte === 0x0a);
}

/** The length of the body as announced, in bytes. 0 for chunks, which take more. */
function bodyBytes({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0);
}

/**
 * How many bytes follow the first end of headers. `NaN` if there is none.
 *
 * @param matched how much of it came before
 */
function bytesAfterHeaders(bytes: Buffer, matched: number): number {
  const rest = HEADERS_END.slice(matched);
  if (bytes.toString('latin1', 0, rest.length) === rest) return bytes.length - rest.length;
  const end = bytes.indexOf(HEADERS_END);
  return end === -1 ? NaN : bytes.length - end - HEADERS_END.length;
}

/** How many characters of the end of headers are at the end of the bytes, if `matched` came before them. */
function matchedEnd(bytes: Buffer, matched: number): number {
  const from = Math.max(0, bytes.length - HEADERS_END.length + 1);
  let count = from === 0 ? matched : 0;
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] === HEADERS_END.charCodeAt(count)) count = (count + 1) % HEADERS_END.length;
    else count = bytes[at] === HEADERS_END.charCodeAt(0) ? 1 : 0;
  }
  return count;
}
