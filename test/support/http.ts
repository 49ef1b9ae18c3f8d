import { once } from 'node:events';
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as TlsAgent, request as httpsRequest } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { type HttpServer, listen } from '../../src/adapters/http/server/listen.ts';
import type { ServerLimits } from '../../src/adapters/http/server/limits.ts';
import { InMemoryApiKeyRepository } from '../../src/adapters/memory/api-key-repository.ts';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import { InMemoryTokenVerifier, toKnownKey } from '../../src/adapters/tokens/in-memory-token-verifier.ts';
import type { AppDependencies } from '../../src/adapters/http/app.ts';
import type { PetRepository } from '../../src/application/ports/pet-repository.ts';
import type { Caller } from '../../src/application/ports/token-verifier.ts';
import { composeService } from '../../src/main/composition/compose-service.ts';
import type { Answer } from './answer.ts';
import { expectConforms } from './conformance.ts';
import { RawConnection } from './raw-connection.ts';
import { RecordingLog } from './recording-log.ts';
import { PAIR, ROOT_CERT, SPEAKS_TLS } from './tls/pem-files.ts';

/** The parts and settings of a service that replace the defaults of {@link startApi}. */
type ApiOptions = Partial<Omit<AppDependencies, 'listPets' | 'createPet' | 'getPet' | 'log'>> & {
  readonly pets?: PetRepository;
  readonly limits?: Partial<ServerLimits>;
  readonly speaksTls?: boolean;
};

/** A header with the value `undefined` is not sent, even if a request has it by default. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

type Body = string | Uint8Array | readonly Uint8Array[];

type Request = {
  readonly headers?: Headers;
  /** A list is sent with `Transfer-Encoding: chunked`. A string or an array of bytes is sent with a Content-Length. */
  readonly body?: Body;
};

export const KEY = 'a-key-of-the-tests';
const KEY_LABEL = 'tests';

/** A token verifier that knows only {@link KEY}. `fields` are properties of the caller that uses this key. */
export function keyWith(fields: Partial<Caller>): InMemoryTokenVerifier {
  return new InMemoryTokenVerifier([toKnownKey({ label: KEY_LABEL, token: KEY, ...fields })]);
}

/** A running service on a free loopback port, by default with in-memory adapters. `await using` closes the service. */
export class Api implements AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly key = KEY;
  readonly log: RecordingLog;
  readonly server: HttpServer;
  readonly #agent: Agent;
  readonly #connections: RawConnection[] = [];
  readonly #speaksTls: boolean;

  constructor(server: HttpServer, log: RecordingLog, speaksTls: boolean) {
    this.server = server;
    this.port = server.port;
    this.url = `${speaksTls ? 'https' : 'http'}://127.0.0.1:${server.port}`;
    this.#speaksTls = speaksTls;
    this.#agent = speaksTls
      ? new TlsAgent({ keepAlive: true, ca: ROOT_CERT })
      : new Agent({ keepAlive: true });
    this.log = log;
  }

  /** Sends a request with {@link KEY}, and checks the answer against the OpenAPI document. */
  async request(method: string, path: string, { headers = {}, body }: Request = {}): Promise<Answer> {
    const requestHeaders = { authorization: `Bearer ${this.key}`, ...headers };
    const sentHeaders = Object.entries(requestHeaders).filter(([, value]) => value !== undefined);
    const request = (this.#speaksTls ? httpsRequest : httpRequest)({
      host: '127.0.0.1',
      port: this.port,
      method,
      path,
      headers: Object.fromEntries(sentHeaders) as Record<string, string>,
      agent: this.#agent,
      // With TLS, the certificate must have this name. By default, it would need the name in the Host header.
      servername: 'localhost',
    });
    // If an error comes before the answer, `once` rejects below. An error after the answer does not matter.
    request.on('error', () => {});
    if (Array.isArray(body)) for (const chunk of body) request.write(chunk);
    request.end(Array.isArray(body) ? undefined : body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const { statusCode: status = 0, rawHeaders } = response;
    const text = (await buffer(response)).toString();
    const answer = { status, headers: response.headers, rawHeaders, body: text };
    expectConforms({ method, path, ...answer });
    return answer;
  }

  get(path: string, headers: Headers = {}): Promise<Answer> {
    return this.request('GET', path, { headers });
  }

  /** Sends a JSON body to createPet. */
  post(body: Body, headers: Headers = {}): Promise<Answer> {
    return this.request('POST', '/v1/pets', {
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
  }

  /** Opens a connection, and sends these bytes on it. */
  async connect(bytes: string | Uint8Array = ''): Promise<RawConnection> {
    const connection = await RawConnection.open(this.port, { tls: this.#speaksTls });
    this.#connections.push(connection);
    if (bytes.length > 0) await connection.send(bytes);
    return connection;
  }

  /** Sends the chunks on a new connection. Returns all answers when the server has closed the connection. */
  async raw(...chunks: readonly (string | Uint8Array)[]): Promise<readonly Answer[]> {
    const connection = await this.connect();
    for (const chunk of chunks) await connection.send(chunk);
    const answers: Answer[] = [];
    for (;;) {
      const answer = await connection.next();
      if (answer === undefined) return answers;
      answers.push(answer);
    }
  }

  /** Stops listening, answers the requests in progress, and closes the connections: see `HttpServer`. */
  drain(timeoutMs: number, acceptForMs?: number): Promise<number> {
    return this.server.drain(timeoutMs, acceptForMs);
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    for (const connection of this.#connections) connection.close();
    await this.drain(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export async function startApi(options: ApiOptions = {}): Promise<Api> {
  const { pets = new InMemoryPetRepository(), limits = {}, speaksTls = SPEAKS_TLS, ...parts } = options;
  const { probe = { check: async () => ({ lastId: 0n }) }, limiter, ...settings } = parts;
  const log = new RecordingLog();
  const { app } = composeService({
    storage: { pets, keys: new InMemoryApiKeyRepository(), probe, ...(limiter && { limiter }) },
    knownKeys: [],
    tokens: keyWith({}),
    now: () => new Date('2026-12-24T12:00:00Z'),
    publicUrl: undefined,
    rateLimit: undefined,
    trustProxy: false,
    corsOrigins: [],
    isDraining: () => server.isDraining,
    log,
    ...settings,
  });
  const tls = speaksTls ? PAIR : undefined;
  const server: HttpServer = await listen(app, { host: '127.0.0.1', port: 0, log, limits, tls });
  return new Api(server, log, speaksTls);
}
