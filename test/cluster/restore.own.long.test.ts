// Restores from a snapshot of etcd and from manifests: what comes back, what is lost, and that the procedure of
// docs/backup.md, whose blocks are run, ends again what had ended (contract 2.8).
import { mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { JWK } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS, API_VERSION, CONFIGS, WITHDRAW_ANNOTATION } from '../../src/api/names.ts'
import { paths, urls } from '../../tools/control-plane/commands.ts'
import type { Ports } from '../../tools/control-plane/ports.ts'
import { ensureEtcdTools } from '../../tools/etcd-tools/programs.ts'
import { ISSUER, type OwnOperator, startOperator } from '../support/command-process.ts'
import { isReadyBy, settingsOf } from '../support/config-client.ts'
import { ownControlPlane } from '../support/control-plane.ts'
import { runBlock, shellBlocksOf } from '../support/documentation-blocks.ts'
import { eventually } from '../support/eventually.ts'
import { LAST_APPLIED } from '../support/installed-control-plane.ts'
import { uniqueName } from '../support/object-builder.ts'
import { CONFIG } from './install/installer.ts'
import { type StoredKey, createdMs, keyClientOf, outlived, createdAgo } from './keys/key-client.ts'
import { bearerOf, jwksIn, platformStateOf, verified } from './tokens/platform-state.ts'
import { type StoredToken, tokenClientOf, under } from './tokens/token-client.ts'

interface DeploymentList {
  readonly items: readonly {
    readonly metadata: { readonly name: string }
    readonly spec: { readonly replicas: number }
  }[]
}

const HOUR = 3600
const DEPLOYMENTS = '/apis/apps/v1/namespaces/platform-system/deployments'
const [
  SAVE = '',
  STOP = '',
  RESTORE = '',
  STOP_GATEWAYS = '',
  START_GATEWAYS = '',
  LOOK = '',
  WITHDRAW = '',
  SAVE_YAML = '',
  RESTORE_YAML = '',
] = shellBlocksOf(readFileSync(join(import.meta.dirname, '../../docs/backup.md'), 'utf8'))

const plane = await ownControlPlane()
const keys = keyClientOf(plane)
const tokens = tokenClientOf(plane)
const platform = platformStateOf(plane)
const settings = settingsOf(plane)
const kubeconfig = await plane.operatorKubeconfig()
const folder = mkdtempSync(join(tmpdir(), 'restore-'))
let operator: OwnOperator
let env: Readonly<Record<string, string>>

const start = async (): Promise<void> => {
  operator = await startOperator({ kubeconfig, flags: [`--issuer-url=${ISSUER}`] })
}

beforeAll(async () => {
  env = await environment()
  symlinkSync(plane.auditLog, join(folder, 'audit.log'))
  const apply = ['apply', '--server-side', '-k', join(CONFIG, 'default')]
  const { code, stderr } = await plane.kubectl(apply)
  if (code !== 0) throw new Error(`config/default is not applied: ${stderr}`)
  await start()
  await settings.settled('defaults are in force', isReadyBy('Applied'))
}, 300_000)
afterAll(async () => {
  await operator?.stop()
  rmSync(folder, { recursive: true })
})

/** The variables that the page needs, and PATH with its programs. */
async function environment(): Promise<Readonly<Record<string, string>>> {
  const { etcdctl } = await ensureEtcdTools(console.log)
  const { etcdClient, etcdPeer } = urls(
    JSON.parse(readFileSync(paths.ports(plane.dataDir), 'utf8')) as Ports,
  )
  return {
    PATH: dirname(etcdctl),
    ETCDCTL_ENDPOINTS: etcdClient,
    ETCDCTL_CACERT: paths.pki(plane.dataDir, 'etcd-ca.crt'),
    ETCDCTL_CERT: paths.pki(plane.dataDir, 'etcd-client.crt'),
    ETCDCTL_KEY: paths.pki(plane.dataDir, 'etcd-client.key'),
    NAME: 'default',
    PEER_URL: etcdPeer,
  }
}

/** Runs a block of the page in a temporary folder. */
const run = (block: string): Promise<string> => runBlock(plane, block, { cwd: folder, env })

/** `replicas` of each Deployment; no controller acts on it here. */
async function replicas(): Promise<Readonly<Record<string, number>>> {
  const { body } = await plane.raw<DeploymentList>('GET', DEPLOYMENTS)
  return Object.fromEntries(body.items.map(({ metadata, spec }) => [metadata.name, spec.replicas]))
}

/** Stops the control plane, replaces the data of etcd and starts it again, as an admin does. */
async function restoreEtcd(): Promise<void> {
  await run(STOP)
  await operator.stop()
  expect(await replicas()).toEqual({ manager: 0, gateway: 0, delivery: 0 })
  await plane.controllerManager.stop()
  await plane.apiServer.stop()
  await plane.etcd.stop()
  await run(RESTORE)
  const data = join(plane.dataDir, 'etcd')
  renameSync(data, join(folder, 'old'))
  renameSync(join(folder, 'restored'), data)
  await plane.etcd.start()
  await plane.apiServer.start()
  await plane.controllerManager.start()
}

/** The time of a snapshot has whole seconds: earlier writes must not be in the same second. */
async function nextSecond(): Promise<void> {
  const startMs = Date.now()
  const hasCome = () => Math.floor(Date.now() / 1000) > Math.floor(startMs / 1000) || undefined
  await eventually('the next second', hasCome, { withinMs: 5000 })
}

const issuedUnder = async (key: StoredKey): Promise<StoredToken> => tokens.issue({}, under(key))

describe('a snapshot of etcd', () => {
  let lived: StoredKey
  let short: StoredKey
  let disabled: StoredKey
  let deleted: StoredKey
  let createdSince: StoredKey
  let itsToken: StoredToken
  let alone: StoredToken
  let issuedSince: StoredToken
  let signedBefore: readonly JWK[]
  let settingsBefore: unknown

  test('is taken, before keys and tokens are created, disabled and deleted', async () => {
    lived = await keys.shown(await keys.create({ ttl: HOUR }), 'Active')
    disabled = await keys.shown(await keys.create({ ttl: HOUR }), 'Active')
    deleted = await keys.shown(await keys.create({ ttl: HOUR }), 'Active')
    itsToken = await issuedUnder(disabled)
    alone = await tokens.issue()
    short = await keys.shown(await keys.create({ ttl: 15 }), 'Active')
    signedBefore = await platform.jwks()
    settingsBefore = (await settings.read()).spec
    await nextSecond()
    await run(SAVE)
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: 30 * 24 * HOUR } })
    issuedSince = await tokens.issue()
    await keys.patch(disabled, { spec: { disabled: true } })
    await keys.remove(deleted)
    await tokens.remove(alone)
    createdSince = await keys.shown(await keys.create(), 'Active')
    await tokens.shown(itsToken, 'Revoked')
    await Promise.all([tokens.gone(alone), keys.gone(deleted), keys.shown(short, 'Expired')])
    const revoked = await platform.revoked()
    for (const { metadata } of [itsToken, alone]) expect(revoked).toHaveProperty(metadata.uid)
    await platform.annotate(WITHDRAW_ANNOTATION, issuedSince.status.keyID ?? '')
    await tokens.shown(issuedSince, 'Revoked')
  })

  test('restores the replicas of gateways, which are scaled down again', async () => {
    await restoreEtcd()
    expect(await replicas()).toEqual({ manager: 2, gateway: 2, delivery: 2 })
    await run(STOP_GATEWAYS)
    expect(await replicas()).toEqual({ manager: 2, gateway: 0, delivery: 2 })
  })

  test('restores all objects, revoked ones too', async () => {
    await start()
    for (const token of [itsToken, alone])
      expect(bearerOf(await tokens.shown(token, 'Issued'))).toBe(bearerOf(token))
    expect(await platform.revoked()).toEqual({})
    expect(await platform.jwks()).toEqual(signedBefore)
    expect((await settings.read()).spec).toEqual(settingsBefore)
  })

  test('does not have later objects, whose tokens still verify', async () => {
    expect(await keys.read(createdSince)).toBeNull()
    expect(await tokens.read(issuedSince)).toBeNull()
    await verified(issuedSince, await platform.jwks())
  })

  test('renews no lifetime (2.8)', async () => {
    for (const before of [lived, disabled, deleted]) {
      const now = await keys.shown(before, 'Active')
      expect(now.metadata.uid).toBe(before.metadata.uid)
      expect(now.status.expirationTimestamp).toBe(before.status.expirationTimestamp)
    }
    const ended = await keys.shown(short, 'Expired')
    expect(ended.status.expirationTimestamp).toBe(short.status.expirationTimestamp)
  })

  test('does not affect the audit log, which shows the later writes', async () => {
    const lines = (await run(LOOK)).trimEnd().split('\n')
    const actions = lines.map((line) => line.replace(/^\S+Z /, '').replace(/ by .*$/, ''))
    expect(actions).toEqual([
      'patch configs platform-manager-config',
      `create directclusterendpointtokens ${issuedSince.metadata.name}`,
      `patch ownedaccesskeys ${disabled.metadata.name}`,
      `delete ownedaccesskeys ${deleted.metadata.name}`,
      `delete directclusterendpointtokens ${alone.metadata.name}`,
      `create ownedaccesskeys ${createdSince.metadata.name}`,
    ])
  })

  test('needs the withdrawal of its signing keys: all tokens are revoked and another key signs (7.3)', async () => {
    expect((await tokens.issue()).status.keyID).toBe(alone.status.keyID)
    await run(WITHDRAW)
    for (const token of [itsToken, alone]) await tokens.shown(token, 'Revoked')
    const revoked = await platform.revoked()
    for (const { metadata } of [itsToken, alone]) expect(revoked).toHaveProperty(metadata.uid)
    const kids = jwksIn(await platform.record()).map(({ kid }) => kid)
    expect(kids).toHaveLength(1)
    expect(kids).not.toContain(alone.status.keyID)
    expect((await tokens.issue()).status.keyID).toBe(kids[0])
  })

  test('is followed by the start of gateways', async () => {
    expect(await replicas()).toEqual({ manager: 2, gateway: 0, delivery: 2 })
    await run(START_GATEWAYS)
    expect(await replicas()).toEqual({ manager: 2, gateway: 2, delivery: 2 })
  })
})

describe('a backup of manifests', () => {
  test('restores keys with other uids and the same expiry (2.8)', async () => {
    const spec = { ttl: HOUR, type: 'User' } as const
    const before = await keys.shown(await keys.create(spec), 'Active')
    const digest = await keys.shown(
      await keys.create({ key: `sha256:${'a'.repeat(64)}` }),
      'Active',
    )
    await run(SAVE_YAML)
    await keys.remove(before)
    await keys.remove(digest)
    await Promise.all([keys.gone(before), keys.gone(digest), outlived(before)])
    await run(RESTORE_YAML)
    const after = await keys.shown(before.metadata.name, 'Active')
    expect(after.metadata.uid).not.toBe(before.metadata.uid)
    expect(createdMs(after)).toBeGreaterThan(createdMs(before))
    expect(after.status.expirationTimestamp).toBe(before.status.expirationTimestamp)
    expect(after.spec).toEqual(before.spec)
    expect(after.status.keyID).toBe(before.status.keyID)
    await keys.shown(digest.metadata.name, 'Active')
  })

  test('restores a key and settings of client-side applies without their annotation (5.5)', async () => {
    const name = uniqueName('applied')
    const key = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, metadata: { name } }
    const config = { ...key, kind: CONFIGS.kind, metadata: { name: 'platform-manager-config' } }
    for (const manifest of [
      { ...key, spec: { user: 'ada', ttl: HOUR } },
      { ...config, spec: {} },
    ])
      await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(manifest) })
    const before = await keys.shown(name, 'Active')
    expect(before.metadata.annotations).toHaveProperty(LAST_APPLIED)
    await run(SAVE_YAML)
    await keys.remove(before)
    await keys.gone(before)
    await run(RESTORE_YAML)
    const after = await keys.shown(name, 'Active')
    expect(after.metadata.uid).not.toBe(before.metadata.uid)
    expect(after.metadata.annotations).not.toHaveProperty(LAST_APPLIED)
    expect(after.spec).toEqual(before.spec)
  })

  test('does not restore a key that another one owns, whose uid has changed (5.4)', async () => {
    const owner = await keys.shown(await keys.create({ ttl: HOUR }), 'Active')
    const owned = await keys.shown(await keys.create({ ttl: HOUR }, under(owner)), 'Active')
    await run(SAVE_YAML)
    await keys.remove(owner)
    await Promise.all([keys.gone(owner), keys.gone(owned)])
    await run(RESTORE_YAML)
    await keys.shown(owner.metadata.name, 'Active')
    await eventually(
      'the garbage collector deletes it',
      async () => (await keys.read(owned.metadata.name)) === null || undefined,
      { withinMs: 30_000 },
    )
  })

  test('loses the last use: a sliding key expires as if it had never been used (2.3)', async () => {
    const slides = { ttl: 60, ttlAfterLastActivity: true }
    const created = await keys.shown(await keys.create(slides, createdAgo(HOUR)), 'Expired')
    const before = await keys.shown(await keys.use(created, Date.now()), 'Active')
    await run(SAVE_YAML)
    await keys.remove(before)
    await keys.gone(before)
    await run(RESTORE_YAML)
    const after = await keys.shown(before.metadata.name, 'Expired')
    expect(after.status).not.toHaveProperty('lastActivity')
  })

  test('renews the lifetime where annotations are dropped (2.8)', async () => {
    const before = await keys.shown(await keys.create({ ttl: HOUR }), 'Active')
    const { name } = before.metadata
    await run(SAVE_YAML)
    await keys.remove(before)
    await keys.gone(before)
    await run(`sed -i '/management.platform.sh\\/created/d' platform.yaml\n${RESTORE_YAML}`)
    const after = await keys.shown(name, 'Active')
    expect(Date.parse(after.status.expirationTimestamp ?? '')).toBe(createdMs(after) + HOUR * 1000)
  })
})
