import type { Call } from './history.ts';

/** The rules of a history, each named after what breaks it. */
export type Rule =
  /** The storage lacks a pet that an earlier call acknowledged or showed. */
  | 'lost'
  /** A read does not show a pet that was acknowledged or shown before the read began. */
  | 'missed'
  /** A request or an Idempotency-Key added two pets. */
  | 'second pet'
  /** Two pets have the same id, or a pet has changed. */
  | 'id twice'
  /** The id of a pet is less than an id that was shown before the request for the pet began. */
  | 'id order'
  /** A pet was shown that no client had requested with these bytes. */
  | 'unrequested'
  /** An answer belongs to another request, is not the JSON of a pet, or has a wrong `Idempotent-Replayed`. */
  | 'wrong answer'
  /** A page shows pets in a wrong order, twice, from outside of its range or filter, or in a wrong number. */
  | 'wrong page'
  /** An API key was accepted ten seconds after its revocation. */
  | 'revoked key accepted'
  /** An API key was refused after its creation and before its revocation. The key in `API_KEYS` is never revoked. */
  | 'valid key refused';

export type Violation = { readonly rule: Rule; readonly what: string };

/** Reports a violation. For each rule and subject, such as a pet, only the first violation is kept. */
export type Report = (rule: Rule, subject: string, why: string, ...evidence: readonly Call[]) => void;
