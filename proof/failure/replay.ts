import { send, type UsedKey } from './client.ts';
import { type Create, wishesOf } from './history.ts';
import type { Load } from './load.ts';
import type { ServiceProcess } from './service-process.ts';
import { keysCommand } from './turn-over-keys.ts';

type Asked = Pick<Create, 'key' | 'body' | 'content'>;

/** The number of acknowledged requests to repeat, and of unknown ones. */
const SAMPLE = 25;

/**
 * Repeats requests with an Idempotency-Key after the scenario, and records the answers: one of unknown outcome must get
 * a pet now, and one that was acknowledged must get the same pet. Another body with the same key must be refused. Where
 * API keys come and go, a request is repeated with the successor of its key, too: it is the same request.
 *
 * @returns what went wrong, beside what {@link checkHistory} will find
 */
export async function replay(
  { url, databaseUrl }: ServiceProcess,
  { history, keys }: Load,
): Promise<readonly string[]> {
  const wishes = wishesOf(history).filter(({ attempts: [first] }) => first?.key && !first.apiKey);
  const acknowledged = wishes.filter(({ outcome }) => outcome === 'acknowledged');
  const every = Math.max(1, Math.floor(acknowledged.length / SAMPLE));
  const unknown = wishes.filter(({ outcome }) => outcome === 'unknown').slice(-SAMPLE);
  const failures: string[] = [];
  const again = async (create: Asked, status: number, replayed?: boolean, used?: UsedKey) => {
    const { key = '', body, content } = create;
    const headers = { 'idempotency-key': key };
    const { sent, reply } = await send(url, '/v1/pets', { method: 'POST', headers, body }, used);
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
  if (keys.length === 0) return failures;
  const make = async (...args: readonly string[]) => {
    const { stdout } = await keysCommand(databaseUrl)(...args, '--expires', 'never', '--json');
    return JSON.parse(stdout) as { readonly id: string; readonly key: string };
  };
  const { id, key } = await make('create', '--label', 'rotated');
  const content = `"name":"${id}","categoryId":7,"status":"sold"}`;
  await again({ key: id, body: `{${content}`, content }, 201, false, { id, token: key });
  const successor = await make('rotate', id);
  await again({ key: id, body: `{${content}`, content }, 201, true, { id, token: successor.key });
  return failures;
}

/** Another pet under the same Idempotency-Key. */
function renamed(create: Asked): Asked {
  const rename = (json: string) => json.replace('"name":"', '"name":"not ');
  return { ...create, body: rename(create.body), content: rename(create.content) };
}
