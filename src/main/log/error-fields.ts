import { stdSerializers } from 'pino';
import { faultOf } from '../../domain/fault.ts';

/**
 * A storage error is logged without its stack, which would show only our own code. Its message is followed by each
 * cause that the message does not repeat.
 */
export function errorFields(error: Error): object {
  if (faultOf(error) !== 'storage') return stdSerializers.err(error);
  return { type: error.name, message: messageOf(error) };
}

function messageOf({ message, cause }: Error): string {
  const isNew = cause instanceof Error && !message.includes(cause.message);
  return isNew ? `${message}: ${messageOf(cause)}` : message;
}
