import type { Call } from './history.ts';

/** What a history must not show. */
export type Rule =
  /** The storage lacks a pet that was acknowledged or shown before. */
  | 'lost'
  /** A read lacks a pet that was acknowledged or shown before the read began. */
  | 'missed'
  /** A request or an Idempotency-Key has two pets. */
  | 'second pet'
  /** An id belongs to two pets, or to a pet that has changed. */
  | 'id twice'
  /** An id that is not greater than one that was shown before the request for its pet began. */
  | 'id order'
  /** A pet with bytes for which no client had asked at that time. */
  | 'unrequested'
  /** The answer to another request, a text that is no pet, or a wrong `Idempotent-Replayed`. */
  | 'wrong answer'
  /** A page out of order, with a pet twice, outside of its range or filter, or with a wrong number of pets. */
  | 'wrong page'
  | 'revoked key accepted'
  | 'valid key refused';

export type Violation = { readonly rule: Rule; readonly what: string };

/** Reports a violation. Each subject breaks a rule once, however many calls show it. */
export type Report = (rule: Rule, subject: string, why: string, ...evidence: readonly Call[]) => void;
