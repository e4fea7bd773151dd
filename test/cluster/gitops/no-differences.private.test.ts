// Argo CD and Flux need no ignoreDifferences: repeated applies of the samples, as by each tool, change nothing and
// have no conflict and no difference while the operator runs (contract 3.1, 5.2).
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { ACCESS_KEYS, CONFIGS, GROUP } from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import { ISSUER, type OwnOperator, startOperator } from '../../support/command-process.ts'
import { settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import type { StoredObject } from '../../support/object-client.ts'
import { sampled } from '../../support/tier.ts'
import { type StoredKey, fieldsOfOperator, keyClientOf } from '../keys/key-client.ts'

const SAMPLES = join(import.meta.dirname, '../../../config/samples')
const HOUR = 3600
const ROUNDS = sampled([1, 2, 3], 3)

interface Manifest {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec: { readonly ttl?: number; readonly key?: string }
}

// Claims have another program, and their own such test: claims/writes.private.test.ts.
const samples = readdirSync(SAMPLES)
  .filter((name) => name.endsWith('.yaml') && name !== 'claims.yaml')
  .flatMap((file) => parseAllDocuments(readFileSync(join(SAMPLES, file), 'utf8')))
  .map((document) => document.toJSON() as Manifest & { readonly apiVersion: string })
  .filter(({ apiVersion }) => apiVersion.startsWith(`${GROUP}/`))

const plane = await privateControlPlane()
const keys = keyClientOf(plane)
let operator: OwnOperator

beforeAll(async () => {
  const flags = [`--issuer-url=${ISSUER}`]
  operator = await startOperator({ kubeconfig: await plane.operatorKubeconfig(), flags })
  // Config first, as in a sync wave: its cap changes the status of the others.
  await plane.kubectl(['apply', '--server-side', '-f', join(SAMPLES, 'config.yaml')])
  await settingsOf(plane).settled(
    'the cap is in force',
    ({ auth }) => auth?.accessKeyMaxTTLSeconds === 7_776_000,
  )
})
afterAll(() => operator?.stop())

/** Labels and annotations that a tool adds. */
const MARKS = {
  kubectl: {},
  argocd: { annotations: { 'argocd.argoproj.io/tracking-id': 'platform:keys' } },
  flux: { labels: { 'kustomize.toolkit.fluxcd.io/name': 'platform' } },
} as const

const SERVER_SIDE = ['--server-side', '--field-manager']
const ARGOCD = [...SERVER_SIDE, 'argocd-controller']
const FLUX = [...SERVER_SIDE, 'kustomize-controller']

const TOOLS = [
  { tool: 'kubectl apply', flags: [], marks: MARKS.kubectl },
  { tool: 'Argo CD, client-side', flags: [], marks: MARKS.argocd },
  { tool: 'Argo CD, server-side', flags: ARGOCD, marks: MARKS.argocd },
  {
    tool: 'Argo CD, server-side with force',
    flags: [...ARGOCD, '--force-conflicts'],
    marks: MARKS.argocd,
  },
  { tool: 'Flux, server-side', flags: FLUX, marks: MARKS.flux },
  {
    tool: 'Flux, server-side with force',
    flags: [...FLUX, '--force-conflicts'],
    marks: MARKS.flux,
  },
]

// In `make test` one client-side and one server-side apply.
describe.each(sampled(TOOLS, 4, 1))('$tool', ({ tool, flags, marks }) => {
  const manifests = samples.map((sample) => ofTool(sample, tool, marks))
  const input = manifests.map((manifest) => JSON.stringify(manifest)).join('\n---\n')
  const kubectl = (command: string) => plane.kubectl([command, ...flags, '-f', '-'], { input })
  let settled: Readonly<Record<string, string>>

  beforeAll(async () => {
    // It prints warnings: a ttl above the cap, and a Config that the operator has created.
    const { code, stderr } = await kubectl('apply')
    if (code !== 0) throw new Error(stderr)
    settled = await eventually('the operator has reconciled them', versionsOnceSeen, {
      withinMs: 30_000,
    })
  })

  /** The resourceVersion of each; throws while the operator still has to write a status. */
  async function versionsOnceSeen(): Promise<Readonly<Record<string, string>>> {
    const { stdout } = await plane.kubectl(['get', '-o', 'json', '-f', '-'], { input })
    const { items } = JSON.parse(stdout) as {
      readonly items: readonly (KubeObject & StoredObject)[]
    }
    for (const { metadata, status } of items) {
      if (status?.observedGeneration !== metadata.generation) throw new Error(metadata.name)
    }
    return Object.fromEntries(
      items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]),
    )
  }

  test.each(ROUNDS)('applies them again without a change: round %i (3.1)', async () => {
    applied(await kubectl('apply'), manifests.length)
    expect(await versionsOnceSeen()).toEqual(settled)
  })

  test('shows no difference (3.1)', async () => {
    expect(await kubectl('diff')).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  test('keeps the generated key, the finalizer and the annotation as the operator wrote them (2.8, 3.1)', async () => {
    for (const { metadata } of manifests.filter(isKeyWithout)) {
      const key = (await keys.read(metadata.name)) as StoredKey
      expect(key.spec.key).toMatch(/^pak_/)
      expect(fieldsOfOperator(key)).toMatchObject({
        'f:metadata': {
          'f:annotations': { 'f:management.platform.sh/created': {} },
          'f:finalizers': { 'v:"management.platform.sh/revoke"': {} },
        },
        'f:spec': { 'f:key': {} },
      })
    }
  })

  test('applies a change in Git once, without changes afterwards (3.1)', async () => {
    const renamed = manifests.map((manifest) =>
      manifest.kind === ACCESS_KEYS.kind
        ? { ...manifest, spec: { ...manifest.spec, displayName: 'Renamed' } }
        : manifest,
    )
    const text = renamed.map((manifest) => JSON.stringify(manifest)).join('\n---\n')
    const again = () => plane.kubectl(['apply', ...flags, '-f', '-'], { input: text })
    expect((await again()).code).toBe(0)
    const seen = await eventually('the operator has reconciled it', versionsOnceSeen, {
      withinMs: 30_000,
    })
    expect(seen).not.toEqual(settled)
    applied(await again(), manifests.length)
    expect(await versionsOnceSeen()).toEqual(seen)
  })

  test('does not enable a key that a user has disabled by hand', async () => {
    const { metadata } = manifests.find(isKeyWithout) as Manifest
    await keys.patch(metadata.name, { spec: { disabled: true } })
    applied(await kubectl('apply'), manifests.length)
    expect((await keys.shown(metadata.name, 'Disabled')).spec.disabled).toBe(true)
  })
})

/** Expects an apply of all objects without warnings and conflicts. */
function applied(
  {
    code,
    stdout,
    stderr,
  }: { readonly code: number; readonly stdout: string; readonly stderr: string },
  count: number,
): void {
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.trimEnd().split('\n')).toHaveLength(count)
}

const isKeyWithout = ({ kind, spec }: Manifest): boolean =>
  kind === ACCESS_KEYS.kind && spec.key === undefined

/**
 * A sample as a tool applies it, under a unique name and with a unique digest. A ttl of a minute becomes an hour, as an
 * expiry would change the object.
 */
function ofTool(sample: Manifest, tool: string, marks: Partial<Manifest['metadata']>): Manifest {
  const { metadata, spec } = sample
  const suffix = tool.toLowerCase().replaceAll(/[^a-z]+/g, '-')
  const name = sample.kind === CONFIGS.kind ? metadata.name : `${metadata.name}-${suffix}`
  const digest = createHash('sha256').update(name).digest('hex')
  return {
    ...sample,
    metadata: { ...metadata, ...marks, name },
    spec: {
      ...spec,
      ...(spec.ttl === undefined ? {} : { ttl: Math.max(spec.ttl, HOUR) }),
      ...(spec.key === undefined ? {} : { key: `sha256:${digest}` }),
    },
  }
}
