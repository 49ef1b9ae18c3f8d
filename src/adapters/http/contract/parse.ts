import * as v from 'valibot';
import type { RequestRefused } from './errors.ts';
import { invalidValues } from './refusals.ts';

/**
 * @param name the name of the input, for problems that belong to no field
 * @throws {RequestRefused} INVALID_CURSOR if the cursor is the only problem, otherwise INVALID_ARGUMENT. The message
 *   names every problem
 */
export function parse<S extends v.GenericSchema>(schema: S, input: unknown, name: string): v.InferOutput<S> {
  const { success, output, issues } = v.safeParse(schema, input);
  if (success) return output;
  throw refusalOfIssues(issues, name);
}

export function refusalOf(schema: v.GenericSchema, input: unknown, name: string): RequestRefused {
  return refusalOfIssues(v.safeParse(schema, input).issues ?? [], name);
}

function refusalOfIssues(issues: readonly v.BaseIssue<unknown>[], name: string): RequestRefused {
  const fields = issues.map((issue) => v.getDotPath(issue) ?? name);
  const problems = issues.map(({ message }, index) => `${fields[index]} ${message}`);
  // `strict_object` is the type of the issue when the operation has no parameter `cursor`.
  const isOnlyCursor = issues.every(({ type }, i) => fields[i] === 'cursor' && type !== 'strict_object');
  return invalidValues(isOnlyCursor ? 'INVALID_CURSOR' : 'INVALID_ARGUMENT', problems.join('; '));
}
