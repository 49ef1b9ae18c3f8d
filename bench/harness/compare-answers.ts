import { OURS, type Running, SAME_FEATURES } from './contestants.ts';
import type { Workload } from './workloads.ts';

type Answer = {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
};

/** Of the connection, different for each request, or of the text of an error. */
const OTHER_HEADERS = new Set([
  'connection',
  'keep-alive',
  'date',
  'x-request-id',
  'location',
  'content-length',
]);

/**
 * What the contestants answer to each workload, before anything is timed.
 *
 * @throws {Error} when a status differs, the body of a success, or a header of those that have the same features
 */
export async function compareAnswers(
  running: readonly Running[],
  workloads: readonly Workload[],
): Promise<void> {
  for (const workload of workloads) {
    const answers = await Promise.all(running.map((one) => answersOf(one, workload)));
    const results = answers.map((list) => JSON.stringify(list.map(({ status, body }) => ({ status, body }))));
    running.forEach(({ contestant }, index) =>
      mustEqual(`${workload.name}: ${contestant.name}`, results[index], results[0]),
    );
    const headersOf = (name: string) => {
      const index = running.findIndex(({ contestant }) => contestant.name === name);
      return JSON.stringify(answers[index]?.map(({ headers }) => headers));
    };
    mustEqual(`${workload.name}, headers: ${SAME_FEATURES}`, headersOf(SAME_FEATURES), headersOf(OURS));
  }
}

function mustEqual(what: string, actual: string | undefined, expected: string | undefined): void {
  if (actual !== expected) throw new Error(`${what} answers ${actual}, not ${expected}`);
}

async function answersOf({ port, contestant }: Running, workload: Workload): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (const request of new Set(workload.requests(contestant.paging))) {
    const [head = '', body = ''] = request.split('\r\n\r\n');
    const [line = '', ...fields] = head.split('\r\n');
    const [method = '', path = ''] = line.split(' ');
    const headers = fields
      .map((field) => field.split(': ') as [string, string])
      .filter(([name]) => name !== 'Host' && name !== 'Content-Length');
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers,
      ...(body !== '' && { body }),
    });
    const value = (await response.json()) as Record<string, unknown>;
    answers.push({
      status: response.status,
      body: response.ok ? withoutNewId(value, response.status) : 'an error',
      headers: comparable(response.headers, port),
    });
  }
  return answers;
}

/** Each contestant counts its own creates. */
function withoutNewId(value: Record<string, unknown>, status: number): unknown {
  return status === 201 ? { ...value, id: typeof value['id'] } : value;
}

function comparable(headers: Headers, port: number): Record<string, string> {
  const kept = [...headers].filter(([name]) => !OTHER_HEADERS.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, value.replace(`:${port}`, '')]));
}
