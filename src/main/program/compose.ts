import 'reflect-metadata';
import { container, type DependencyContainer, type InjectionToken, instanceCachingFactory } from 'tsyringe';

/**
 * The composition root: which use case gets which adapter, for the service, for every command and for the tests. What is
 * registered last counts: register what was opened, and a part of your own in place of one made here, after this call.
 *
 * @param subjects `registerPets`, `registerKeys`, `registerMaintenance`, `registerHttp`
 * @returns a container that shares nothing with another one
 */
export function compose(...subjects: readonly ((root: DependencyContainer) => void)[]): DependencyContainer {
  const root = container.createChildContainer();
  for (const register of subjects) register(root);
  return root;
}

/** Registers a part that is made when it is first resolved, and kept. */
export function provide<T>(
  root: DependencyContainer,
  token: InjectionToken<T>,
  make: (root: DependencyContainer) => T,
): void {
  root.register(token, { useFactory: instanceCachingFactory(make) });
}
