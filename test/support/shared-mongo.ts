import { sharedMongo } from './mongodb.ts';

/** The server that all test files share, or `undefined` if there is none: see `mongodb-global-setup.ts`. */
export const mongo = await sharedMongo();

/** The end of the titles of the tests that need MongoDB. */
export const leftOut = mongo === undefined ? ' (left out: no MongoDB)' : '';
