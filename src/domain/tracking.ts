// Who decides what happens to an object once its credential has ended (contract 5.2).
import { EXPIRED_ANNOTATION } from '../api/group.ts'
import type { ObjectMeta } from '../api/meta.ts'

/** What the annotation asks for after the end; null when it says nothing that we know. */
export function onExpiryOf({ annotations = {} }: ObjectMeta): 'Keep' | 'Delete' | null {
  const value = annotations[EXPIRED_ANNOTATION]
  return value === 'Keep' || value === 'Delete' ? value : null
}

const TRACKING_LABELS = ['kustomize.toolkit.fluxcd.io/name', 'helm.toolkit.fluxcd.io/name']

/** Whether a GitOps tool applies the object: deleted, it would come back (contract 5.2). */
export function isTracked({
  annotations = {},
  labels = {},
  managedFields = [],
}: ObjectMeta): boolean {
  return (
    Object.hasOwn(annotations, 'argocd.argoproj.io/tracking-id') ||
    labels['app.kubernetes.io/managed-by'] === 'Helm' ||
    TRACKING_LABELS.some((label) => Object.hasOwn(labels, label)) ||
    (Object.hasOwn(labels, 'app.kubernetes.io/instance') &&
      managedFields.some(({ manager }) => manager?.startsWith('argocd')))
  )
}
