import { ask } from './ask.ts';
import type { Create } from './history.ts';
import { AUTHORIZATION } from './service-process.ts';
import type { Stage } from './stage.ts';

/** The number of acknowledged requests to repeat, and of unknown ones. */
const SAMPLE = 25;

/**
 * Repeats requests after the scenario. An acknowledged one must get the same bytes. One of unknown outcome must get a
 * pet, and counts as acknowledged from then on.
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
      `${answer} was acknowledged, and then repeated: ${reply.status} ${reply.body}, replayed: ${replayed}`,
    );
  }
  for (const create of creates.filter(({ outcome }) => outcome === 'unknown').slice(-SAMPLE)) {
    const { status, body } = await again(url, create);
    if (status !== 201) failures.push(`${create.key} was unknown, and then repeated: ${status} ${body}`);
    // A failure counts once, as a wrong replay and not as a lost pet.
    create.outcome = status === 201 ? 'acknowledged' : 'unknown';
    create.answer = body;
  }
  if (failures.length > 0) stage.broken.push(`wrong replays: ${failures.length}, such as ${failures[0]}`);
}

function again(url: string, { key, body }: Pick<Create, 'key' | 'body'>) {
  return ask(`${url}/v1/pets`, {
    method: 'POST',
    headers: {
      ...AUTHORIZATION,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body,
  });
}
