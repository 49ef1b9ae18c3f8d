import { ask } from './ask.ts';
import type { Create } from './history.ts';
import { API_KEY } from './service-process.ts';
import type { Stage } from './stage.ts';

/** How many of the acknowledged pets are asked for again. */
const SAMPLE = 25;

/**
 * Sends requests again when all is over. One that was acknowledged must get the same bytes; one whose outcome is
 * unknown must get a pet, so that it is known from now on.
 */
export async function replay(stage: Stage, url: string, creates: readonly Create[]): Promise<void> {
  const acknowledged = creates.filter(({ outcome }) => outcome === 'acknowledged');
  const every = Math.max(1, Math.floor(acknowledged.length / SAMPLE));
  for (const [index, create] of acknowledged.entries()) {
    if (index % every !== 0) continue;
    const { status, headers, body } = await again(url, create);
    const isReplay = status === 201 && headers['idempotent-replayed'] === 'true' && body === create.answer;
    stage.expect(
      `a replay of ${create.key} gives ${create.answer} (it gave ${status} ${body}, Idempotent-Replayed: ${headers['idempotent-replayed']})`,
      isReplay,
    );
  }
  for (const create of creates.filter(({ outcome }) => outcome === 'unknown').slice(-SAMPLE)) {
    const { status, body } = await again(url, create);
    stage.expect(
      `a retry of ${create.key}, whose outcome was unknown, gives a pet (it gave ${status})`,
      status === 201,
    );
    if (status !== 201) continue;
    create.outcome = 'acknowledged';
    create.answer = body;
  }
}

function again(url: string, { key, body }: Create) {
  return ask(`${url}/v1/pets`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${API_KEY}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body,
  });
}
