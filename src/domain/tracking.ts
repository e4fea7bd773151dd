// What decides whether an object is deleted after its credential has ended (contract 5.2).
import { EXPIRED_ANNOTATION } from '../api/names.ts'
import type { ObjectMeta } from '../api/objects.ts'

/** Value of the annotation for expiry; null when it is absent or unknown. */
export function onExpiryOf({ annotations = {} }: ObjectMeta): 'Keep' | 'Delete' | null {
  const value = annotations[EXPIRED_ANNOTATION]
  return value === 'Keep' || value === 'Delete' ? value : null
}

const TRACKING_LABELS = ['kustomize.toolkit.fluxcd.io/name', 'helm.toolkit.fluxcd.io/name']

/** Whether a GitOps tool applies the object, and would create it again after a delete (contract 5.2). */
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
