// The account of the sign-in process, by the roles that are shipped: a thief of it reads no key (contract 25.1, 25.9).
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'

interface Rule {
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules?: readonly Rule[]
  readonly roleRef?: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly kind: string; readonly name: string }[]
}

const FOLDER = join(import.meta.dirname, '../../config/sign-in-namespace')
const manifests = readdirSync(FOLDER).flatMap((file) =>
  parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).map(
    (document) => document.toJS() as Manifest,
  ),
)

/** A rule, and the namespace that it holds in; `*` = the cluster. */
interface BoundRule extends Rule {
  readonly namespace: string
}

const bound: readonly BoundRule[] = manifests
  .filter(({ subjects }) => subjects?.some(({ name }) => name === 'sign-in'))
  .flatMap(({ roleRef, metadata: { namespace = '*' } }) => {
    const role = manifests.find(
      ({ kind, metadata }) =>
        kind === roleRef?.kind &&
        metadata.name === roleRef.name &&
        (metadata.namespace ?? '*') === namespace,
    )
    return (role?.rules ?? []).map((rule) => ({ ...rule, namespace }))
  })

const rulesFor = (resource: string): readonly BoundRule[] =>
  bound.filter(({ resources = [] }) => resources.includes(resource) || resources.includes('*'))

const verbsOn = (resource: string): readonly string[] =>
  rulesFor(resource)
    .flatMap(({ verbs }) => verbs)
    .toSorted()

test('the account of the sign-in process makes and ends keys, and reads, patches and updates none (25.1, SK)', () => {
  expect(verbsOn('ownedaccesskeys')).toEqual(['create', 'delete', 'sign-in'])
})

test.each(['configs', 'directclusterendpointtokens', 'pods', 'serviceaccounts', 'clusterroles'])(
  'the account of the sign-in process has no right on %s (25.1, SK)',
  (resource) => expect(verbsOn(resource)).toEqual([]),
)

test('the account of the sign-in process has Secrets of its namespace alone (25.1, SK)', () => {
  expect(new Set(rulesFor('secrets').map(({ namespace }) => namespace))).toEqual(
    new Set(['platform-system-sign-in']),
  )
})

test('the account of the sign-in process has one right in the platform namespace (25.1, SK)', () => {
  expect(bound.filter(({ namespace }) => namespace === 'platform-system')).toEqual([
    {
      namespace: 'platform-system',
      apiGroups: [''],
      resources: ['configmaps'],
      resourceNames: ['platform-gateway-ca'],
      verbs: ['get'],
    },
  ])
})

test('the account of the sign-in process acts as no other, and grants no rights (25.1, SK)', () => {
  expect(bound.length).toBeGreaterThan(8)
  const verbs = bound.flatMap(({ verbs: named }) => named)
  for (const verb of ['impersonate', 'escalate', 'bind', 'delegate', 'generate', 'use', '*'])
    expect(verbs).not.toContain(verb)
})
