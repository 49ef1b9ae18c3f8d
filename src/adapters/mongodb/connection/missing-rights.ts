import { type Db, MongoServerError } from 'mongodb';

const NEEDED_ACTIONS = Object.entries({
  pets: ['find', 'insert', 'listIndexes'],
  api_keys: ['find', 'update'],
  rate_limits: ['find', 'insert', 'update', 'listIndexes'],
  schema: ['find'],
});

/** See https://www.mongodb.com/docs/manual/reference/resource-document/ */
type Privilege = {
  readonly resource: { readonly db?: string; readonly collection?: string; readonly anyResource?: boolean };
  readonly actions: readonly string[];
};

type AuthInfo = {
  readonly authenticatedUsers?: readonly unknown[];
  readonly authenticatedUserPrivileges?: readonly Privilege[];
};

/**
 * @returns one line with the rights that are certainly missing; `undefined` without a login, or if MongoDB does not
 *   list the rights
 */
export async function missingRightsProblem(db: Db): Promise<string | undefined> {
  const privileges = await privilegesOf(db);
  const missing = NEEDED_ACTIONS.flatMap(([collection, needed]) => {
    // In a privilege, an empty name means every name.
    const covers = ({ resource: { db: database, collection: name, anyResource } }: Privilege) =>
      anyResource === true ||
      ((database === '' || database === db.databaseName) && (name === '' || name === collection));
    const granted = new Set(privileges?.filter(covers).flatMap(({ actions }) => actions) ?? ['anyAction']);
    const missingActions = granted.has('anyAction') ? [] : needed.filter((action) => !granted.has(action));
    return missingActions.map((action) => `${action} on "${collection}"`);
  });
  return missing.length === 0
    ? undefined
    : `the account of the database "${db.databaseName}" may not ${missing.join(', ')}; grant it these actions`;
}

async function privilegesOf(db: Db): Promise<readonly Privilege[] | undefined> {
  try {
    const { authInfo = {} } = await db.command({ connectionStatus: 1, showPrivileges: true });
    const { authenticatedUsers = [], authenticatedUserPrivileges } = authInfo as AuthInfo;
    return authenticatedUsers.length > 0 ? authenticatedUserPrivileges : undefined;
  } catch (error) {
    if (!(error instanceof MongoServerError)) throw error;
    return undefined;
  }
}
