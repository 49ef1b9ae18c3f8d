import { Long, Timestamp } from 'mongodb';
import { INT64_MAX, INT64_MIN, isInt64 } from '../../domain/pet.ts';

/**
 * BSON would silently change larger integers.
 *
 * @throws {RangeError} outside int64, which is a bug of the caller
 */
export function toLong(value: bigint): Long {
  if (!isInt64(value)) throw new RangeError(`${value} is not between ${INT64_MIN} and ${INT64_MAX}`);
  return Long.fromBigInt(value);
}

/** `Timestamp`, another BSON type, extends `Long`. */
export function isLong(value: unknown): value is Long {
  return value instanceof Long && !(value instanceof Timestamp);
}

/** Five times as fast as `Long.toBigInt`, which converts through a string. */
export function toBigInt({ high, low }: Long): bigint {
  return (BigInt(high) << 32n) | BigInt(low >>> 0);
}
