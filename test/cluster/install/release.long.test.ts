// `make release` in a checkout of its own: what it refuses, and what it writes, twice.
import { execFile } from 'node:child_process'
import {
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ensureHelm } from '../../../tools/helm/program.ts'
import { programOrSkip } from '../../support/program-or-skip.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PARTS = [
  'charts',
  'config',
  'crds',
  'src',
  'tools',
  'package.json',
  'package-lock.json',
  'CHANGELOG.md',
]
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`
const IMAGE = `registry.example.com/platform/management-operator@${DIGEST}`
const REPOSITORY = 'https://git.example.com/management-operator'
const FILES = [
  'SHA256SUMS',
  'install-agent.yaml',
  'install.yaml',
  'management-operator-0.1.0.tgz',
  'management-operator-agent-0.1.0.tgz',
  'provenance.intoto.json',
  'sbom.cdx.json',
]

const helm = await programOrSkip(ensureHelm)
const root = mkdtempSync(join(tmpdir(), 'release-test-'))
afterAll(() => rmSync(root, { recursive: true }))
for (const part of PARTS) cpSync(join(ROOT, part), join(root, part), { recursive: true })
symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
writeFileSync(join(root, '.gitignore'), 'node_modules\ndist/\n')

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const run = (program: string, args: readonly string[], env: object = {}): Promise<Ended> =>
  new Promise((resolve) => {
    const options = { cwd: root, env: { ...process.env, ...env }, maxBuffer: 2 ** 26 }
    execFile(program, args, options, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    )
  })

/** A package in the SBOM, with the packages that are below its folder. */
interface Component {
  readonly group?: string
  readonly name: string
  readonly version: string
  readonly components?: readonly Component[]
}

const namesIn = (components: readonly Component[]): readonly string[] =>
  components.flatMap(({ group, name, version, components: below = [] }) => [
    `${group ? `${group}/` : ''}${name}@${version}`,
    ...namesIn(below),
  ])

const NAMED = ['-c', 'user.name=test', '-c', 'user.email=test@example.com']
async function commit(): Promise<void> {
  await run('git', ['add', '--all'])
  expect(await run('git', [...NAMED, 'commit', '--quiet', '-m', 'change'])).toMatchObject({
    code: 0,
  })
}

const release = (env: object = {}): Promise<Ended> =>
  run(process.execPath, ['tools/release.ts'], { IMAGE, REPOSITORY, ...env })

const written = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(join(root, 'dist'))
      .toSorted()
      .map((name) => [name, readFileSync(join(root, 'dist', name), 'base64')]),
  )

const textOf = (name: string): string => readFileSync(join(root, 'dist', name), 'utf8')

beforeAll(async () => {
  await run('git', ['init', '--quiet'])
  await commit()
})

describe('a release', () => {
  test('is refused for an image without a digest, with what to write (34.4)', async () => {
    const { code, stderr } = await release({ IMAGE: 'registry.example.com/mo:1.2.3' })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^IMAGE is "registry\.example\.com\/mo:1\.2\.3": write it by digest/)
  })

  test('is refused without a repository where the commit can be read (34.4)', async () => {
    const { code, stderr } = await release({ REPOSITORY: '' })
    expect(code).toBe(1)
    expect(stderr).toBe('REPOSITORY is not a https:// URL: write where the commit can be read\n')
  })

  test('is refused when the changelog is not cut (34.4)', async () => {
    const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
    const uncut = changelog.replaceAll(/^## \d.*\n/gm, '')
    writeFileSync(join(root, 'CHANGELOG.md'), uncut)
    expect(await release()).toMatchObject({
      code: 1,
      stderr: 'versions differ:\nCHANGELOG.md: the newest version is none, cut 0.1.0\n',
    })
    const cut = uncut.replace('## Unreleased', '## Unreleased\n\n## 0.1.0 - 2026-11-28')
    writeFileSync(join(root, 'CHANGELOG.md'), cut)
  })

  test('is refused from a checkout with changes, which it names (34.4)', async () => {
    const { code, stderr } = await release()
    expect(code).toBe(1)
    expect(stderr).toContain('these files differ from the commit: commit or remove them\n')
    expect(stderr).toContain('CHANGELOG.md')
    await commit()
  })
})

describe('writes', () => {
  let first: Readonly<Record<string, string>>

  test('charts, manifests, SBOM, sums and provenance (34.4)', async () => {
    const { code, stderr } = await release()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    first = written()
    expect(Object.keys(first)).toEqual(FILES)
  })

  test('sums of every file, by which a changed byte is found (34.4)', async () => {
    const check = () => run('bash', ['-c', 'cd dist && sha256sum --check --strict SHA256SUMS'])
    const names = textOf('SHA256SUMS')
      .trimEnd()
      .split('\n')
      .map((line) => line.split('  ')[1])
    expect(names).toEqual(FILES.filter((name) => name !== 'SHA256SUMS'))
    expect(await check()).toMatchObject({ code: 0 })
    writeFileSync(join(root, 'dist/install.yaml'), `${textOf('install.yaml')}#`)
    expect((await check()).stdout).toContain('install.yaml: FAILED')
  })

  test('the same bytes again, whatever the times of files (34.4)', async () => {
    await run('bash', ['-c', 'touch charts/*/* charts/*/*/*'])
    expect(await release()).toMatchObject({ code: 0 })
    expect(written()).toEqual(first)
  })

  test('the image by its digest, in both manifests (34.3)', () => {
    for (const name of ['install.yaml', 'install-agent.yaml']) {
      const images = textOf(name).match(/image: .+/g)
      expect(new Set(images)).toEqual(new Set([`image: ${IMAGE}`]))
    }
  })

  test('charts that Helm reads (34.1)', async () => {
    const { code, stdout } = await run(helm, ['show', 'chart', join(root, 'dist', FILES[3] ?? '')])
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('name: management-operator\n'),
    })
  })

  test('an SBOM of the packages that the image installs, and no others (34.4)', () => {
    const { specVersion, components } = JSON.parse(textOf('sbom.cdx.json')) as {
      readonly specVersion: string
      readonly components: readonly Component[]
    }
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<
        Record<string, { version?: string; dev?: boolean; devOptional?: boolean }>
      >
    }
    const installed = Object.entries(packages)
      .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
      .map(
        ([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`,
      )
    const listed = namesIn(components)
    expect(specVersion).toBe('1.6')
    expect(new Set(listed)).toEqual(new Set(installed))
  })

  test('provenance of every file, from this commit (34.4)', async () => {
    const { subject, predicate } = JSON.parse(textOf('provenance.intoto.json')) as {
      readonly subject: readonly { readonly name: string }[]
      readonly predicate: { readonly buildDefinition: { readonly resolvedDependencies: unknown } }
    }
    const { stdout } = await run('git', ['rev-parse', 'HEAD'])
    expect(subject.map(({ name }) => name)).toEqual(
      FILES.filter((name) => !['SHA256SUMS', 'provenance.intoto.json'].includes(name)),
    )
    expect(predicate.buildDefinition.resolvedDependencies).toEqual([
      { uri: `git+${REPOSITORY}@${stdout.trim()}`, digest: { gitCommit: stdout.trim() } },
    ])
  })
})
