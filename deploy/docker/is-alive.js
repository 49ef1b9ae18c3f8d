/** The health check of the image. Exit code 0: the service in this container answers. */
import http from 'node:http';
import https from 'node:https';

const { PORT, TLS_CERT } = process.env;

// The certificate is for the name that clients use, and this is loopback.
const options = { port: PORT || 3000, path: '/livez', rejectUnauthorized: false };
(TLS_CERT ? https : http)
  .get(options, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))
  .on('error', () => process.exit(1));
