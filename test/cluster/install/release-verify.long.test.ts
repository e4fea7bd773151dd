// A release that is signed with a key and pushed to a registry, checked by the commands of docs/verify-release.md.
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ensureCosign, ensureRegistry } from '../../../tools/cosign/program.ts'
import { ensureHelm } from '../../../tools/helm/program.ts'
import { digestsOf, sumsText } from '../../../tools/release/sums.ts'
import { prepareWith, programOrSkip } from '../../support/program-or-skip.ts'
import { type Ended, runCommand } from '../../support/run-command.ts'
import { createReleaseCheckout, FILES, REPOSITORY } from './release-checkout.ts'
import { type Registry, startRegistry } from './release-registry.ts'

const MINUTE_MS = 60_000
const ROOT = join(import.meta.dirname, '../../..')
const OFFLINE = join(ROOT, 'tools/release/offline')
const PAGE = readFileSync(join(ROOT, 'docs/verify-release.md'), 'utf8')
const IMAGE_NAME = 'platform/management-operator'
const CHARTS = 'oci://registry.example.com/charts'

const helm = await programOrSkip(ensureHelm)
const cosign = await programOrSkip(ensureCosign)
const storage = await programOrSkip(ensureRegistry)
const checkout = await createReleaseCheckout()
const work = mkdtempSync(join(tmpdir(), 'verify-release-'))
/** The files that a user has got. */
const folder = join(work, 'release')
let registry: Registry

/** The commands of a section of the page, one text for each block. */
function blocksOf(section: number): readonly string[] {
  const text = PAGE.split(/^## /m).find((part) => part.startsWith(`${section}. `)) ?? ''
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block)
}

/** Runs commands in the folder of the release, where the clients find the registry and the repository, until one fails. */
function bash(commands: string): Promise<Ended> {
  const env = {
    ...registry.env,
    PATH: `${join(work, 'bin')}:${process.env['PATH']}`,
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `url.${checkout.root}.insteadOf`,
    GIT_CONFIG_VALUE_0: REPOSITORY,
  }
  return runCommand('bash', ['--norc', '-euo', 'pipefail', '-c', commands], { cwd: folder, env })
}

const section = (number: number): Promise<Ended> => bash(blocksOf(number).join('\n'))

async function succeeded(running: Promise<Ended>): Promise<void> {
  const { code, stderr } = await running
  if (code !== 0) throw new Error(stderr)
}

/** Makes, signs and pushes a release as docs/releasing.md says, and gives a user its files. */
async function publish(): Promise<void> {
  registry = await startRegistry(storage)
  const IMAGE = `registry.example.com/${IMAGE_NAME}@${await registry.pushImage(IMAGE_NAME)}`
  const env = { ...registry.env, COSIGN: cosign, HELM: helm, COSIGN_PASSWORD: 'of-the-test' }
  const KEY = join(work, 'cosign.key')
  const prefix = `--output-key-prefix=${join(work, 'cosign')}`
  await succeeded(checkout.run(cosign, ['generate-key-pair', prefix], env))
  await checkout.release(IMAGE)
  await succeeded(checkout.make('release-sign', { IMAGE, KEY }, env))
  await succeeded(checkout.make('release-push', { CHARTS }, env))
  mkdirSync(join(work, 'bin'))
  symlinkSync(cosign, join(work, 'bin/cosign'))
  symlinkSync(helm, join(work, 'bin/helm'))
  cpSync(join(checkout.root, 'dist'), folder, { recursive: true })
  cpSync(join(work, 'cosign.pub'), join(folder, 'cosign.pub'))
}

prepareWith([helm, cosign, storage], publish, 5 * MINUTE_MS)
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]()
  rmSync(work, { recursive: true })
  checkout.remove()
})

describe('the commands of the page', { timeout: 5 * MINUTE_MS }, () => {
  test('verify the signature of the sums by the key (34.4)', async () => {
    const { code, stderr } = await section(1)
    expect(code).toBe(0)
    expect(stderr).toContain('Verified OK')
  })

  test('find the sum of every file (34.4)', async () => {
    const { code, stdout } = await section(2)
    const summed = FILES.filter((name) => name !== 'SHA256SUMS')
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: summed.map((name) => `${name}: OK\n`).join(''),
    })
  })

  test('verify the image that the manifests name, by the same key (34.4)', async () => {
    const { code, stdout } = await section(3)
    expect(code).toBe(0)
    expect(stdout).toContain('"docker-manifest-digest":"sha256:')
  })

  test('pull a chart with the bytes of the release (34.4)', async () => {
    expect(await section(4)).toMatchObject({ code: 0 })
  })

  test('name the files, the commit and the packages of the release (34.4)', async () => {
    const { code, stdout } = await section(5)
    const { stdout: commit } = await checkout.run('git', ['rev-parse', 'HEAD'])
    const lines = stdout.trimEnd().split('\n')
    expect(code).toBe(0)
    expect(lines.filter((line) => line.endsWith(': OK'))).toHaveLength(FILES.length - 2)
    expect(lines).toContain(`git+${REPOSITORY}@${commit.trim()}`)
    expect(lines.filter((line) => line.startsWith('pkg:npm/')).length).toBeGreaterThan(50)
  })

  test('build the same bytes from the commit (34.4)', async () => {
    const [clone = '', build = ''] = blocksOf(6)
    await succeeded(bash(clone))
    const sources = join(work, 'sources')
    // The packages are here: `make` need not install them again.
    symlinkSync(join(ROOT, 'node_modules'), join(sources, 'node_modules'))
    for (const name of ['package.json', 'package-lock.json']) utimesSync(join(sources, name), 0, 0)
    const { code, stderr } = await bash(build)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  test('ask no host but the registry (34.4)', () => {
    expect(registry.asked()).toEqual(['registry.example.com'])
  })
})

describe('the page finds', { timeout: MINUTE_MS }, () => {
  /** Runs sections of the page while a file has other content. */
  async function changed(
    name: string,
    content: (before: Buffer) => Buffer | string,
    ...sections: readonly number[]
  ): Promise<readonly number[]> {
    const path = join(folder, name)
    const before = readFileSync(path)
    writeFileSync(path, content(before))
    const ended = []
    for (const number of sections) ended.push((await section(number)).code)
    writeFileSync(path, before)
    return ended
  }

  const flipped = (before: Buffer): Buffer => {
    const at = before.length >> 1
    return Buffer.from(before).fill((before[at] ?? 0) ^ 1, at, at + 1)
  }

  test.each(FILES.filter((name) => name !== 'SHA256SUMS').map((name) => ({ name })))(
    'a changed byte in $name (34.4)',
    async ({ name }) => {
      expect(await changed(name, flipped, 1, 2)).toEqual([0, 1])
    },
  )

  test('a changed byte in SHA256SUMS, in the signature (34.4)', async () => {
    expect(await changed('SHA256SUMS', flipped, 1)).not.toEqual([0])
  })

  test('a changed file with its new sum, in the signature (34.4)', async () => {
    const manifest = join(folder, 'install.yaml')
    const before = readFileSync(manifest)
    writeFileSync(manifest, flipped(before))
    const summed = new Map(
      FILES.filter((name) => name !== 'SHA256SUMS').map((name) => [
        name,
        readFileSync(join(folder, name)),
      ]),
    )
    const [signature, sums] = await changed('SHA256SUMS', () => sumsText(digestsOf(summed)), 1, 2)
    writeFileSync(manifest, before)
    expect(signature).not.toBe(0)
    expect(sums).toBe(0)
  })

  test('a file without a sum (34.4)', async () => {
    const planted = join(folder, 'planted.yaml')
    writeFileSync(planted, '')
    const { code, stdout } = await section(2)
    rmSync(planted)
    expect(code).toBe(1)
    expect(stdout).toContain('< planted.yaml\n')
  })

  test('the key of somebody else, at the sums and at the image (34.4)', async () => {
    const prefix = `--output-key-prefix=${join(work, 'another')}`
    await succeeded(
      checkout.run(cosign, ['generate-key-pair', prefix], { COSIGN_PASSWORD: 'of-the-test' }),
    )
    const another = (): Buffer => readFileSync(join(work, 'another.pub'))
    const codes = await changed('cosign.pub', another, 1, 3)
    expect(codes).toHaveLength(2)
    expect(codes).not.toContain(0)
  })

  test('manifests with one more image (34.4)', async () => {
    const another = (before: Buffer): string =>
      before.toString().replace(/ image: .*/, ' image: registry.example.com/another:1.2.3')
    expect(await changed('install-agent.yaml', another, 3)).toEqual([1])
  })

  test('a chart in the registry with other bytes (34.4)', async () => {
    const copy = join(work, 'copy')
    await succeeded(
      bash(`cp -r ${checkout.root}/charts/management-operator ${copy}
        echo '# another' >> ${copy}/values.yaml
        helm package ${copy} --destination ${work}/another-chart
        helm push ${work}/another-chart/*.tgz ${CHARTS}`),
    )
    rmSync(join(work, 'management-operator-0.1.0.tgz'))
    expect(await section(4)).toMatchObject({ code: 1 })
  })
})

test('the page names each file of a release, and no other (34.4)', () => {
  const [, table = ''] = /^\|---\|---\|\n(.*?)\n\n/ms.exec(PAGE) ?? []
  const named = [...table.matchAll(/`([^`]+\.(?:tgz|yaml|json)|SHA256SUMS)`(?=.*\|$)/gm)]
  const files = new Set(named.map(([, name]) => name))
  expect(files).toEqual(new Set([...FILES, 'SHA256SUMS.sigstore.json']))
})

test.each([{ name: 'signing-config' }, { name: 'trusted-root' }])(
  'the $name that signs offline is as cosign writes it: without any service',
  async ({ name }) => {
    const out = join(work, `${name}.json`)
    await succeeded(checkout.run(cosign, [name, 'create', `--out=${out}`]))
    const parsed = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'))
    expect(parsed(join(OFFLINE, `${name}.json`))).toEqual(parsed(out))
  },
)
