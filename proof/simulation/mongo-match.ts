import { type Document, Double, Long } from 'mongodb';

/** The value of a field. The path may lead into a nested document: `idem.k`. */
function valueAt(document: Document, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => (value as Document | undefined)?.[name], document);
}

function hasOperators(condition: unknown): condition is Readonly<Record<string, unknown>> {
  return (
    typeof condition === 'object' &&
    condition !== null &&
    Object.keys(condition).some((key) => key.startsWith('$'))
  );
}

/** Whether the document matches a filter with the operators that the adapter uses. */
export function matches(document: Document, filter: Document): boolean {
  return Object.entries(filter).every(([path, condition]: readonly [string, unknown]) => {
    if (path === '$or') return (condition as readonly Document[]).some((one) => matches(document, one));
    const value = valueAt(document, path);
    return hasOperators(condition) ? fulfilsOperators(value, condition) : compare(value, condition) === 0;
  });
}

function fulfilsOperators(value: unknown, condition: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(condition).every(([operator, operand]) => {
    const order = compare(value, operand);
    switch (operator) {
      case '$gt':
        return order !== undefined && order > 0;
      case '$gte':
        return order !== undefined && order >= 0;
      case '$lte':
        return order !== undefined && order <= 0;
      case '$in':
        return (operand as readonly unknown[]).some((one) => compare(value, one) === 0);
      case '$nin':
        return !fulfilsOperators(value, { $in: operand });
      case '$not':
        return !fulfilsOperators(value, operand as Readonly<Record<string, unknown>>);
      case '$exists':
        return (value !== undefined) === operand;
      case '$type':
        return operand === 'long' ? value instanceof Long : Array.isArray(value);
      default:
        throw new Error(`the model does not know ${operator}`);
    }
  });
}

/**
 * @returns a negative number, zero or a positive number, as a sort function does. `undefined` if the types differ: then
 *   no comparison holds. `Long` and `Double` are compared with each other as numbers
 */
export function compare(one: unknown, other: unknown): number | undefined {
  if (one instanceof Long && other instanceof Long) return one.compare(other);
  if (isNumber(one) && isNumber(other)) return Number(one) - Number(other);
  if (one instanceof Date && other instanceof Date) return one.getTime() - other.getTime();
  if (typeof one !== 'string' || typeof other !== 'string') return undefined;
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function isNumber(value: unknown): value is Long | Double {
  return value instanceof Long || value instanceof Double;
}
