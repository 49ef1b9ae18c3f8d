/**
 * Makes a replica set of new members, and its first user `root`. A script for mongosh, on the first member itself:
 *
 *   REPLICA_SET=petstore MEMBERS=mongo-1:27017,mongo-2:27017,mongo-3:27017 ROOT_PASSWORD=… \
 *     mongosh 'mongodb://127.0.0.1:27017/?directConnection=true' initiate-replica-set.js
 *
 * mongod allows this without a login, because it still has no user and the connection comes from its own machine. Only
 * a primary can make a user, so the other members join after that. The script can be repeated: it leaves alone what
 * exists.
 */
const { REPLICA_SET, MEMBERS, ROOT_PASSWORD } = process.env;
if (!REPLICA_SET || !MEMBERS || !ROOT_PASSWORD) throw new Error('set REPLICA_SET, MEMBERS and ROOT_PASSWORD');

const TIMEOUT_MS = 120_000;
const RETRY_INTERVAL_MS = 200;

const UNAUTHORIZED = 13;

const admin = db.getSiblingDB('admin');
const [first, ...others] = MEMBERS.split(',');
const hello = () => admin.runCommand({ hello: 1 });

/** Repeats `attempt` until it returns true. It may fail meanwhile: another member has not started, or still joins. */
function waitFor(what, attempt) {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    let problem = 'not yet';
    try {
      if (attempt()) return;
    } catch (error) {
      problem = error.message;
    }
    if (Date.now() > deadline) throw new Error(`${what}: not within ${TIMEOUT_MS} ms: ${problem}`);
    sleep(RETRY_INTERVAL_MS);
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

/** One member at a time: https://www.mongodb.com/docs/manual/reference/command/replSetReconfig/ */
function addMember(host) {
  const { config } = admin.runCommand({ replSetGetConfig: 1 });
  if (config.members.some((member) => member.host === host)) return true;
  const _id = Math.max(...config.members.map((member) => member._id)) + 1;
  const members = [...config.members, { _id, host }];
  admin.runCommand({ replSetReconfig: { ...config, version: config.version + 1, members } });
  print(`added ${host}`);
  return true;
}

if (hello().setName === undefined) {
  const members = [{ _id: 0, host: first }];
  // The others elect a new primary after 3 s instead of 10.
  const settings = { electionTimeoutMillis: 3_000 };
  admin.runCommand({ replSetInitiate: { _id: REPLICA_SET, members, settings } });
}
waitFor('a primary', () => {
  const { primary, me, isWritablePrimary } = hello();
  // A new primary takes a moment until it takes writes.
  return isWritablePrimary || (primary !== undefined && primary !== me);
});
if (hello().isWritablePrimary) createRoot();
admin.auth('root', ROOT_PASSWORD);
for (const host of others) waitFor(`${host} joins`, () => addMember(host));
print(`the replica set ${REPLICA_SET} has the members ${MEMBERS}`);
