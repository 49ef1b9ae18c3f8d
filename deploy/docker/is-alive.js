/**
 * The health check of the image. Exit code 0: the service in this container answers.
 *
 * The service is the first process of the container. Its variables are those of the container and of the file of --env,
 * which the command line of that process names. An argument replaces the number of the process.
 */
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { parseArgs, parseEnv } from 'node:util';

const commandLine = readFileSync(`/proc/${process.argv[2] ?? 1}/cmdline`, 'utf8');
// An init process, as of `docker run --init`, puts its own -- before the command.
const args = commandLine.split('\0').filter((word) => word !== '--');
const { env } = parseArgs({ args, options: { env: { type: 'string' } }, strict: false }).values;
const file = typeof env === 'string' ? parseEnv(readFileSync(env, 'utf8').replace(/^\uFEFF/, '')) : {};
// As in the service, an empty variable counts as unset.
const variable = (name) => process.env[name] || file[name];

const options = {
  host: variable('HOST') || '127.0.0.1',
  port: variable('PORT') || 3000,
  path: '/livez',
  // The certificate is for the name that clients use, and this is an address of the container.
  rejectUnauthorized: false,
};
(variable('TLS_CERT') ? https : http)
  .get(options, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))
  .on('error', () => process.exit(1));
