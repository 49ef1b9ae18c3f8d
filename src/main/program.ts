import { isSea } from 'node:sea';

/** How a user calls this program, for hints. A single executable is named as it was called. */
export const PROGRAM = isSea() ? process.argv0 : 'npx petstore';
