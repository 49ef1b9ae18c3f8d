import type { RequestRecord } from '../../adapters/http/wire/request-log.ts';

type RequestLine = RequestRecord & { readonly level: number; readonly time: number; readonly msg: string };

/** Turns a JSON log line into a line for a terminal. Loads pino-pretty on demand: most services have no terminal. */
export async function terminalFormat(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  const pretty = prettyFactory({ singleLine: true });
  return (line) => {
    // Something that a worker wrote past its log.
    if (!line.startsWith('{')) return line;
    const record = JSON.parse(line) as RequestLine;
    return pretty(record.msg === 'request' ? inBrief(record) : record);
  };
}

function inBrief({ method, route, status, durationMs, ...rest }: RequestLine): object {
  const { level, time, keyLabel, requestId, aborted } = rest;
  const words = [method ?? 'not HTTP', route ?? 'no route', status ?? 'no answer'];
  if (durationMs !== undefined) words.push(`${durationMs} ms`);
  return { level, time, msg: words.join(' '), keyLabel, requestId, aborted };
}
