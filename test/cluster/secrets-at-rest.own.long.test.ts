// docs/security.md: with the encryption of docs/examples etcd has no credential in clear, and with the audit policy of
// docs/examples the audit log has none. Without them both do, so the tests can fail.
import { execFile } from 'node:child_process'
import { createPrivateKey, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS } from '../../src/api/names.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import { ensureBinaries } from '../../tools/control-plane/binaries.ts'
import { type Mark, auditOf } from '../support/audit-log.ts'
import { type Canary, findCanaries } from '../support/canary.ts'
import { ISSUER, type OwnOperator, startOperator } from '../support/command-process.ts'
import { settingsOf } from '../support/config-client.ts'
import { ownControlPlane } from '../support/control-plane.ts'
import { shellBlocksOf } from '../support/documentation-blocks.ts'
import { etcdValues } from '../support/etcd-values.ts'
import { eventuallyPasses } from '../support/eventually.ts'
import { keyClientOf } from './keys/key-client.ts'
import { SECRETS_PATH, bearerOf, platformStateOf } from './tokens/platform-state.ts'
import { tokenClientOf, under } from './tokens/token-client.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const example = (name: string): string => readFileSync(join(DOCS, 'examples', name), 'utf8')

/** The files of the API server, whose content the test changes. */
const folder = mkdtempSync(join(tmpdir(), 'at-rest-'))
const ENCRYPTION = join(folder, 'encryption.yaml')
const POLICY = join(folder, 'audit-policy.yaml')
/** The prefixes in etcd of what must be encrypted. */
const PREFIXES = [
  '/registry/management.platform.sh/ownedaccesskeys/',
  '/registry/management.platform.sh/directclusterendpointtokens/',
  '/registry/secrets/',
]

writeFileSync(ENCRYPTION, inClear(example('encryption.yaml')))
// With request and response bodies.
writeFileSync(
  POLICY,
  example('audit-policy.yaml')
    .replaceAll('level: Metadata', 'level: RequestResponse')
    .replace('omitStages: [ResponseStarted, ResponseComplete, Panic]', ''),
)

const plane = await ownControlPlane({
  apiServerFlags: [`--encryption-provider-config=${ENCRYPTION}`, `--audit-policy-file=${POLICY}`],
})
const keys = keyClientOf(plane)
const tokens = tokenClientOf(plane)
const platform = platformStateOf(plane)
const settings = settingsOf(plane)
const audit = auditOf(plane)
let operator: OwnOperator
/** Credentials stored before the encryption. */
const before: Canary[] = []

beforeAll(async () => {
  const kubeconfig = await plane.operatorKubeconfig()
  operator = await startOperator({ kubeconfig, flags: [`--issuer-url=${ISSUER}`] })
})
afterAll(async () => {
  await operator?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** The configuration without its first provider: nothing is encrypted. */
function inClear(configuration: string): string {
  return configuration.replace(/ {2}- secretbox:[^]*?(?= {2}# Reads)/, '')
}

/** Creates a key, its token and settings with a secret; returns these secrets and the signing key. */
async function createCredentials(): Promise<readonly Canary[]> {
  const key = await keys.shown(await keys.create({ user: 'ada' }), 'Active')
  const token = await tokens.issue({}, under(key))
  const setting = randomBytes(24).toString('hex')
  await settings.secret(
    `auth: {oidc: {clientId: a, issuerUrl: "https://a.example", clientSecret: ${setting}}}`,
  )
  const [signingKey] = await platform.secrets()
  const pem = Buffer.from(signingKey?.data?.['private-key.pem'] ?? '', 'base64')
  const { d = '' } = createPrivateKey(pem).export({ format: 'jwk' })
  return [
    { label: 'access key', secret: key.spec.key ?? '' },
    { label: 'token', secret: bearerOf(token).split('.')[2] ?? '' },
    { label: 'setting', secret: setting },
    // A part of one line of the PEM.
    { label: 'signing key', secret: Buffer.from(d, 'base64url').toString('base64') },
  ]
}

const LABELS = ['access key', 'setting', 'signing key', 'token']
const labelsIn = (text: string, canaries: readonly Canary[]): readonly string[] =>
  [...new Set(findCanaries({ text }, canaries).map(({ label }) => label))].toSorted()

/** All values in etcd. */
const inEtcd = async (): Promise<string> =>
  [...(await etcdValues(plane, '/registry/')).values()]
    .map((value) => value.toString('latin1'))
    .join('\n')

/** The audit log since a mark. */
async function logged({ offset }: Mark): Promise<string> {
  const end = await audit.mark()
  return readFileSync(plane.auditLog).subarray(offset, end.offset).toString()
}

/** Runs the command of docs/security.md that rewrites all objects. */
async function rewriteAll(): Promise<void> {
  const page = readFileSync(join(DOCS, 'security.md'), 'utf8')
  const [command = 'false'] = shellBlocksOf(page)
  const { kubectl } = await ensureBinaries(console.log)
  const env = {
    ...process.env,
    PATH: `${dirname(kubectl)}${delimiter}${process.env['PATH']}`,
    KUBECONFIG: plane.adminKubeconfig,
  }
  await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', command], { env })
}

interface RefusedPatch {
  readonly path: string
  readonly quoted: readonly Canary[]
  /** The audit log of the request. */
  readonly text: string
}

/** Sends a patch with an unknown field; the refusal quotes the stored object. */
async function refusedPatch(object: string, secret: string, patch: object): Promise<RefusedPatch> {
  const quoted = [{ label: 'secret', secret }]
  const path = `${object}?fieldValidation=Strict`
  const from = await audit.mark()
  const { code, body } = await plane.raw('PATCH', path, patch)
  expect(code).toBe(422)
  expect(labelsIn(JSON.stringify(body), quoted), 'the answer quotes it').toEqual(['secret'])
  return { path, quoted, text: await logged(from) }
}

const REFUSED: readonly (readonly [string, () => Promise<RefusedPatch>])[] = [
  [
    'a key',
    async () => {
      const { metadata, spec } = await keys.shown(await keys.create({ user: 'ada' }), 'Active')
      return refusedPatch(pathOf(ACCESS_KEYS, metadata), spec.key ?? '', { spec: { tll: 1 } })
    },
  ],
  [
    'a Secret',
    async () => {
      const [signingKey] = await platform.secrets()
      const { data = {}, metadata } = signingKey ?? { metadata: { name: '' } }
      const path = `${SECRETS_PATH}/${metadata.name}`
      return refusedPatch(path, data['private-key.pem']?.slice(80, 160) ?? '', { tata: {} })
    },
  ],
]

describe('without encryption, and with bodies in the audit log', () => {
  let canaries: readonly Canary[]
  let mark: Mark
  beforeAll(async () => {
    mark = await audit.mark()
    canaries = await createCredentials()
    before.push(...canaries)
  })

  test('etcd has every credential in clear', async () => {
    expect(labelsIn(await inEtcd(), canaries)).toEqual(LABELS)
  })

  test('the audit log has every credential in clear', async () => {
    // The effect of a write is visible before its response is logged.
    await eventuallyPasses(
      'the audit log has every credential',
      async () => expect(labelsIn(await logged(mark), canaries)).toEqual(LABELS),
      { withinMs: 20_000 },
    )
  })

  test.each(REFUSED)(
    'the audit log of a refused patch of %s quotes the secret',
    async (_, patch) => {
      const { quoted, text } = await patch()
      const events = text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
      const refusals = events.map(({ responseStatus }) => responseStatus?.message ?? '')
      expect(labelsIn(refusals.join('\n'), quoted)).toEqual(['secret'])
    },
  )
})

describe('with docs/examples/encryption.yaml and docs/examples/audit-policy.yaml', () => {
  let mark: Mark
  let canaries: readonly Canary[]
  beforeAll(async () => {
    const secret = randomBytes(32).toString('base64')
    writeFileSync(ENCRYPTION, example('encryption.yaml').replace(/<32 random .*>/, secret))
    writeFileSync(POLICY, example('audit-policy.yaml'))
    await plane.apiServer.stop()
    await plane.apiServer.start()
    mark = await audit.mark()
    canaries = await createCredentials()
  })

  test('objects stored before stay in clear until they are rewritten', async () => {
    expect(labelsIn(await inEtcd(), before)).toContain('access key')
    await rewriteAll()
    expect(labelsIn(await inEtcd(), before)).toEqual([])
  })

  test('etcd has no credential in clear (3.5)', async () => {
    const each = await Promise.all(PREFIXES.map((prefix) => etcdValues(plane, prefix)))
    expect(each.map(({ size }) => size > 0)).toEqual(PREFIXES.map(() => true))
    const values = each.flatMap((stored) => [...stored.values()])
    const isEncrypted = (value: Buffer): boolean =>
      value.toString('latin1').startsWith('k8s:enc:secretbox:v1:')
    expect(values.filter((value) => !isEncrypted(value))).toEqual([])
    expect(labelsIn(await inEtcd(), canaries)).toEqual([])
  })

  test('the audit log has users and resources, and no credential (3.5)', async () => {
    const text = await logged(mark)
    expect(text).toContain('"resource":"ownedaccesskeys"')
    expect(text).toContain('"resource":"directclusterendpointtokens"')
    expect(labelsIn(text, canaries)).toEqual([])
  })

  test.each(REFUSED)(
    'the audit log of a refused patch of %s has its receipt and no credential (3.5)',
    async (_, patch) => {
      const { path, quoted, text } = await patch()
      const patches = text.split('\n').filter((line) => line.includes(`"requestURI":"${path}"`))
      expect(patches.map((line) => JSON.parse(line).stage)).toEqual(['RequestReceived'])
      expect(patches.join()).toContain('"username":"kubernetes-admin"')
      expect(labelsIn(text, quoted)).toEqual([])
    },
  )
})
