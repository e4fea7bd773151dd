import { describe, expect, test } from 'vitest'
import { CLAIM_LABEL, EXPIRES_ANNOTATION, GROUP } from '../../../../src/api/names.ts'
import {
  SECRET_STORE_LABEL,
  SECRET_STORE_PATH_ANNOTATION,
  SECRET_STORE_VERSION_ANNOTATION,
  SECRET_STORE_WRITTEN_ANNOTATION,
} from '../../../../src/api/secret-store-names.ts'
import {
  isSameRequest,
  secretFault,
  storeRequestOf,
} from '../../../../src/domain/store/stored-secret.ts'

type Texts = Readonly<Record<string, string>>

const requestOf = (label: string | undefined, annotations: Texts = {}, name = 'app') =>
  storeRequestOf(
    { name, annotations, labels: label === undefined ? {} : { [SECRET_STORE_LABEL]: label } },
    'shop',
  )

describe('what a Secret asks for (36.2)', () => {
  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly label: string; readonly annotations?: Texts; readonly request: object }>([
    { name: 'the entry of its name', label: 'Pull', request: { direction: 'Pull', path: 'shop/app', engine: 2 } },
    { name: 'to be pushed', label: 'Push', request: { direction: 'Push', path: 'shop/app', engine: 2 } },
    { name: 'another path', label: 'Push', annotations: { [SECRET_STORE_PATH_ANNOTATION]: 'a/b' }, request: { direction: 'Push', path: 'shop/a/b', engine: 2 } },
    { name: 'version 2 by name', label: 'Push', annotations: { [SECRET_STORE_VERSION_ANNOTATION]: '2' }, request: { direction: 'Push', path: 'shop/app', engine: 2 } },
    { name: 'version 1', label: 'Pull', annotations: { [SECRET_STORE_VERSION_ANNOTATION]: '1' }, request: { direction: 'Pull', path: 'shop/app', engine: 1 } },
  ])('$name', ({ label, annotations, request }) => {
    expect(requestOf(label, annotations)).toEqual({ ok: true, request })
  })

  test.each([undefined, '', 'pull', 'PUSH', 'Both', 'Pull ', 'true', 'Pull,Push', '__proto__'])(
    'nothing with label %j',
    (label) => {
      const outcome = requestOf(label)
      expect(outcome).toMatchObject({ ok: false })
      expect(JSON.stringify(outcome)).toContain('neither Pull nor Push')
    },
  )

  test.each(['', '0', '3', 'v1', 'v2', '01', '1.0', ' 1', '2 ', '１'])(
    'nothing with version %j',
    (version) => {
      for (const label of ['Pull', 'Push'])
        expect(requestOf(label, { [SECRET_STORE_VERSION_ANNOTATION]: version }).ok).toBe(false)
    },
  )

  test('version 1 is not pushed to: it has no check-and-set', () => {
    const outcome = requestOf('Push', { [SECRET_STORE_VERSION_ANNOTATION]: '1' })
    expect(outcome.ok ? '' : outcome.fault).toContain('check-and-set')
  })

  test('names that Kubernetes gives Secrets are paths', () => {
    for (const name of ['a', 'a.b', 'a-b.c-d', '0', 'a'.repeat(253)])
      expect(requestOf('Pull', {}, name).ok).toBe(true)
  })
})

describe('two readings ask for the same (36.2)', () => {
  const meta = {
    uid: 'uid',
    labels: { [SECRET_STORE_LABEL]: 'Pull' },
    annotations: { [SECRET_STORE_PATH_ANNOTATION]: 'a' },
  }
  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly other: object; readonly isSame: boolean }>([
    { name: 'as they are', other: {}, isSame: true },
    { name: 'other labels and annotations', other: { labels: { ...meta.labels, team: 'x' }, annotations: { ...meta.annotations, [SECRET_STORE_WRITTEN_ANNOTATION]: '3' } }, isSame: true },
    { name: 'another uid', other: { uid: 'other' }, isSame: false },
    { name: 'another direction', other: { labels: { [SECRET_STORE_LABEL]: 'Push' } }, isSame: false },
    { name: 'no label', other: { labels: undefined }, isSame: false },
    { name: 'another path', other: { annotations: { [SECRET_STORE_PATH_ANNOTATION]: 'b' } }, isSame: false },
    { name: 'no path', other: { annotations: undefined }, isSame: false },
    { name: 'another version', other: { annotations: { ...meta.annotations, [SECRET_STORE_VERSION_ANNOTATION]: '1' } }, isSame: false },
  ])('$name: $isSame', ({ other, isSame }) => {
    expect(isSameRequest(meta, { ...meta, ...other })).toBe(isSame)
    expect(isSameRequest({ ...meta, ...other }, meta)).toBe(isSame)
  })
})

describe('Secrets that are not synced (36.4)', () => {
  const faultOf = (type: string | undefined, labels: Texts, direction: 'Pull' | 'Push' = 'Push') =>
    secretFault(
      {
        ...(type === undefined ? {} : { type }),
        metadata: {
          name: 'app',
          namespace: 'p-shop',
          uid: 'uid',
          resourceVersion: '1',
          creationTimestamp: '',
          labels,
        },
      },
      direction,
    )

  test.each([
    undefined,
    '',
    'Opaque',
    'kubernetes.io/tls',
    'kubernetes.io/dockerconfigjson',
    'kubernetes.io/basic-auth',
    'kubernetes.io/ssh-auth',
    'example.com/x',
    'HELM.SH/release.v1',
  ])('type %j is', (type) => {
    for (const direction of ['Pull', 'Push'] as const)
      expect(faultOf(type, {}, direction)).toBeNull()
  })

  test.each([
    'kubernetes.io/service-account-token',
    'bootstrap.kubernetes.io/token',
    'helm.sh/release.v1',
    GROUP,
    `${GROUP}/key`,
    `x.${GROUP}/key`,
    `${GROUP}.example.com/x`,
  ])('type %s is not', (type) => {
    for (const direction of ['Pull', 'Push'] as const)
      expect(faultOf(type, {}, direction)).toContain(type)
  })

  test.each([
    { kind: 'AccessKeyClaim', apiVersion: `${GROUP}/v1`, isPulled: false },
    { kind: 'AccessKeyClaim', apiVersion: `${GROUP}/v2`, isPulled: false },
    { kind: 'AccessKeyClaim', apiVersion: 'example.com/v1', isPulled: true },
    { kind: 'ReplicaSet', apiVersion: 'apps/v1', isPulled: true },
  ])(
    'a Secret that an $apiVersion $kind owns, without the label of a claim: pulled $isPulled, pushed',
    ({ isPulled, ...owner }) => {
      const metadata = {
        name: 'app',
        namespace: 'p-shop',
        uid: 'uid',
        resourceVersion: '1',
        creationTimestamp: '',
        ownerReferences: [{ ...owner, name: 'x', uid: 'y' }],
      }
      expect(secretFault({ metadata }, 'Pull') === null).toBe(isPulled)
      expect(secretFault({ metadata }, 'Push')).toBeNull()
    },
  )

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly labels: Texts; readonly pull: boolean; readonly push: boolean }>([
    { name: 'without labels', labels: {}, pull: true, push: true },
    { name: 'with its own', labels: { [SECRET_STORE_LABEL]: 'Push', team: 'x' }, pull: true, push: true },
    { name: 'of a claim', labels: { [CLAIM_LABEL]: 'uid' }, pull: false, push: true },
    { name: 'of a claim with an empty uid', labels: { [CLAIM_LABEL]: '' }, pull: false, push: true },
    { name: 'with another label of the platform', labels: { [`${GROUP}/signing-key`]: 'x' }, pull: false, push: false },
    { name: 'with one of a part of our group', labels: { [`sync.${GROUP}/x`]: '' }, pull: false, push: false },
    { name: 'with a name of our annotations', labels: { [EXPIRES_ANNOTATION]: 'x' }, pull: false, push: false },
    { name: 'of a claim with another label of the platform', labels: { [CLAIM_LABEL]: 'uid', [`${GROUP}/x`]: '' }, pull: false, push: false },
  ])('$name: pulled $pull, pushed $push', ({ labels, pull, push }) => {
    expect(faultOf('Opaque', labels, 'Pull') === null).toBe(pull)
    expect(faultOf('Opaque', labels, 'Push') === null).toBe(push)
  })
})
