/** @module-tag no-retry */
// What others do to the Secret of a claim and to the right to write it (contract 28.4).
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ISSUER, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { conditionIn } from '../../support/object-client.ts'
import { sumOf } from '../../support/metrics-page.ts'
import {
  AFTER_A_ROUND,
  type ClaimNamespace,
  type DeliveredClaims,
  type ReadSecret,
  createClaimNamespace,
  deliverAll,
  startDelivery,
} from './claim-world.ts'

const plane = await privateControlPlane()
const operator = await startOperator({
  kubeconfig: await plane.operatorKubeconfig(),
  flags: [`--issuer-url=${ISSUER}`],
})
const delivery = await startDelivery(plane)
afterAll(async () => void (await Promise.all([delivery.stop(), operator.stop()])))

const SPECS = {
  deleted: { overlap: 3600 },
  edited: {},
  'taken-over': {},
  emptied: {},
  added: {},
  unlabelled: {},
  disowned: {},
  'forged-id': {},
}
let shop: ClaimNamespace
let first: DeliveredClaims<keyof typeof SPECS>
/** The entries of the Secrets as they were delivered. */
const texts = new Map<string, ReadSecret['texts']>()
const HAS_KEY = { key: expect.stringMatching(/^pak_/) as string }
beforeAll(async () => {
  shop = await createClaimNamespace(plane)
  await shop.allow()
  first = await deliverAll(plane, shop, SPECS)
  for (const name of Object.keys(SPECS)) texts.set(name, (await secretOf(name)).texts)
  await tamper()
})

const secretOf = async (name: string): Promise<ReadSecret> => {
  const found = await shop.secret(name)
  if (!found) throw new Error(`there is no Secret ${name}`)
  return found
}
const base64 = (text: string): string => Buffer.from(text).toString('base64')
/** kubectl as the owner, who may write Secrets. */
const asOwner = (...args: readonly string[]): Promise<string> =>
  mustKubectl(plane, ['--namespace', shop.name, ...args], { kubeconfig: shop.owner })
const secretPath = (name: string): string => `/api/v1/namespaces/${shop.name}/secrets/${name}`
const patch = (name: string, body: object): Promise<unknown> =>
  plane.raw('PATCH', secretPath(name), body, { kubeconfig: shop.owner })

/** Changes the Secrets, all before the first test. */
async function tamper(): Promise<void> {
  await asOwner('delete', 'secret', 'deleted')
  await patch('edited', { data: { key: base64('mine') } })
  const metadata = { name: 'taken-over' }
  const body = { apiVersion: 'v1', kind: 'Secret', metadata, data: { key: base64('mine') } }
  await plane.raw('PATCH', `${secretPath('taken-over')}?fieldManager=mine&force=true`, body, {
    kubeconfig: shop.owner,
    contentType: 'application/apply-patch+yaml',
  })
  await patch('emptied', { data: { key: null } })
  const forged = { 'management.platform.sh/key-id': '0'.repeat(16) }
  await patch('forged-id', { metadata: { annotations: forged } })
  const more = { labels: { more: 'x' }, annotations: { more: 'x' } }
  await patch('added', { data: { more: base64('x') }, metadata: more })
  await patch('disowned', { metadata: { ownerReferences: null } })
  await patch('unlabelled', { metadata: { labels: null } })
}

describe('a Secret that others change gets another credential, and an Event says so (28.4)', () => {
  test('may be deleted: the elder works on', async () => {
    const claim = await first.replaced('deleted')
    expect((await secretOf('deleted')).texts).toEqual(HAS_KEY)
    expect(await shop.event(claim, 'SecretChanged')).toMatchObject({
      type: 'Warning',
      message: 'Secret deleted: it was deleted by others. It gets another credential.',
    })
    expect(claim.status.previous?.name).toBe(first.firstKey('deleted'))
  })

  test.each(['edited', 'taken-over', 'emptied'] as const)('may be %s', async (name) => {
    const claim = await first.replaced(name)
    expect((await secretOf(name)).texts).toEqual(HAS_KEY)
    expect((await shop.event(claim, 'SecretChanged')).message).toContain('its data were changed')
  })

  test('may name the id of a key that it does not have', async () => {
    const claim = await first.replaced('forged-id')
    const { annotations } = (await secretOf('forged-id')).metadata
    expect(annotations?.['management.platform.sh/key-id']).toBe(claim.status.key?.keyID)
  })

  test('is counted (28.7)', async () => {
    expect(sumOf(await delivery.metrics(), 'platform_claim_secrets_mended_total')).toBe(4)
  })
})

describe('what others do to other fields (28.4)', () => {
  test('an owner that was taken off is set again, with the same credential', async () => {
    await eventuallyPasses(
      'the claim owns it',
      async () => expect((await secretOf('disowned')).metadata.ownerReferences).toHaveLength(1),
      AFTER_A_ROUND,
    )
    expect((await secretOf('disowned')).texts).toEqual(texts.get('disowned'))
  })

  test('an entry, a label and an annotation stay, also over rotations', async () => {
    await shop.rotate('added', 'now')
    const claim = await first.replaced('added')
    const { texts: rotated, metadata } = await secretOf('added')
    expect(rotated).toEqual({ ...HAS_KEY, more: 'x' })
    expect(metadata).toMatchObject({ labels: { more: 'x' }, annotations: { more: 'x' } })
    await shop.change('added', { secret: { data: { other: '$(KEY)' } } })
    await shop.replaced(claim, AFTER_A_ROUND)
    expect((await secretOf('added')).texts).toEqual({ other: HAS_KEY.key, more: 'x' })
  })
})

describe('SecretTaken (28.4, 28.7)', () => {
  const taken = (name: string) =>
    `Secret ${name} was made by others and is left alone: delete it, or create another claim with another spec.secret.name.`

  test('a Secret of others is never touched, until it is gone', async () => {
    await asOwner('create', 'secret', 'generic', 'foreign', '--from-literal=key=mine')
    const { metadata } = await secretOf('foreign')
    const claim = await shop.apply('foreign')
    const refused = await shop.claims.shown('foreign', 'SecretTaken')
    expect(conditionIn(refused, 'Ready').message).toBe(taken('foreign'))
    expect(conditionIn(refused, 'Stalled').status).toBe('True')
    expect(await shop.event(claim, 'SecretTaken')).toMatchObject({ type: 'Warning' })
    expect(await shop.keys(claim)).toEqual([])
    expect((await secretOf('foreign')).metadata.resourceVersion).toBe(metadata.resourceVersion)
    await asOwner('delete', 'secret', 'foreign')
    await shop.claims.shown('foreign', 'Delivered')
  })

  test('a Secret of another claim belongs to others', async () => {
    await shop.apply('second', { secret: { name: 'edited' } })
    await shop.claims.shown('second', 'SecretTaken')
    await shop.kubectl('delete', 'akc', 'second')
    expect(await secretOf('edited')).not.toBeNull()
  })

  test('a Secret whose label others take off is theirs', async () => {
    await eventuallyPasses(
      'it is taken',
      async () => {
        const claim = await shop.read('unlabelled')
        expect(conditionIn(claim, 'Ready').reason).toBe('SecretTaken')
      },
      AFTER_A_ROUND,
    )
    expect((await secretOf('unlabelled')).texts).toEqual(texts.get('unlabelled'))
  })
})

describe('DeliveryForbidden (28.4, 28.7)', () => {
  test('ends by the command in the condition, and returns when the right is taken away', async () => {
    const other = await createClaimNamespace(plane)
    const claim = await other.apply('deploy')
    const refused = await other.claims.shown('deploy', 'DeliveryForbidden')
    const { message } = conditionIn(refused, 'Ready')
    expect(message).toContain('kubectl create rolebinding platform-secret-delivery')
    expect(await other.keys(claim)).toEqual([])
    expect(await other.event(claim, 'DeliveryForbidden')).toMatchObject({
      type: 'Warning',
      message,
    })
    const command = message.slice(message.indexOf('kubectl ') + 'kubectl '.length)
    await mustKubectl(plane, command.split(' '), { kubeconfig: other.owner })
    const { status } = await other.claims.shown('deploy', 'Delivered')

    await other.disallow()
    await eventuallyPasses(
      'the claim says so',
      async () => {
        const now = await other.read('deploy')
        expect(conditionIn(now, 'Ready').reason).toBe('DeliveryForbidden')
        expect(now.status.key?.keyID).toBe(status.key?.keyID)
      },
      AFTER_A_ROUND,
    )
    expect(await other.keys(claim)).toHaveLength(1)
    await other.allow()
    const again = await other.claims.shown('deploy', 'Delivered')
    expect(again.status.key?.keyID).toBe(status.key?.keyID)
  })

  test.each(['create,patch', 'get,list,patch'])('holds with %s alone', async (verbs) => {
    const other = await createClaimNamespace(plane)
    const rule = { apiGroups: [''], resources: ['secrets'], verbs: verbs.split(',') }
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${other.name}`
    const metadata = { name: 'some' }
    await plane.raw('POST', `${rbac}/roles`, { metadata, rules: [rule] })
    await plane.raw('POST', `${rbac}/rolebindings`, {
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'some' },
      subjects: [{ kind: 'ServiceAccount', name: 'delivery', namespace: 'platform-system' }],
    })
    const claim = await other.apply('deploy')
    await other.claims.shown('deploy', 'DeliveryForbidden')
    expect(await other.keys(claim)).toEqual([])
    expect(await other.secret('deploy')).toBeNull()
  })
})

describe('SecretRefused (28.4, 28.7)', () => {
  test('a quota of Secrets: in the words of the API server, and no key is made', async () => {
    const other = await createClaimNamespace(plane)
    await other.allow()
    const hard = { 'count/secrets': '0' }
    const path = `/api/v1/namespaces/${other.name}/resourcequotas`
    await plane.raw('POST', path, { metadata: { name: 'secrets' }, spec: { hard } })
    // The controller that counts is not among those that run here.
    await plane.raw('PATCH', `${path}/secrets/status`, { status: { hard, used: hard } })
    const claim = await other.apply('deploy')
    const refused = await other.claims.shown('deploy', 'SecretRefused')
    expect(conditionIn(refused, 'Ready').message).toMatch(
      /^Secret deploy cannot be written: .*exceeded quota: secrets.*\.$/,
    )
    expect(await other.event(claim, 'SecretRefused')).toMatchObject({ type: 'Warning' })
    expect(await other.keys(claim)).toEqual([])
    await plane.raw('DELETE', `${path}/secrets`)
    await other.claims.shown('deploy', 'Delivered')
  })

  test('a policy of others that begins to refuse: the elder works on, and the rotation is made up', async () => {
    const other = await createClaimNamespace(plane)
    await other.allow()
    const before = await other.delivered('deploy')
    const api = '/apis/admissionregistration.k8s.io/v1'
    const metadata = { name: `no-secrets-${other.name}` }
    const selector = { matchLabels: { 'kubernetes.io/metadata.name': other.name } }
    await plane.raw('POST', `${api}/validatingadmissionpolicies`, {
      metadata,
      spec: {
        matchConstraints: {
          namespaceSelector: selector,
          resourceRules: [
            {
              apiGroups: [''],
              apiVersions: ['v1'],
              operations: ['CREATE', 'UPDATE'],
              resources: ['secrets'],
            },
          ],
        },
        validations: [
          {
            expression: 'false',
            messageExpression:
              "'Secrets are in the vault, says team blue' + (oldObject == null ? '' : ', not ' + oldObject.data.key)",
          },
        ],
      },
    })
    await plane.raw('POST', `${api}/validatingadmissionpolicybindings`, {
      metadata,
      spec: { policyName: metadata.name, validationActions: ['Deny'] },
    })
    await eventuallyPasses(
      'the policy holds',
      async () => {
        const dry = ['create', 'secret', 'generic', 'x', '--dry-run=server', '-n', other.name]
        await expect(mustKubectl(plane, dry)).rejects.toThrow('says team blue')
      },
      AFTER_A_ROUND,
    )
    await other.rotate('deploy', 'now')
    await eventuallyPasses(
      'it is refused, once the claim may be replaced again',
      async () =>
        expect(conditionIn(await other.read('deploy'), 'Ready').reason).toBe('SecretRefused'),
      AFTER_A_ROUND,
    )
    const refused = await other.read('deploy')
    // Without the words, which quote the key that works.
    expect(conditionIn(refused, 'Ready').message).toBe(
      'Secret deploy cannot be written: 422 Invalid.',
    )
    expect(refused.status.key?.keyID).toBe(before.status.key?.keyID)
    expect(await other.event(refused, 'RotationFailed')).toMatchObject({ type: 'Warning' })
    expect(await other.keys(refused)).toHaveLength(1)
    await plane.raw('DELETE', `${api}/validatingadmissionpolicybindings/${metadata.name}`)
    await plane.raw('DELETE', `${api}/validatingadmissionpolicies/${metadata.name}`)
    const after = await other.replaced(before, AFTER_A_ROUND)
    expect(after.status.lastRotate).toBe('now')
  })
})
