import { sharedMongo } from './mongodb.ts';

/** The server that all test files share, or `undefined` if there is none: see `mongodb-global-setup.ts`. */
export const mongo = await sharedMongo();

/** Every test that needs MongoDB has this text at the end of its title. */
export const noMongo = mongo === undefined ? ' (left out: no MongoDB)' : '';
