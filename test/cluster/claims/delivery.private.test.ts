/** @module-tag no-retry */
// What a claim delivers, and in which forms, used by the programs that read them (contract 28.1 to 28.4, 28.7).
import { hash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLAIM_LABEL } from '../../../src/api/names.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { ask } from '../../support/gateway-process.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { conditionIn } from '../../support/object-client.ts'
import { startTestGateway } from '../gateway/test-gateway.ts'
import {
  type ClaimNamespace,
  type ReadSecret,
  createClaimNamespace,
  startDelivery,
} from './claim-world.ts'

const plane = await privateControlPlane()
const setup = await startTestGateway(plane)
const url = setup.gateways[0]?.url() ?? ''
const delivery = await startDelivery(plane, [`--gateway-url=${url}`])
const folder = mkdtempSync(join(tmpdir(), 'claims-'))
afterAll(async () => {
  await delivery.stop()
  rmSync(folder, { recursive: true })
})

let shop: ClaimNamespace
beforeAll(async () => {
  shop = await createClaimNamespace(plane)
  await shop.allow()
  const grant = ['create', 'rolebinding', 'readers', '--clusterrole=view', '--namespace', shop.name]
  const users = ['deploy', 'files', 'argo'].map((name) => `--user=claim:${shop.name}:${name}`)
  await mustKubectl(plane, [...grant, ...users], { kubeconfig: shop.owner })
})

const secretOf = async (name: string): Promise<ReadSecret> => {
  const found = await shop.secret(name)
  if (!found) throw new Error(`there is no Secret ${name}`)
  return found
}
const entryOf = async (name: string, entry: string): Promise<string> =>
  (await secretOf(name)).texts[entry] ?? ''

describe('a claim with an empty spec', () => {
  test('is Ready for kubectl wait, and its key acts as the claim alone (28.2, 28.7)', async () => {
    const claim = await shop.apply('deploy')
    await shop.kubectl('wait', '--for=condition=Ready', 'akc/deploy', '--timeout=20s')
    const [key] = await shop.keys(claim)
    const plaintext = await entryOf('deploy', 'key')
    expect(await setup.userInfo(plaintext)).toMatchObject({
      username: `claim:${shop.name}:deploy`,
      groups: expect.not.arrayContaining(['system:masters']) as unknown,
    })
    expect(key?.spec).toEqual({
      subject: `claim:${shop.name}:deploy`,
      type: 'Other',
      ttl: 2_592_000,
      key: `sha256:${hash('sha256', plaintext)}`,
    })
    expect(key?.metadata).toMatchObject({
      name: expect.stringMatching(new RegExp(`^claim-${shop.name}-deploy-[a-z2-7]{8}$`)) as string,
      labels: { [CLAIM_LABEL]: claim.metadata.uid },
      annotations: {
        [CLAIM_LABEL]: `${shop.name}/deploy`,
        'management.platform.sh/expired': 'Delete',
      },
    })
  })

  test('has a Secret that belongs to it and says when it ends (28.4)', async () => {
    const { metadata, status } = await shop.read('deploy')
    expect(await secretOf('deploy')).toMatchObject({
      type: 'Opaque',
      texts: { key: expect.stringMatching(/^pak_/) as string },
      metadata: {
        labels: { [CLAIM_LABEL]: metadata.uid },
        annotations: {
          'management.platform.sh/key-id': status.key?.keyID,
          'management.platform.sh/expires': status.expirationTimestamp,
        },
        ownerReferences: [
          {
            apiVersion: 'management.platform.sh/v1',
            kind: 'AccessKeyClaim',
            name: 'deploy',
            uid: metadata.uid,
            controller: true,
          },
        ],
      },
    })
  })

  test('has a status of what was delivered, and none of it secret (28.7)', async () => {
    const { status } = await shop.read('deploy')
    const days = (from: string | undefined): number =>
      (Date.parse(from ?? '') - Date.parse(status.lastRotation ?? '')) / 86_400_000
    expect(status).toMatchObject({
      identity: `subject:claim:${shop.name}:deploy`,
      secretName: 'deploy',
      key: { expirationTimestamp: status.expirationTimestamp },
    })
    expect(status.previous).toBeUndefined()
    expect(days(status.expirationTimestamp)).toBeCloseTo(30, 2)
    expect(days(status.nextRotation)).toBeGreaterThan(17.99)
    expect(days(status.nextRotation)).toBeLessThan(20.01)
    expect(JSON.stringify(await shop.read('deploy'))).not.toContain(await entryOf('deploy', 'key'))
  })

  test('has an Event about the delivery (28.7)', async () => {
    const claim = await shop.read('deploy')
    expect(await shop.event(claim, 'Delivered')).toMatchObject({
      type: 'Normal',
      message: `Secret deploy has key ${claim.status.key?.keyID}, which works until ${claim.status.expirationTimestamp}.`,
    })
  })

  test('shows its columns (28.7)', async () => {
    const { status } = await shop.read('deploy')
    const columns = (text: string): readonly string[] => text.trim().split(/ {2,}/)
    const [head = '', row = ''] = (await shop.kubectl('get', 'akc', 'deploy', '-o', 'wide')).split(
      '\n',
    )
    expect(columns(head)).toEqual([
      'NAME',
      'READY',
      'REASON',
      'SECRET',
      'EXPIRES',
      'NEXT ROTATION',
      'AGE',
      'IDENTITY',
      'KEY ID',
      'MESSAGE',
    ])
    expect(columns(row)).toEqual([
      'deploy',
      'True',
      'Delivered',
      'deploy',
      status.expirationTimestamp,
      status.nextRotation,
      expect.stringMatching(/^\d+[sm]/),
      status.identity,
      status.key?.keyID,
      conditionIn({ status }, 'Ready').message,
    ])
  })

  test('is written no more once it is delivered, and its Secret neither (28.8)', async () => {
    const [claim, secret] = [await shop.read('deploy'), await secretOf('deploy')]
    await shop.delivered('witness')
    const [later, secretLater] = [await shop.read('deploy'), await secretOf('deploy')]
    expect(later.metadata.resourceVersion).toBe(claim.metadata.resourceVersion)
    expect(secretLater.metadata.resourceVersion).toBe(secret.metadata.resourceVersion)
  })
})

describe('the forms of a Secret (28.4)', () => {
  const host = new URL(url).hostname
  test('a kubeconfig, with which kubectl works, and a .netrc and .env beside it', async () => {
    const data = {
      config: '$(KUBECONFIG)',
      netrc: `machine ${host}\nlogin $(KEY_ID)\npassword $(KEY)\n`,
      env: 'API=$(SERVER)\nUNTIL=$(EXPIRES)\nPRICE=$$5\n',
    }
    const { status } = await shop.delivered('files', { secret: { data } })
    const { texts } = await secretOf('files')
    const key = /password (pak_\w+)\n$/.exec(texts['netrc'] ?? '')?.[1] ?? ''
    expect(texts['netrc']).toBe(`machine ${host}\nlogin ${status.key?.keyID}\npassword ${key}\n`)
    expect(texts['env']).toBe(
      `API=${url}/kubernetes/management\nUNTIL=${status.expirationTimestamp}\nPRICE=$5\n`,
    )
    const kubeconfig = join(folder, 'files.kubeconfig')
    writeFileSync(kubeconfig, texts['config'] ?? '', { mode: 0o600 })
    const names = await mustKubectl(plane, ['get', 'configmaps', '-n', shop.name, '-o', 'name'], {
      kubeconfig,
    })
    expect(names).toContain('configmap/kube-root-ca.crt')
    const whoami = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}']
    expect(await mustKubectl(plane, whoami, { kubeconfig })).toBe(`claim:${shop.name}:files`)
  })

  test('the cluster Secret of Argo CD', async () => {
    const labels = { 'argocd.argoproj.io/secret-type': 'cluster' }
    const data = {
      name: 'platform',
      server: '$(SERVER)',
      config: '{"bearerToken":"$(KEY)","tlsClientConfig":{"caData":"$(CA_DATA)"}}',
    }
    await shop.delivered('argo', { secret: { name: 'argo-cluster', labels, data } })
    const { metadata, texts } = await secretOf('argo-cluster')
    const config = JSON.parse(texts['config'] ?? '') as {
      readonly bearerToken: string
      readonly tlsClientConfig: { readonly caData: string }
    }
    expect(metadata.labels).toMatchObject(labels)
    const answer = await ask(`${texts['server']}/api/v1/namespaces/${shop.name}/configmaps`, {
      ca: Buffer.from(config.tlsClientConfig.caData, 'base64').toString(),
      headers: { authorization: `Bearer ${config.bearerToken}` },
    })
    expect(answer.code).toBe(200)
  })

  test('the login of a registry, as kubelet reads it', async () => {
    const data = {
      '.dockerconfigjson':
        '{"auths":{"registry.example.com":{"username":"$(KEY_ID)","password":"$(KEY)"}}}',
    }
    const type = 'kubernetes.io/dockerconfigjson'
    const { status } = await shop.delivered('registry', { secret: { type, data } })
    const secret = await secretOf('registry')
    expect(secret.type).toBe(type)
    expect(JSON.parse(secret.texts['.dockerconfigjson'] ?? '')).toEqual({
      auths: {
        'registry.example.com': {
          username: status.key?.keyID,
          password: expect.stringMatching(/^pak_/) as string,
        },
      },
    })
  })

  test('name and password', async () => {
    const type = 'kubernetes.io/basic-auth'
    const data = { username: 'ci', password: '$(KEY)' }
    await shop.delivered('basic', { secret: { type, data, annotations: { owner: 'core' } } })
    expect(await secretOf('basic')).toMatchObject({
      type,
      texts: { username: 'ci', password: expect.stringMatching(/^pak_/) as string },
      metadata: { annotations: { owner: 'core' } },
    })
  })

  test('another target than the management API', async () => {
    const secret = { target: 'project/web/space/blue', data: { url: '$(SERVER)', key: '$(KEY)' } }
    await shop.delivered('space', { secret })
    expect(await entryOf('space', 'url')).toBe(`${url}/kubernetes/project/web/space/blue`)
  })
})

describe('a claim with a token (28.1, 28.3)', () => {
  test('delivers a token of its key, and not the key', async () => {
    const scope = { roles: [{ role: 'viewer' }] }
    const claim = await shop.delivered('token', { token: { ttl: 600, scope } })
    const [[key], [token]] = [await shop.keys(claim), await shop.tokens(claim)]
    const { texts, metadata } = await secretOf('token')
    expect(texts).toEqual({ token: token?.status?.token })
    expect(metadata.annotations).toMatchObject({
      'management.platform.sh/token': token?.metadata.name,
      'management.platform.sh/expires': token?.status?.expirationTimestamp,
    })
    expect(token?.spec).toMatchObject({ ttl: 600, scope })
    expect(token?.metadata).toMatchObject({
      name: expect.stringMatching(new RegExp(`^claim-${shop.name}-token-[a-z2-7]{8}$`)) as string,
      ownerReferences: [{ name: key?.metadata.name, uid: key?.metadata.uid, controller: true }],
    })
    expect(claim.status).toMatchObject({
      key: { name: key?.metadata.name },
      token: { name: token?.metadata.name },
      expirationTimestamp: token?.status?.expirationTimestamp,
    })
  })
})

describe('the identity of a claim (28.2)', () => {
  const PERSON = { user: 'ada', groups: ['dev'] }
  test('names no other without the right to impersonate them', async () => {
    await expect(shop.apply('person', { key: PERSON })).rejects.toThrow(
      `leave it out, and the key acts as claim:${shop.name}:person`,
    )
    expect(await shop.claims.read('person')).toBeNull()
  })

  test('is the person and the groups that an administrator names', async () => {
    const object = {
      apiVersion: 'management.platform.sh/v1',
      kind: 'AccessKeyClaim',
      metadata: { name: 'person', namespace: shop.name },
      spec: { key: PERSON },
    }
    await mustKubectl(plane, ['apply', '-f', '-'], { input: JSON.stringify(object) })
    const { status } = await shop.claims.shown('person', 'Delivered')
    expect(status.identity).toBe('user:ada')
    const { username, groups } = await setup.userInfo(await entryOf('person', 'key'))
    expect({ username, groups }).toMatchObject({
      username: 'ada',
      groups: expect.arrayContaining(['dev']) as unknown,
    })
  })
})

test('no log, Event, claim or key has what was delivered (3.5)', async () => {
  const names = ['deploy', 'basic', 'person', 'token']
  const secrets = await Promise.all(
    names.map(
      async (name) =>
        Object.values((await secretOf(name)).texts).find((text) => text.length > 40) ?? '',
    ),
  )
  const outputs = [delivery, setup.operator, ...setup.gateways].map((one) => one.output())
  const { body: events } = await plane.raw(
    'GET',
    `/apis/events.k8s.io/v1/namespaces/${shop.name}/events`,
  )
  const { body: claims } = await plane.raw('GET', '/apis/management.platform.sh/v1/accesskeyclaims')
  const { body: keys } = await plane.raw('GET', '/apis/management.platform.sh/v1/ownedaccesskeys')
  const shown = JSON.stringify([outputs, events, claims, keys, await delivery.metrics()])
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(40)
    expect(shown).not.toContain(secret)
  }
})
