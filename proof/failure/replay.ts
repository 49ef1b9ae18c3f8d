import { send, type StoredApiKey } from './client.ts';
import { type Create, wantedPetsOf } from './history.ts';
import type { Load } from './load.ts';
import type { ServiceProcess } from './service-process.ts';
import { type CreatedKey, keysCommand } from './turn-over-keys.ts';

type RequestContent = Pick<Create, 'idempotencyKey' | 'body' | 'content'>;
/** The expected answer. Without `replayed`, the answer may be replayed or not. */
type Expected = { readonly status: number; readonly replayed?: boolean };

/** About this many acknowledged requests are repeated, and at most this many requests of unknown outcome. */
const SAMPLE_SIZE = 25;

/**
 * Repeats requests with an Idempotency-Key after the scenario, and records the answers. An acknowledged request must be
 * answered with the same pet again. A request of unknown outcome must now be answered with a pet. The same key with
 * another body must be refused. If the load used API keys from the storage, a new request is repeated with the
 * successor of its API key, and must be answered with the same pet.
 *
 * @returns a text for each wrong status and each wrong `Idempotent-Replayed`. {@link checkHistory} checks the pets
 */
export async function repeatRequests(
  { url, databaseUrl }: ServiceProcess,
  { history, apiKeys }: Load,
): Promise<readonly string[]> {
  const wanted = wantedPetsOf(history).filter(({ attempts: [a] }) => a?.idempotencyKey && !a.apiKey);
  const acknowledgedPets = wanted.filter(({ outcome }) => outcome === 'acknowledged');
  const step = Math.max(1, Math.floor(acknowledgedPets.length / SAMPLE_SIZE));
  const unknownPets = wanted.filter(({ outcome }) => outcome === 'unknown').slice(-SAMPLE_SIZE);
  const failures: string[] = [];
  const repeatRequest = async (create: RequestContent, expected: Expected, apiKey?: StoredApiKey) => {
    const { idempotencyKey = '', body, content } = create;
    const headers = { 'idempotency-key': idempotencyKey };
    const { sentRequest, reply } = await send(url, '/v1/pets', { method: 'POST', headers, body }, apiKey);
    const isReplayed = reply?.headers['idempotent-replayed'] === 'true';
    const answerFields = reply?.status === 201 && { answer: reply.body, replayed: isReplayed };
    history.calls.push({ type: 'create', ...sentRequest, idempotencyKey, content, body, ...answerFields });
    if (reply?.status === expected.status && (expected.replayed ?? isReplayed) === isReplayed) return;
    failures.push(`a repeated request was answered with ${reply?.status} (replayed: ${isReplayed}): ${body}`);
  };
  for (const { attempts } of acknowledgedPets.filter((_, index) => index % step === 0)) {
    const [create] = attempts;
    if (create === undefined) continue;
    await repeatRequest(create, { status: 201, replayed: true });
    await repeatRequest(withOtherName(create), { status: 422 });
  }
  for (const { attempts } of unknownPets) if (attempts[0]) await repeatRequest(attempts[0], { status: 201 });
  if (apiKeys.length === 0) return failures;
  const runKeysCommand = async (...args: readonly string[]) => {
    const { stdout } = await keysCommand(databaseUrl)(...args, '--expires', 'never', '--json');
    return JSON.parse(stdout) as CreatedKey;
  };
  const { id, key } = await runKeysCommand('create', '--label', 'rotated');
  const content = `"name":"${id}","categoryId":7,"status":"sold"}`;
  const request = { idempotencyKey: id, body: `{${content}`, content };
  await repeatRequest(request, { status: 201, replayed: false }, { id, token: key });
  const successor = await runKeysCommand('rotate', id);
  await repeatRequest(request, { status: 201, replayed: true }, { id, token: successor.key });
  return failures;
}

/** A request with the same Idempotency-Key for a pet with another name. */
function withOtherName(create: RequestContent): RequestContent {
  const rename = (json: string) => json.replace('"name":"', '"name":"not ');
  return { ...create, body: rename(create.body), content: rename(create.content) };
}
