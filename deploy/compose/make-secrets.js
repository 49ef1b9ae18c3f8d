/**
 * Makes the secrets of compose.yaml, once: the key file of the replica set, the passwords, and the connection strings
 * with them. Each container gets the folder that it needs.
 *
 *   node make-secrets.js [FOLDER]
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The users of the images: `mongodb` in mongo, and the service's. */
const MONGODB_UID = 999;
const SERVICE_UID = 1000;

const HOSTS = 'mongo-1:27017,mongo-2:27017,mongo-3:27017';

const folder = process.argv[2] ?? '/secrets';
// Written last: what is there before it may be incomplete.
const last = join(folder, 'mongodb', 'env');

if (!existsSync(last)) makeSecrets();

function makeSecrets() {
  const [root, service, migrator, key] = Array.from({ length: 4 }, () =>
    randomBytes(24).toString('base64url'),
  );
  write('mongodb/keyfile', MONGODB_UID, randomBytes(756).toString('base64'));
  write('service/env', SERVICE_UID, `DATABASE_URL=${urlOf('petstore', service)}\nAPI_KEYS=compose=${key}\n`);
  write('migrator/env', SERVICE_UID, `DATABASE_URL=${urlOf('petstore-migrator', migrator)}\n`);
  const passwords = { ROOT_PASSWORD: root, SERVICE_PASSWORD: service, MIGRATOR_PASSWORD: migrator };
  write(
    'mongodb/env',
    MONGODB_UID,
    Object.entries(passwords)
      .map((entry) => `${entry.join('=')}\n`)
      .join(''),
  );
}

function urlOf(user, password) {
  return `mongodb://${user}:${password}@${HOSTS}/petstore?replicaSet=petstore`;
}

/** Readable by one user only. mongod refuses a key file that others can read. */
function write(name, uid, content) {
  const path = join(folder, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(`${path}.new`, content);
  chmodSync(`${path}.new`, 0o400);
  chownSync(`${path}.new`, uid, uid);
  renameSync(`${path}.new`, path);
}
