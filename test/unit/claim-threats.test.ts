// What tenants try by claims, and what a crash leaves (threats K1 to K9): the rules that hold without a control plane. The policy on
// names has tests of its own, as have the rights of the delivery process.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { CLAIM_LABEL } from '../../src/api/names.ts'
import type { Secret } from '../../src/api/objects.ts'
import { KeySlots } from '../../src/delivery/claims/key-slots.ts'
import { placeFaultOf } from '../../src/delivery/claims/place.ts'
import { BY_NAMESPACE, createClaimStores } from '../../src/delivery/claims/stores.ts'
import { keyOfClaim } from '../../src/domain/claim/claimed-key.ts'
import { holdingsOf } from '../../src/domain/claim/holdings.ts'
import { replaceableMs } from '../../src/domain/claim/replacement.ts'
import { type SecretView, secretViewOf } from '../../src/domain/claim/secret-view.ts'
import { t0, textAfter } from '../support/key-builder.ts'
import { claimObject, keyObject } from '../support/object-builder.ts'

const CLAIM = { uid: 'uid-claim' }
const sha256 = (text: string): string => text

describe('a Secret of the name that a claim wants (28.4, K4)', () => {
  const viewWith = (labels: Secret['metadata']['labels']): SecretView | null => {
    const metadata = { name: 'deploy', namespace: 'shop', uid: 'uid-secret', resourceVersion: '1' }
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, labels } }
    return secretViewOf(secret as Secret, CLAIM, sha256)
  }

  test.each([
    { name: 'without labels', labels: {} },
    { name: 'with the label of another claim', labels: { [CLAIM_LABEL]: 'uid-other' } },
    { name: 'with the label of an empty uid', labels: { [CLAIM_LABEL]: '' } },
    { name: 'with the uid in another label', labels: { app: CLAIM.uid } },
  ])('is not touched $name', ({ labels }) => {
    expect(viewWith(labels)).toBeNull()
  })

  test('is the one of the claim with the label of its uid', () => {
    expect(viewWith({ [CLAIM_LABEL]: CLAIM.uid })).toMatchObject({ uid: 'uid-secret' })
  })
})

describe('what a tenant may cost (28.5, 28.8, K8)', () => {
  test('a thousand claims of one moment get their keys one after the other', () => {
    const slots = new KeySlots(10)
    const times = Array.from({ length: 1000 }, (_, at) => slots.reserve(`uid-${at}`, t0))
    expect(times.at(-1)).toBe(t0 + 99_900)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(slots.reserve('uid-0', t0 + 1), 'asked again, it keeps its slot').toBe(t0)
  })

  test('a claim is left alone for 30 seconds after a delivery, whatever is asked', () => {
    expect(replaceableMs(t0)).toBe(t0 + 30_000)
    expect(replaceableMs(null)).toBeLessThan(t0)
  })

  test('claims beyond the most of their namespace have no place, and the oldest keep theirs', () => {
    const { claims } = createClaimStores()
    for (const [at, name] of ['youngest', 'third', 'second', 'eldest'].entries())
      claims.put(
        claimObject({ metadata: { name, uid: name, creationTimestamp: textAfter(9 - at) } }),
      )
    const settings = { namespace: 'p', signInNamespace: 's', maxClaimsPerNamespace: 2 }
    const inPlace = claims
      .by(BY_NAMESPACE, 'shop')
      .filter((claim) => placeFaultOf(claim, claims, settings) === null)
    expect(inPlace.map(({ name }) => name)).toEqual(['eldest', 'second'])
  })
})

describe('keys of a claim after a crash (28.3, K9)', () => {
  const keyNamed = (name: string) => {
    const metadata = { name, uid: `uid-${name}`, labels: { [CLAIM_LABEL]: CLAIM.uid } }
    return keyOfClaim(keyObject({ metadata, spec: { key: name } }), (key) => key.padEnd(16, '0'))
  }
  const inSecret = { keyID: 'delivered0000000', token: null } as SecretView
  const [delivered, elder, lost] = ['delivered', 'elder', 'lost'].map(keyNamed)
  const keys = [delivered, elder, lost].flatMap((key) => key ?? [])
  const named = { published: { key: { name: 'elder' } }, underway: new Set<string>(), tokens: [] }

  test('the one that neither Secret nor status names is over', () => {
    const { key, elderKeys, strayKeys } = holdingsOf({ secret: inSecret, keys, ...named })
    expect([key?.name, elderKeys.map(({ name }) => name)]).toEqual(['delivered', ['elder']])
    expect(strayKeys.map(({ name }) => name)).toEqual(['lost'])
  })

  test('the one in the Secret is never over, whatever the status says', () => {
    const published = { key: { name: 'lost' }, previous: { name: 'elder' } }
    const { key, strayKeys } = holdingsOf({ secret: inSecret, keys, ...named, published })
    expect([key?.name, strayKeys]).toEqual(['delivered', []])
  })
})

test('the shipped roles give everybody with a key no rights, as each editor has a key by a claim (28.2, K7)', () => {
  const files = globSync('config/**/*.yaml', { cwd: join(import.meta.dirname, '../..') })
  expect(files.length).toBeGreaterThan(100)
  const subjects = files
    .flatMap((file) =>
      parseAllDocuments(readFileSync(join(import.meta.dirname, '../..', file), 'utf8')),
    )
    .flatMap((document) => {
      const object = document.toJS() as { readonly subjects?: readonly { readonly name: string }[] }
      return object?.subjects ?? []
    })
  expect(subjects.length).toBeGreaterThan(20)
  expect(subjects.filter(({ name }) => name === 'platform:authenticated')).toEqual([])
})
