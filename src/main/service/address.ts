import type { RequestListener } from 'node:http';
import { type HttpServer, listen, type ListenOptions } from '../../adapters/http/server/listen.ts';
import { StartError } from '../config/config.ts';

type Prefix = '' | 'METRICS_';

/**
 * @param prefix as in METRICS_HOST and METRICS_PORT
 * @throws {StartError} with the variable to change
 */
export async function listenAt(
  prefix: Prefix,
  handle: RequestListener,
  options: ListenOptions,
): Promise<HttpServer> {
  try {
    return await listen(handle, options);
  } catch (error) {
    throw addressProblem(prefix, options, error);
  }
}

/** Some shells and tools set HOST, so the message mentions them. */
function addressProblem(
  prefix: Prefix,
  { host, port }: Pick<ListenOptions, 'host' | 'port'>,
  error: unknown,
) {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error;
  const code = String(error.code);
  const portProblems: Readonly<Record<string, string>> = {
    EADDRINUSE: `PORT is ${port}, which is in use on ${host}: stop what uses it, or set another ${prefix}PORT`,
    EACCES: `PORT is ${port}, which this user may not use: set ${prefix}PORT to 1024 or more`,
  };
  // HOST may be a URL with a password.
  const shownHost = JSON.stringify(host.replace(/^.*@/s, '…@'));
  const hostProblem =
    `HOST is ${shownHost}, where this machine cannot listen (${code}): set it to an address of this machine, such as ` +
    '127.0.0.1, or unset it if a shell or a tool has set it';
  return new StartError([prefix + (portProblems[code] ?? hostProblem)]);
}
