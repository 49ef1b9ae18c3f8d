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
  const failures: string[] = [];
  for (const { key, body, answer } of acknowledged.filter((_, index) => index % every === 0)) {
    const reply = await again(url, { key, body });
    const replayed = String(reply.headers['idempotent-replayed']);
    if (reply.status === 201 && replayed === 'true' && reply.body === answer) continue;
    failures.push(
      `${answer} was acknowledged, and asked for again: ${reply.status} ${reply.body}, replayed: ${replayed}`,
    );
  }
  for (const create of creates.filter(({ outcome }) => outcome === 'unknown').slice(-SAMPLE)) {
    const { status, body } = await again(url, create);
    if (status !== 201) failures.push(`${create.key} was unknown, and asked for again: ${status} ${body}`);
    // A failure that is counted above is not counted a second time as a loss.
    create.outcome = status === 201 ? 'acknowledged' : 'unknown';
    create.answer = body;
  }
  if (failures.length > 0) stage.broken.push(`wrong replays: ${failures.length}, such as ${failures[0]}`);
}

function again(url: string, { key, body }: Pick<Create, 'key' | 'body'>) {
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
