import { join } from 'node:path'
import type { TestControlPlane } from '../support/control-plane.ts'
import { mustKubectl } from '../support/must-kubectl.ts'

const CRDS = join(import.meta.dirname, '../../crds')
const KEYS_CRD = 'crd/ownedaccesskeys.management.platform.sh'

/** The custom resource definitions of a control plane, as a user may treat them. */
export interface CrdToggle {
  /** Waits until the objects are gone, which takes their finalizers off. */
  remove(): Promise<void>
  install(): Promise<void>
  /** Adds a field to the schema of keys and takes it out again: each ends their watches with EOF. */
  changeSchema(): Promise<void>
}

/** The CRDs of this control plane. Every deed must succeed. */
export function crdToggleOf(plane: Pick<TestControlPlane, 'kubectl'>): CrdToggle {
  const must = async (...args: readonly string[]): Promise<void> => {
    await mustKubectl(plane, args)
  }
  const patch = (operation: object): Promise<void> =>
    must('patch', KEYS_CRD, '--type=json', '--patch', JSON.stringify([operation]))
  const path = '/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/added'
  return {
    // The API server looks every five seconds whether the finalizers are off.
    remove: () => must('delete', '--kustomize', CRDS, '--timeout=60s'),
    install: async () => {
      await must('apply', '--server-side', '--kustomize', CRDS)
      await must('wait', 'crd', '--all', '--for=condition=Established', '--timeout=30s')
    },
    changeSchema: async () => {
      await patch({ op: 'add', path, value: { type: 'string' } })
      await patch({ op: 'remove', path })
    },
  }
}
