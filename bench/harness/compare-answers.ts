import type { Running } from './contestants.ts';
import type { Workload } from './workloads.ts';

type Answer = { readonly status: number; readonly body: unknown };

/**
 * What the contestants answer to each workload, before anything is timed.
 *
 * @throws {Error} when a status differs, or the body of a success
 */
export async function compareAnswers(
  running: readonly Running[],
  workloads: readonly Workload[],
): Promise<void> {
  for (const workload of workloads) {
    const answers = await Promise.all(running.map((one) => answersOf(one, workload)));
    const expected = JSON.stringify(answers[0]);
    for (const [index, answer] of answers.entries()) {
      if (JSON.stringify(answer) === expected) continue;
      const { name } = running[index]!.contestant;
      throw new Error(`${workload.name}: ${name} answers ${JSON.stringify(answer)}, not ${expected}`);
    }
  }
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
    });
  }
  return answers;
}

/** Each contestant counts its own creates. */
function withoutNewId(value: Record<string, unknown>, status: number): unknown {
  return status === 201 ? { ...value, id: typeof value['id'] } : value;
}
