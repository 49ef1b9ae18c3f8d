import { send } from './client.ts';
import { type Create, type History, wishesOf } from './history.ts';

/** The number of acknowledged requests to repeat, and of unknown ones. */
const SAMPLE = 25;

/**
 * Repeats requests with an Idempotency-Key after the scenario, and records the answers: one of unknown outcome must get
 * a pet now, and one that was acknowledged must get the same pet. Another body with the same key must be refused.
 *
 * @returns what went wrong, beside what {@link checkHistory} will find
 */
export async function replay(url: string, history: History): Promise<readonly string[]> {
  const wishes = wishesOf(history).filter(({ attempts: [first] }) => first?.key && !first.apiKey);
  const acknowledged = wishes.filter(({ outcome }) => outcome === 'acknowledged');
  const every = Math.max(1, Math.floor(acknowledged.length / SAMPLE));
  const unknown = wishes.filter(({ outcome }) => outcome === 'unknown').slice(-SAMPLE);
  const failures: string[] = [];
  const again = async (create: Create, status: number, replayed?: boolean) => {
    const { key = '', body, content } = create;
    const headers = { 'idempotency-key': key };
    const { sent, reply } = await send(url, '/v1/pets', { method: 'POST', headers, body });
    const isReplayed = reply?.headers['idempotent-replayed'] === 'true';
    const answered = reply?.status === 201 && { answer: reply.body, replayed: isReplayed };
    history.calls.push({ type: 'create', ...sent, key, content, body, ...answered });
    if (reply?.status === status && (replayed ?? isReplayed) === isReplayed) return;
    failures.push(`a repeated request got ${reply?.status} (replayed: ${isReplayed}): ${body}`);
  };
  for (const { attempts } of acknowledged.filter((_, index) => index % every === 0)) {
    const [create] = attempts;
    if (create === undefined) continue;
    await again(create, 201, true);
    await again(renamed(create), 422);
  }
  for (const { attempts } of unknown) if (attempts[0]) await again(attempts[0], 201);
  return failures;
}

/** Another pet under the same Idempotency-Key. */
function renamed(create: Create): Create {
  const rename = (json: string) => json.replace('"name":"', '"name":"not ');
  return { ...create, body: rename(create.body), content: rename(create.content) };
}
