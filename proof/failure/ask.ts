import { type Agent, type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';

export type Reply = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

export type RequestOptions = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly agent?: Agent;
};

/** Without an answer, a request fails after this time. The service answers sooner, also when its storage is away. */
const TIMEOUT_MS = 20_000;

/** Sends one request, without retries. Rejects if there is no complete answer. */
export function ask(url: string, options: RequestOptions = {}): Promise<Reply> {
  const { method = 'GET', headers = {}, body, agent } = options;
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https:') ? httpsRequest : httpRequest;
    const request = send(url, { method, headers, ...(agent && { agent }) }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
      );
    });
    const timer = setTimeout(() => request.destroy(new Error('NO_ANSWER')), TIMEOUT_MS);
    request.on('error', reject);
    request.on('close', () => clearTimeout(timer));
    request.end(body);
  });
}
