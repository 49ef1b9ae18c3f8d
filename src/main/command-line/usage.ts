import { describeVariables } from '../config/variables.ts';

/** The general help. */
export function usage(): string {
  return `petstore: a pet catalogue with a JSON HTTP API

Usage:
  npm start                        run the service
  npm run petstore -- keys         create, list, rotate and revoke API keys
  npm run petstore -- migrate      create or update the schema of a MongoDB database
  npm run petstore -- backup       copy a SQLite database to a file, also while a service uses it
  npm run petstore -- export       write all pets to a file
  npm run petstore -- import       read pets from a file
  npm run petstore -- copy         copy all pets and API keys to another storage
  npm run petstore -- --help       show this help; keys, backup, export, import and copy have their own

Exit codes: 0 done, 1 failed or refused, 2 wrong command line.

Variables and their defaults; an empty variable counts as not set:
${describeVariables()}
`;
}
