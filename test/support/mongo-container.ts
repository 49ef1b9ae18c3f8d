import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { runAtProcessEnd } from './after-death.ts';

// `mongodb.ts` starts this program with `fork`. The program has a process of its own, because testcontainers changes
// how a process reacts to signals. The program runs mongod in a container, and passes its own arguments to mongod. The
// program sends its parent process the address of mongod or an error message. The program removes the container when
// the parent process disconnects or ends.

/** The port of mongod inside the container. */
const PORT = 27017;

const containerName = `petstore-tests-${randomUUID()}`;
const parentDisconnect = once(process, 'disconnect');

async function start() {
  await getContainerRuntimeClient().catch((cause: unknown) => {
    throw new Error('no Docker engine answers', { cause });
  });
  // The reaper of testcontainers also removes containers, but it may be disabled.
  runAtProcessEnd(['docker', 'rm', '--force', '--volumes', containerName]);
  return (
    new GenericContainer(process.env['MONGO_IMAGE'] || 'mongo:8')
      .withName(containerName)
      // The official image prepends `mongod` to arguments that begin with a dash.
      .withCommand([...process.argv.slice(2), '--wiredTigerCacheSizeGB', '0.25', '--oplogSize', '128'])
      .withTmpFs({ '/data/db': 'rw' })
      .withExposedPorts(PORT)
      // `@testcontainers/mongodb` is not used, because its health check needs the mongo shell inside the image.
      .withWaitStrategy(Wait.forLogMessage('Waiting for connections'))
      .withStartupTimeout(120_000)
      .start()
  );
}

try {
  const container = await start();
  process.send?.({ host: container.getHost(), port: container.getMappedPort(PORT) });
  await parentDisconnect;
  await container.stop({ timeout: 0, remove: true, removeVolumes: true });
  process.exit();
} catch (error) {
  process.send?.(error instanceof Error ? error.message : String(error), () => process.exit());
}
