import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { VARIABLE_NAMES } from '../../src/main/config/variables.ts';
import { ask } from '../support/client.ts';
import { kubernetesSchemas, type FindProblems } from './kubernetes-schemas.ts';
import { findOnPath } from '../support/mongod-binary.ts';
import { ROOT } from '../support/process.ts';
import { startService } from '../support/service.ts';

type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels: object };
  // The form of `spec` depends on the kind of the manifest, and the schemas check it.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly spec: any;
};

const FOLDER = join(ROOT, 'deploy/kubernetes');
const OVERLAYS = ['development', 'production'] as const;

/** How long the service may need to close its storage after SHUTDOWN_TIMEOUT: `CLOSE_MS` in serve.ts. */
const CLOSE_SECONDS = 3;

const run = promisify(execFile);
const kubectl = await findOnPath('kubectl');
const kustomize = await findOnPath('kustomize');
const build = kubectl === undefined ? kustomize && [kustomize, 'build'] : [kubectl, 'kustomize'];

describe.skipIf(build === undefined)(
  `the Kubernetes manifests${build === undefined ? ' (left out: no kubectl and no kustomize on PATH: install one of them)' : ''}`,
  () => {
    const overlays = new Map<string, readonly Manifest[]>();
    let problemsOf: FindProblems;
    let examples: readonly Manifest[];

    beforeAll(async () => {
      problemsOf = await kubernetesSchemas();
      examples = parse(await readFile(join(FOLDER, 'overlays/production/secrets.example.yaml'), 'utf8'));
      for (const name of OVERLAYS) {
        const [command = '', ...args] = build ?? [];
        const { stdout } = await run(command, [...args, join(FOLDER, 'overlays', name)]);
        overlays.set(name, parse(stdout));
      }
    });

    const manifests = (overlay: string) => overlays.get(overlay) ?? [];
    const allManifests = () => OVERLAYS.flatMap(manifests);
    const manifestOf = (overlay: string, kind: string): Manifest => {
      const [found, second] = manifests(overlay).filter((manifest) => manifest.kind === kind);
      if (found === undefined || second !== undefined) throw new Error(`expected one ${kind} in ${overlay}`);
      return found;
    };
    const podsOf = (overlay: string): readonly Manifest['spec'][] => {
      return manifests(overlay)
        .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
        .map(({ spec }) => spec.template.spec);
    };

    it('contain only fields that their schemas know', () => {
      const checked = [...allManifests(), ...examples].filter(({ kind }) => kind !== 'ServiceMonitor');
      expect(checked.length).toBeGreaterThan(15);
      for (const manifest of checked) {
        const { kind, metadata } = manifest;
        expect(problemsOf(manifest), `${kind} ${metadata.name}`).toStrictEqual([]);
      }
    });

    it.each(OVERLAYS)('of the overlay %s select pods and ports that exist', (overlay) => {
      const { spec } = manifestOf(overlay, 'Deployment');
      const { labels } = spec.template.metadata;
      expect(labels).toMatchObject(spec.selector.matchLabels);
      const service = manifestOf(overlay, 'Service');
      expect(labels).toMatchObject(service.spec.selector);
      const [container] = spec.template.spec.containers;
      const { PORT, METRICS_PORT } = envOf(container);
      expect(container.ports).toMatchObject([
        { name: 'http', containerPort: Number(PORT) },
        { name: 'metrics', containerPort: Number(METRICS_PORT) },
      ]);
      const portNames = [
        ...service.spec.ports.map(({ targetPort }: { targetPort: string }) => targetPort),
        ...manifestOf(overlay, 'NetworkPolicy').spec.ingress.flatMap((rule: { ports: { port: string }[] }) =>
          rule.ports.map(({ port }) => port),
        ),
        ...['startupProbe', 'readinessProbe', 'livenessProbe'].map((probe) => container[probe].httpGet.port),
      ];
      expect(portNames.filter((name) => !['http', 'metrics'].includes(name))).toStrictEqual([]);
      expect(labels).toMatchObject(manifestOf(overlay, 'NetworkPolicy').spec.podSelector.matchLabels);
    });

    it('let a pod connect to any address only on the ports of MongoDB and of the receiver of traces', () => {
      const { egress } = manifestOf('production', 'NetworkPolicy').spec;
      const everywhere = egress.filter((rule: object) => !('to' in rule));
      expect(everywhere.flatMap(({ ports }: { ports: object }) => ports)).toStrictEqual([
        { port: 27017 },
        { port: 4318 },
      ]);
    });

    it('have an autoscaler, a disruption budget and a monitor that fit the deployment in production', () => {
      const { metadata, spec } = manifestOf('production', 'Deployment');
      const { labels } = spec.template.metadata;
      // A fixed number of replicas would undo the work of the autoscaler.
      expect(spec.replicas).toBeUndefined();
      const scaler = manifestOf('production', 'HorizontalPodAutoscaler').spec;
      const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: metadata.name };
      expect(scaler.scaleTargetRef).toStrictEqual(target);
      const budget = manifestOf('production', 'PodDisruptionBudget').spec;
      expect(labels).toMatchObject(budget.selector.matchLabels);
      expect(scaler.minReplicas).toBeGreaterThan(budget.maxUnavailable);
      const monitor = manifestOf('production', 'ServiceMonitor').spec;
      const service = manifestOf('production', 'Service');
      expect(service.metadata.labels).toMatchObject(monitor.selector.matchLabels);
      const names = service.spec.ports.map(({ name }: { name: string }) => name);
      expect(names).toContain(monitor.endpoints[0].port);
      // The service must not select the pod of the migration, because this pod answers no requests.
      const jobLabels = manifestOf('production', 'Job').spec.template.metadata.labels;
      expect(jobLabels).not.toMatchObject(service.spec.selector);
    });

    it('run only one instance at a time in development, where the storage is SQLite', () => {
      const { spec } = manifestOf('development', 'Deployment');
      expect(spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
      const [{ volumeMounts }] = spec.template.spec.containers;
      expect(volumeMounts).toStrictEqual([{ name: 'data', mountPath: '/petstore/data' }]);
    });

    it('set only variables that the service knows', () => {
      const names = [
        ...OVERLAYS.flatMap(podsOf).flatMap((pod) =>
          pod.containers.flatMap((item: object) => Object.keys(envOf(item))),
        ),
        ...examples.flatMap((secret) => Object.keys(Object(secret)['stringData'])),
        ...manifests('development').flatMap((manifest) => Object.keys(Object(manifest)['data'] ?? {})),
      ];
      expect([...new Set(names)].filter((name) => !VARIABLE_NAMES.includes(name))).toStrictEqual([]);
    });

    it('give a pod enough time to stop', () => {
      for (const overlay of OVERLAYS) {
        const pod = manifestOf(overlay, 'Deployment').spec.template.spec;
        const [container] = pod.containers;
        const env = envOf(container);
        const secondsOf = (name: string) => Number(/^(\d+)s$/.exec(env[name] ?? '')?.[1]);
        const seconds = secondsOf('SHUTDOWN_DELAY') + secondsOf('SHUTDOWN_TIMEOUT') + CLOSE_SECONDS;
        expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(seconds);
      }
    });

    it('send each probe to a path that the service answers', async () => {
      const { url } = await startService();
      const [container] = manifestOf('production', 'Deployment').spec.template.spec.containers;
      for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
        const { path } = container[probe].httpGet;
        expect(await ask(`${url}${path}`, { key: '' }), probe).toMatchObject({ status: 200 });
      }
    });

    // https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
    it('comply with the restricted profile of the Kubernetes pod security standards', () => {
      for (const pod of OVERLAYS.flatMap(podsOf)) {
        expect(pod.securityContext).toMatchObject({
          runAsNonRoot: true,
          runAsUser: 1000,
          seccompProfile: { type: 'RuntimeDefault' },
        });
        for (const { securityContext } of pod.containers) {
          expect(securityContext).toStrictEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
        }
      }
      for (const overlay of OVERLAYS) {
        expect(manifestOf(overlay, 'ServiceAccount')).toMatchObject({ automountServiceAccountToken: false });
        expect(manifestOf(overlay, 'Namespace').metadata.labels).toStrictEqual({
          'pod-security.kubernetes.io/enforce': 'restricted',
        });
      }
    });
  },
);

function parse(yaml: string): readonly Manifest[] {
  return parseAllDocuments(yaml).map((document) => {
    expect(document.errors).toStrictEqual([]);
    return document.toJS();
  });
}

function envOf(container: {
  readonly env?: readonly { name: string; value: string }[];
}): Record<string, string> {
  return Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, value]));
}
