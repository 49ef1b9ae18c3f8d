/**
 * Makes a replica set of new members, and its first user `root`. A script for mongosh, on the first member itself:
 *
 *   REPLICA_SET=petstore MEMBERS=mongo-1:27017,mongo-2:27017,mongo-3:27017 ROOT_PASSWORD=… \
 *     mongosh 'mongodb://127.0.0.1:27017/?directConnection=true' initiate-replica-set.js
 *
 * mongod allows both without a login, because it still has no user and the connection comes from its own machine. The
 * script can be repeated: it leaves a replica set and a user alone that exist.
 */
const { REPLICA_SET, MEMBERS, ROOT_PASSWORD } = process.env;
if (!REPLICA_SET || !MEMBERS || !ROOT_PASSWORD) throw new Error('set REPLICA_SET, MEMBERS and ROOT_PASSWORD');

const TIMEOUT_MS = 120_000;
const RETRY_INTERVAL_MS = 500;

const NODE_NOT_FOUND = 74;
const UNAUTHORIZED = 13;

const admin = db.getSiblingDB('admin');

function waitFor(what, ask) {
  const deadline = Date.now() + TIMEOUT_MS;
  while (!ask()) {
    if (Date.now() > deadline) throw new Error(`${what}: not within ${TIMEOUT_MS} ms`);
    sleep(RETRY_INTERVAL_MS);
  }
}

/** Whether the replica set exists now. */
function initiate() {
  if (admin.runCommand({ hello: 1 }).setName === REPLICA_SET) return true;
  const members = MEMBERS.split(',').map((host, _id) => ({ _id, host }));
  try {
    admin.runCommand({ replSetInitiate: { _id: REPLICA_SET, members } });
    return true;
  } catch (error) {
    // Another member has not started yet.
    if (error.code !== NODE_NOT_FOUND) throw error;
    return false;
  }
}

function createRoot() {
  try {
    admin.runCommand({ createUser: 'root', pwd: ROOT_PASSWORD, roles: ['root'] });
    print('created the user root');
  } catch (error) {
    // mongod has a user already, and wants a login.
    if (error.code !== UNAUTHORIZED) throw error;
  }
}

waitFor('the members answer', initiate);
waitFor('a primary', () => admin.runCommand({ hello: 1 }).primary !== undefined);
// The first primary is this member. Later, another one may be the primary, and root exists.
if (admin.runCommand({ hello: 1 }).isWritablePrimary) createRoot();
print(`the replica set ${REPLICA_SET} has a primary`);
