import { pino } from 'pino';
import { readConfig } from '../../src/main/config/config.ts';
import { start } from '../../src/main/service/start.ts';
import { PEM_FILES } from '../../test/support/tls/pem-files.ts';
import { FUZZ_KEY, FUZZ_LIMITS } from './fuzz-limits.ts';

export type TargetMessage = { readonly port: number } | { readonly failure: string };

/** Runs the service that is fuzzed. Sends the port and the failures of the service to the parent process. */
async function main(databaseUrl: string, tls: boolean): Promise<void> {
  const send = (message: TargetMessage) => process.send?.(message);
  const log = pino(
    { level: 'warn', base: null },
    {
      write: (line: string) => {
        // Levels 50 and 60 are `error` and `fatal`. Audit lines and warnings about connections are no failures.
        if (/^\{"level":[56]0/.test(line) && !line.includes('"audit":')) send({ failure: line });
      },
    },
  );
  const config = readConfig({
    PORT: '0',
    DATABASE_URL: databaseUrl,
    API_KEYS: FUZZ_KEY,
    ...(tls && { TLS_CERT: PEM_FILES.cert, TLS_KEY: PEM_FILES.key }),
  });
  const service = await start(config, log, { limits: FUZZ_LIMITS });
  process.on('disconnect', () => void service.stop());
  send({ port: Number(new URL(service.url).port) });
}

const [databaseUrl = 'memory:', tls = 'plain'] = process.argv.slice(2);
await main(databaseUrl, tls === 'tls');
