/** What caused an error. */
export type Fault =
  /** The request: another request can succeed. */
  | 'client'
  /** Something that only an operator can change. */
  | 'operator'
  /** The storage: a retry may succeed. */
  | 'storage'
  /** The code. */
  | 'bug';

export function faultOf(error: unknown): Fault {
  return error instanceof Error && 'fault' in error ? (error.fault as Fault) : 'bug';
}
