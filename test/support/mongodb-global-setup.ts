import type { TestProject } from 'vitest/node';
import { NoMongo, start } from './mongodb.ts';

/** Starts the MongoDB server that all test files share, and provides it to `sharedMongo()`. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // `npm run test:quick` sets TEST_MONGODB to `none`, so that no server starts. The titles of the tests that need
  // MongoDB then contain "left out".
  if (process.env['TEST_MONGODB'] === 'none') {
    project.provide('mongodb', undefined);
    return async () => {};
  }
  try {
    const { stop, failureReasons, ...mongo } = await start();
    for (const reason of failureReasons) console.log(`MongoDB for the tests: could not start a ${reason}`);
    console.log(`MongoDB for the tests: ${mongo.kind}`);
    project.provide('mongodb', mongo);
    return stop;
  } catch (error) {
    // In CI, or if TEST_MONGODB names a kind of server, the tests must not be left out. The run therefore fails.
    if (!(error instanceof NoMongo) || process.env['CI'] || process.env['TEST_MONGODB']) throw error;
    project.provide('mongodb', undefined);
    return async () => warn(error);
  }
}

function warn(error: NoMongo): void {
  const line = '!'.repeat(110);
  console.warn(`\n${line}\nNO MONGODB: the tests that need it were LEFT OUT.\n${error.message}\n${line}\n`);
}
