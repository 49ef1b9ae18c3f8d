/** Whose fault an error is. */
export type Fault =
  /** The caller has to ask for something else. */
  | 'client'
  /** Only an operator can help. */
  | 'operator'
  /** The storage cannot do its work now. A retry may succeed. */
  | 'storage'
  /** An error in the code. */
  | 'bug';

/** An error of this program says whose fault it is in its property `fault`. Every other error is a bug. */
export function faultOf(error: unknown): Fault {
  return error instanceof Error && 'fault' in error ? (error.fault as Fault) : 'bug';
}
