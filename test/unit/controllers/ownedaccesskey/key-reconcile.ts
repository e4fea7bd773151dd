// Key `ci` during its deletion, and dependencies of the key controller.
import { ACCESS_KEYS, REVOKE_FINALIZER } from '../../../../src/api/names.ts'
import { storedReportOf } from '../../../../src/controllers/ownedaccesskey/identity-change.ts'
import { Store } from '../../../../src/kube/informer/store.ts'
import { DAY_MS, statusEntry, textAfter } from '../../../support/key-builder.ts'
import { keyObject } from '../../../support/object-builder.ts'
import { peopleOf } from '../../people/people-builder.ts'

/** The object of the key, with a deletionTimestamp and our finalizer. */
export const deletedKeyObject = (resourceVersion = '1', status: object = {}) =>
  keyObject({
    metadata: {
      resourceVersion,
      deletionTimestamp: textAfter(60),
      finalizers: [REVOKE_FINALIZER],
      managedFields: [statusEntry(status)],
    },
    spec: { user: 'ada', key: 'k'.repeat(32) },
    status,
  })

/** Dependencies with fixed values: no caps, a retention of a day, and ignored events. */
export const fixedKeyDeps = () => ({
  people: peopleOf([], []),
  reports: new Store(storedReportOf),
  signInNamespace: 'platform-system-sign-in',
  caps: () => ({ maxTtlSeconds: null, loginTtlSeconds: null }),
  configName: 'platform-manager-config',
  retentionMs: DAY_MS,
  newKey: () => 'never',
  events: { record: () => undefined, flush: () => Promise.resolve(), stop: () => undefined },
  observer: { expired: () => undefined },
})

/** The patch that removes our finalizer from the key. */
export const RELEASE = {
  verb: 'patch',
  kind: ACCESS_KEYS.kind,
  name: 'ci',
  reason: 'finalizer',
  body: [
    { op: 'test', path: '/metadata/uid', value: 'uid-ci' },
    { op: 'test', path: '/metadata/finalizers/0', value: REVOKE_FINALIZER },
    { op: 'remove', path: '/metadata/finalizers/0' },
  ],
}

/** Names in the delete requests. */
export const deletedNames = (asked: readonly { readonly verb: string; readonly name: string }[]) =>
  asked.filter(({ verb }) => verb === 'delete').map(({ name }) => name)
