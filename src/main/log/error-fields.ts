import { stdSerializers } from 'pino';
import { faultOf } from '../../domain/fault.ts';

/**
 * An error in a log line. Where the storage is at fault, the stack would show only our own code: the line has the
 * message, followed by those of the causes that it does not repeat.
 */
export function errorFields(error: Error): object {
  if (faultOf(error) !== 'storage') return stdSerializers.err(error);
  return { type: error.name, message: messageOf(error) };
}

function messageOf({ message, cause }: Error): string {
  const isNew = cause instanceof Error && !message.includes(cause.message);
  return isNew ? `${message}: ${messageOf(cause)}` : message;
}
