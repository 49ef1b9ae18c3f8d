import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { afterDeath } from './after-death.ts';

// A program for `fork`, because testcontainers changes what signals do to its process. It runs mongod with the given
// arguments in a container, tells the address or what went wrong, and removes the container after a disconnect.

/** Inside the container. */
const PORT = 27017;

const name = `petstore-tests-${randomUUID()}`;
const parentIsGone = once(process, 'disconnect');

async function start() {
  await getContainerRuntimeClient().catch((cause: unknown) => {
    throw new Error('no Docker engine answers', { cause });
  });
  // Testcontainers' reaper would do this too, unless it is disabled.
  afterDeath(['docker', 'rm', '--force', '--volumes', name]);
  return (
    new GenericContainer(process.env['MONGO_IMAGE'] || 'mongo:8')
      .withName(name)
      // The official image prepends `mongod` to arguments that begin with a dash.
      .withCommand([...process.argv.slice(2), '--wiredTigerCacheSizeGB', '0.25', '--oplogSize', '128'])
      .withTmpFs({ '/data/db': 'rw' })
      .withExposedPorts(PORT)
      // Not @testcontainers/mongodb: its health check needs the mongo shell inside the image.
      .withWaitStrategy(Wait.forLogMessage('Waiting for connections'))
      .withStartupTimeout(120_000)
      .start()
  );
}

try {
  const container = await start();
  process.send?.({ host: container.getHost(), port: container.getMappedPort(PORT) });
  await parentIsGone;
  await container.stop({ timeout: 0, remove: true, removeVolumes: true });
  process.exit();
} catch (error) {
  process.send?.(error instanceof Error ? error.message : String(error), () => process.exit());
}
