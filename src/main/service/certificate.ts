import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { getSystemErrorMessage } from 'node:util';
import type { Logger } from 'pino';
import type { TlsPair } from '../../adapters/http/server/create-limited-server.ts';
import { StartError, type TlsFiles } from '../config/config.ts';

/** The certificate of the service, with its key. */
type Certificate = TlsPair & { readonly validTo: Date };

/** How long before its end a certificate counts as about to expire, in milliseconds: 14 days. */
const NEAR_END_MS = 14 * 24 * 3_600_000;

/**
 * Reads the certificate and its key, and checks that a server can use them. Warns of the time for which they are valid.
 *
 * @throws {StartError} when a file cannot be read or used. Has no contents, which may be a secret
 */
export async function readCertificate(
  { certFile, keyFile }: TlsFiles,
  log: Pick<Logger, 'warn'>,
): Promise<Certificate> {
  const [cert, key] = [await readPem('TLS_CERT', certFile), await readPem('TLS_KEY', keyFile)];
  const first = usable('TLS_CERT has no certificate in PEM form', () => new X509Certificate(cert));
  // Finds, for example, a broken chain and a key that is too short.
  const { createSecureContext } = await import('node:tls');
  usable('TLS_CERT cannot be used', () => createSecureContext({ cert }));
  if (key.includes('ENCRYPTED')) {
    throw new StartError(['TLS_KEY is encrypted; the service needs the key without a passphrase']);
  }
  usable('TLS_KEY is not the private key of TLS_CERT in PEM form', () => createSecureContext({ cert, key }));
  const warning = expiryWarning(first, new Date());
  if (warning !== undefined) log.warn(warning);
  return { cert, key, validTo: first.validToDate };
}

/** What is wrong with the time for which the certificate is valid, or soon will be. */
export function expiryWarning(
  { validFromDate: from, validToDate: to }: Pick<X509Certificate, 'validFromDate' | 'validToDate'>,
  now: Date,
): string | undefined {
  if (to < now) return `the certificate in TLS_CERT expired on ${to.toISOString()}`;
  if (from > now) return `the certificate in TLS_CERT is not valid before ${from.toISOString()}`;
  if (to.getTime() - now.getTime() > NEAR_END_MS) return undefined;
  return `the certificate in TLS_CERT expires on ${to.toISOString()}`;
}

/** @throws {StartError} */
async function readPem(variable: 'TLS_CERT' | 'TLS_KEY', file: string): Promise<string> {
  if (file.includes('-----BEGIN')) {
    throw new StartError([`${variable} must be the path of a PEM file, not its contents`]);
  }
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.errno === undefined) throw error;
    throw new StartError([`${variable} cannot be read: ${getSystemErrorMessage(error.errno)}: ${file}`]);
  });
}

/** @throws {StartError} with OpenSSL's reason, which is one of its own texts */
function usable<T>(problem: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    const reason = 'reason' in error && typeof error.reason === 'string' ? error.reason : String(error.code);
    throw new StartError([`${problem}: ${reason}`]);
  }
}

/**
 * A function that reads the certificate and its key again, for new connections. It logs a pair that cannot be used, and
 * the one from before stays in use. Calls follow each other, so that the last one decides.
 *
 * @param use gets each pair that can be used
 */
export function certificateRenewal(files: TlsFiles, use: (pair: TlsPair) => void, log: Logger): () => void {
  const renew = async () => {
    try {
      const { validTo, ...pair } = await readCertificate(files, log);
      use(pair);
      log.info({ validTo }, 'TLS_CERT and TLS_KEY were read again, for new connections');
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      const { problems } = error;
      log.error({ problems }, 'TLS_CERT and TLS_KEY were read again and refused; the old pair stays in use');
    }
  };
  let last: Promise<unknown> = Promise.resolve();
  return () => void (last = last.then(renew));
}
