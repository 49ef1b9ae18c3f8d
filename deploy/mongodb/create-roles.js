/**
 * Makes three roles with nothing but the privileges that the service, its migration and imports need, and a user with
 * each. A script for mongosh, for a user who may make roles and users:
 *
 *   SERVICE_PASSWORD=… MIGRATOR_PASSWORD=… mongosh 'mongodb://root@HOST/?replicaSet=…' create-roles.js
 *
 * `PETSTORE_DATABASE` names the database (default: petstore). Roles and users are in that database, so that its
 * connection strings need no `authSource`: mongodb://petstore:PASSWORD@HOST/petstore. The script can be repeated: it
 * then sets the privileges and the passwords again. Without `IMPORTER_PASSWORD`, it makes no user for imports.
 */
const {
  SERVICE_PASSWORD,
  MIGRATOR_PASSWORD,
  IMPORTER_PASSWORD,
  PETSTORE_DATABASE = 'petstore',
} = process.env;
if (!SERVICE_PASSWORD || !MIGRATOR_PASSWORD) throw new Error('set SERVICE_PASSWORD and MIGRATOR_PASSWORD');

/** The actions of a role on each collection, and on the database, which has the empty name. */
const ROLES = {
  // For `serve`, `keys`, `export`, `skip-ids`, and `copy` from the database. It deletes nothing, and changes no pet.
  petstoreService: {
    // To see what would lose pets: a capped collection, or an index of somebody else.
    '': ['listCollections'],
    pets: ['find', 'insert', 'listIndexes'],
    api_keys: ['find', 'insert', 'update', 'listIndexes'],
    rate_limits: ['find', 'insert', 'update', 'listIndexes'],
    schema: ['find'],
  },
  // For `import`, and `copy` to the database.
  petstoreImporter: {
    // `remove`: a pet takes the place of a document that reserves its id.
    pets: ['find', 'insert', 'remove'],
    api_keys: ['find', 'insert', 'update'],
    schema: ['find'],
  },
  // For `migrate`.
  petstoreMigrator: {
    '': ['listCollections'],
    pets: ['find', 'createCollection', 'collMod', 'listIndexes', 'createIndex'],
    api_keys: ['find', 'createCollection', 'collMod', 'listIndexes'],
    rate_limits: ['find', 'createCollection', 'collMod', 'listIndexes', 'createIndex'],
    schema: ['find', 'insert', 'update'],
  },
};

const USERS = [
  { user: 'petstore', pwd: SERVICE_PASSWORD, role: 'petstoreService' },
  { user: 'petstore-migrator', pwd: MIGRATOR_PASSWORD, role: 'petstoreMigrator' },
  { user: 'petstore-importer', pwd: IMPORTER_PASSWORD, role: 'petstoreImporter' },
].filter(({ pwd }) => pwd);

const database = db.getSiblingDB(PETSTORE_DATABASE);

for (const [role, actionsByCollection] of Object.entries(ROLES)) {
  const privileges = Object.entries(actionsByCollection).map(([collection, actions]) => {
    return { resource: { db: PETSTORE_DATABASE, collection }, actions };
  });
  const exists = database.runCommand({ rolesInfo: role }).roles.length > 0;
  database.runCommand({ [exists ? 'updateRole' : 'createRole']: role, privileges, roles: [] });
}

for (const { user, pwd, role } of USERS) {
  const exists = database.runCommand({ usersInfo: user }).users.length > 0;
  database.runCommand({ [exists ? 'updateUser' : 'createUser']: user, pwd, roles: [role] });
  print(`the user ${user} of the database ${PETSTORE_DATABASE} has the role ${role}`);
}
