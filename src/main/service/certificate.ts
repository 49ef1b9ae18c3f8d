import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { getSystemErrorMessage } from 'node:util';
import type { Logger } from 'pino';
import type { TlsPair } from '../../adapters/http/server/create-limited-server.ts';
import { StartError, type TlsFiles } from '../config/config.ts';

type Certificate = TlsPair & { readonly validTo: Date };

const EXPIRY_WARNING_MS = 14 * 24 * 3_600_000;

/**
 * Logs the warning of {@link expiryWarning}.
 *
 * @throws {StartError} when a server cannot use the certificate and its key. The error quotes no contents, because
 *   they may be secret
 */
export async function readCertificate(
  { certFile, keyFile }: TlsFiles,
  log: Pick<Logger, 'warn'>,
): Promise<Certificate> {
  const [cert, key] = [await readPem('TLS_CERT', certFile), await readPem('TLS_KEY', keyFile)];
  const certificate = tryUse('TLS_CERT has no certificate in PEM form', () => new X509Certificate(cert));
  // `createSecureContext` finds, for example, a broken chain or a key that is too short.
  const { createSecureContext } = await import('node:tls');
  tryUse('TLS_CERT cannot be used', () => createSecureContext({ cert }));
  if (key.includes('ENCRYPTED')) {
    throw new StartError(['TLS_KEY is encrypted; the service needs the key without a passphrase']);
  }
  tryUse('TLS_KEY is not the private key of TLS_CERT in PEM form', () => createSecureContext({ cert, key }));
  const warning = expiryWarning(certificate, new Date());
  if (warning !== undefined) log.warn(warning);
  return { cert, key, validTo: certificate.validToDate };
}

/** @returns a warning if the certificate is not valid now, or ends within 14 days */
export function expiryWarning(
  { validFromDate: from, validToDate: to }: Pick<X509Certificate, 'validFromDate' | 'validToDate'>,
  now: Date,
): string | undefined {
  if (to < now) return `the certificate in TLS_CERT expired on ${to.toISOString()}`;
  if (from > now) return `the certificate in TLS_CERT is not valid before ${from.toISOString()}`;
  if (to.getTime() - now.getTime() > EXPIRY_WARNING_MS) return undefined;
  return `the certificate in TLS_CERT expires on ${to.toISOString()}`;
}

async function readPem(variable: 'TLS_CERT' | 'TLS_KEY', file: string): Promise<string> {
  if (file.includes('-----BEGIN')) {
    throw new StartError([`${variable} must be the path of a PEM file, not its contents`]);
  }
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.errno === undefined) throw error;
    throw new StartError([`${variable} cannot be read: ${getSystemErrorMessage(error.errno)}: ${file}`]);
  });
}

/** @throws {StartError} with OpenSSL's reason, which quotes no contents */
function tryUse<T>(problem: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    const reason = 'reason' in error && typeof error.reason === 'string' ? error.reason : String(error.code);
    throw new StartError([`${problem}: ${reason}`]);
  }
}

/**
 * Returns a function that reads the files again, for new connections. If the pair is refused, the old pair stays in
 * use. Calls run one after another, so that the last call decides which pair is used.
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
  let lastRenewal: Promise<unknown> = Promise.resolve();
  return () => void (lastRenewal = lastRenewal.then(renew));
}
