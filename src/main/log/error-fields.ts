import { stdSerializers } from 'pino';
import { faultOf } from '../../domain/fault.ts';

/**
 * A storage error is logged without its stack, which shows only our own code. The messages of its
 * causes follow, without repetitions.
 */
export function errorFields(error: Error): object {
  if (faultOf(error) !== 'storage') return stdSerializers.err(error);
  return { type: error.name, message: messageWithCauses(error) };
}

function messageWithCauses({ message, cause }: Error): string {
  const isCauseNew = cause instanceof Error && !message.includes(cause.message);
  return isCauseNew ? `${message}: ${messageWithCauses(cause)}` : message;
}
