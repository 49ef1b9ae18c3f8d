import type { RequestListener } from 'node:http';
import type { CreatePet } from '../../application/pets/create-pet.ts';
import type { GetPet } from '../../application/pets/get-pet.ts';
import type { ListPets } from '../../application/pets/list-pets.ts';
import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { StorageProbe } from '../../application/ports/storage-health.ts';
import type { TokenVerifier } from '../../application/ports/token-verifier.ts';
import type { RateLimit } from '../../domain/api-key.ts';
import { koaApp, listener } from './koa-app.ts';
import { authenticate } from './middleware/authenticate.ts';
import { allowOrigins, answerPreflight } from './middleware/cors.ts';
import { announceDeprecation } from './middleware/deprecation.ts';
import { limitRate } from './middleware/limit-rate.ts';
import { baseUrl, checkForwarded, checkLength, checkTarget } from './middleware/request-target.ts';
import type { RequestLog } from './wire/request-log.ts';
import { dispatch } from './routes/dispatch.ts';
import { docsRoutes } from './routes/docs.ts';
import { petsRoutes } from './routes/pets.ts';
import { systemRoutes } from './routes/system.ts';

/** What the HTTP API depends on. */
export type AppDependencies = {
  readonly listPets: Pick<ListPets, 'execute'>;
  readonly createPet: Pick<CreatePet, 'execute'>;
  readonly getPet: Pick<GetPet, 'execute'>;
  readonly tokens: TokenVerifier;
  readonly limiter: RateLimiter;
  /** The limit of an API key without its own. `undefined`: no limit. */
  readonly rateLimit: RateLimit | undefined;
  /** Answers `/readyz`. */
  readonly probe: StorageProbe;
  /** Whether the service is shutting down: `/readyz` then answers 503. */
  readonly isDraining: () => boolean;
  /** The clock that decides whether getPet has reached its sunset. */
  readonly now: () => Date;
  readonly log: RequestLog;
  /** The base of absolute URLs, without a trailing slash. `undefined`: taken from the request. */
  readonly publicUrl: string | undefined;
  /** Whether a proxy in front of the service sets `X-Forwarded-Proto` and `X-Forwarded-Host`. */
  readonly trustProxy: boolean;
  /** The origins whose pages may use the API, each exactly as a browser sends it. Empty: CORS is off. */
  readonly corsOrigins: readonly string[];
};

/** The HTTP API. The order of the middleware is the order of the checks. */
export function createApp(dependencies: AppDependencies): RequestListener {
  const { tokens, limiter, rateLimit, log, publicUrl, trustProxy, corsOrigins } = dependencies;
  const base = baseUrl(publicUrl, trustProxy);
  const authenticated = authenticate(tokens);
  const app = koaApp(log);
  if (corsOrigins.length > 0) app.use(allowOrigins(corsOrigins));
  app.use(checkTarget);
  if (trustProxy && publicUrl === undefined) app.use(checkForwarded);
  app.use(announceDeprecation(base));
  app.use(checkLength);
  if (corsOrigins.length > 0) app.use(answerPreflight(corsOrigins));
  app.use(authenticated);
  app.use(limitRate(limiter, rateLimit, log));
  const urls = { baseUrl: base, basePath: pathOf(publicUrl) };
  const pets = petsRoutes({ ...dependencies, ...urls, authenticate: authenticated });
  app.use(dispatch(pets, systemRoutes({ ...dependencies, ...urls }), docsRoutes(urls)));
  return listener(app, log);
}

function pathOf(publicUrl = ''): string {
  return URL.parse(publicUrl)?.pathname.replace(/\/$/, '') ?? '';
}
