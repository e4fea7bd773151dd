import { describe, expect, test } from 'vitest'
import {
  CLAIM_LABEL,
  DELIVERY_FIELD_MANAGER,
  EXPIRES_ANNOTATION,
  KEY_ID_ANNOTATION,
  TEMPLATE_ANNOTATION,
  TOKEN_ANNOTATION,
} from '../../../../src/api/names.ts'
import type { Secret } from '../../../../src/api/objects.ts'
import { asApplied, ownedData, secretViewOf } from '../../../../src/domain/claim/secret-view.ts'
import { CLAIM_UID } from '../../../support/delivery/claim-facts.ts'
import {
  type SecretObject,
  applied,
  created,
  merged,
} from '../../../support/delivery/server-side-apply.ts'

const OWNER = {
  apiVersion: 'v1',
  kind: 'AccessKeyClaim',
  name: 'deploy',
  uid: CLAIM_UID,
  controller: true,
}
const SECRET: SecretObject = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: 'deploy',
    namespace: 'shop',
    uid: 'uid-secret',
    resourceVersion: '7',
    creationTimestamp: '',
    labels: { [CLAIM_LABEL]: CLAIM_UID, app: 'ci' },
    annotations: {
      [KEY_ID_ANNOTATION]: 'id',
      [EXPIRES_ANNOTATION]: 'end',
      [TEMPLATE_ANNOTATION]: 'digest',
      note: 'x',
    },
    ownerReferences: [OWNER],
  },
  data: { key: 'a2V5', other: 'eA==' },
}
const ours = applied(
  { ...SECRET, data: {}, metadata: { ...SECRET.metadata, labels: {}, annotations: {} } },
  SECRET,
  DELIVERY_FIELD_MANAGER,
)
const viewOf = (secret: SecretObject) =>
  secretViewOf(secret as Secret, { uid: CLAIM_UID }, (text) => text)
const edited = (edit: object): SecretObject => merged(ours, edit, 'kubectl-edit')

describe('the view of a Secret (28.4)', () => {
  test('has what is ours in it, and its data as a digest', () => {
    expect(viewOf(ours)).toEqual({
      uid: 'uid-secret',
      resourceVersion: '7',
      keyID: 'id',
      token: null,
      expires: 'end',
      template: 'digest',
      dataDigest: '{"key":"a2V5","other":"eA=="}',
      labels: { app: 'ci' },
      annotations: { note: 'x' },
      isOwned: true,
      isCreatedOnly: false,
    })
  })

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly labels: Record<string, string> }>([
    { name: 'without a label', labels: {} },
    { name: 'of another claim', labels: { [CLAIM_LABEL]: 'uid-other' } },
    { name: 'with an empty label', labels: { [CLAIM_LABEL]: '' } },
  ])('there is none of a Secret $name: it is not touched', ({ labels }) => {
    expect(viewOf({ ...ours, metadata: { ...ours.metadata, labels } })).toBeNull()
  })

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly secret: SecretObject; readonly differs: object }>([
    { name: 'an entry that others have changed is theirs', secret: edited({ data: { key: 'eA==' } }), differs: { dataDigest: '{"other":"eA=="}' } },
    { name: 'an entry that others have set to the same is theirs', secret: edited({ data: { key: 'a2V5' } }), differs: { dataDigest: '{"other":"eA=="}' } },
    { name: 'an entry that others have added does not count', secret: edited({ data: { theirs: 'eA==' } }), differs: {} },
    { name: 'labels of others do not count', secret: edited({ metadata: { labels: { theirs: 'x' }, annotations: { theirs: 'x' } } }), differs: {} },
    { name: 'a label that others have changed is theirs', secret: edited({ metadata: { labels: { app: 'x' } } }), differs: { labels: {} } },
    { name: 'an entry that is gone is missing', secret: { ...ours, data: { key: 'a2V5' } }, differs: { dataDigest: '{"key":"a2V5"}' } },
    { name: 'a Secret without data', secret: { ...ours, data: undefined as never }, differs: { dataDigest: '{}' } },
    { name: 'a token', secret: edited({ metadata: { annotations: { [TOKEN_ANNOTATION]: 't' } } }), differs: { token: 't' } },
    { name: 'without annotations', secret: { ...ours, metadata: { ...ours.metadata, annotations: {} } }, differs: { keyID: '', expires: '', template: '', annotations: {} } },
    { name: 'without an owner', secret: { ...ours, metadata: { ...ours.metadata, ownerReferences: [] } }, differs: { isOwned: false } },
    { name: 'owned without control', secret: { ...ours, metadata: { ...ours.metadata, ownerReferences: [{ ...OWNER, controller: false }] } }, differs: { isOwned: false } },
    { name: 'owned by another claim', secret: { ...ours, metadata: { ...ours.metadata, ownerReferences: [{ ...OWNER, uid: 'uid-other' }] } }, differs: { isOwned: false } },
    { name: 'created and not applied', secret: created(SECRET, DELIVERY_FIELD_MANAGER), differs: { isCreatedOnly: true } },
    { name: 'without managed fields nothing is ours', secret: SECRET, differs: { dataDigest: '{}', labels: {}, annotations: {} } },
  ])('$name', ({ secret, differs }) => {
    expect(viewOf(secret)).toEqual({ ...viewOf(ours), ...differs })
  })

  test('data that are ours are repeated by an apply, and no others', () => {
    expect(ownedData(edited({ data: { theirs: 'eA==', other: 'eQ==' } }) as Secret)).toEqual({
      key: 'a2V5',
    })
    expect(ownedData(SECRET as Secret)).toEqual({})
  })

  test('fields that were created count as applied afterwards, and fields of others stay theirs', () => {
    const both = merged(
      created(SECRET, DELIVERY_FIELD_MANAGER),
      { data: { theirs: 'eA==' } },
      'kubectl-edit',
    )
    const entries = asApplied(both.metadata.managedFields ?? [])
    expect(entries.map(({ manager, operation }) => `${manager} ${operation}`)).toEqual([
      `${DELIVERY_FIELD_MANAGER} Apply`,
      'kubectl-edit Update',
    ])
  })
})
