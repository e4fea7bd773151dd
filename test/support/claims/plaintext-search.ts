// Looks for delivered keys wherever they must not be: in etcd but for the Secrets of their namespace, and in what processes write
// (contract 28.3).
import { findCanaries, type Finding } from '../canary.ts'
import type { OwnProcess } from '../command-process.ts'
import type { TestControlPlane } from '../control-plane.ts'
import { etcdValues } from '../etcd-values.ts'

/** Of a process: what it has logged, and its metrics if it runs. */
export async function outputOf(process: OwnProcess, isRunning = true): Promise<string> {
  const { stdout, stderr } = process.output()
  return stdout + stderr + (isRunning ? await process.metrics() : '')
}

/**
 * Where a part of a key is. Objects, their status and Events are all in etcd.
 *
 * @param namespace whose Secrets have the keys
 * @param outputs what processes have written, by name
 */
export async function plaintextIn(
  plane: Pick<TestControlPlane, 'dataDir'>,
  keys: readonly string[],
  {
    namespace,
    outputs,
  }: { readonly namespace: string; readonly outputs: Readonly<Record<string, string>> },
): Promise<readonly Finding[]> {
  const stored = await etcdValues(plane, '/registry/')
  const elsewhere = [...stored].filter(
    ([path]) => !path.startsWith(`/registry/secrets/${namespace}/`) && !isStatic(path),
  )
  const sinks = {
    ...outputs,
    ...Object.fromEntries(elsewhere.map(([path, value]) => [path, value.toString('latin1')])),
  }
  return findCanaries(
    sinks,
    keys.map((secret) => ({ label: secret.slice(-6), secret })),
  )
}

/** Written before any test. */
const isStatic = (path: string): boolean =>
  /^\/registry\/(?:apiextensions\.k8s\.io|clusterrole|validatingadmission|prioritylevel|flowschemas|mutatingadmission)/.test(
    path,
  )
