import type { TestProject } from 'vitest/node';
import { NoMongo, start } from './mongodb.ts';

/** Starts the MongoDB server that all test files share, and provides it to `sharedMongo()`. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // As `npm run test:quick` asks for. The tests that need MongoDB say that they are left out.
  if (process.env['TEST_MONGODB'] === 'none') {
    project.provide('mongodb', undefined);
    return async () => {};
  }
  try {
    const { stop, passedOver, ...mongo } = await start();
    for (const reason of passedOver) console.log(`MongoDB for the tests: not a ${reason}`);
    console.log(`MongoDB for the tests: ${mongo.kind}`);
    project.provide('mongodb', mongo);
    return stop;
  } catch (error) {
    // In CI, and if the environment names a server, missing tests are a failure.
    if (!(error instanceof NoMongo) || process.env['CI'] || process.env['TEST_MONGODB']) throw error;
    project.provide('mongodb', undefined);
    return async () => warn(error);
  }
}

function warn(error: NoMongo): void {
  const line = '!'.repeat(110);
  console.warn(`\n${line}\nNO MONGODB: every test that needs one was LEFT OUT.\n${error.message}\n${line}\n`);
}
